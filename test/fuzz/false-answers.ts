/** What a server answers that need not be the one that was meant: an input tells it, request by request. */

/** An answer, or what comes in its place. */
export interface Answer {
  /** The request that it is for, by the name that its target has for it. */
  to: string
  /** HTTP's, or a word of the target's for what is no answer. */
  status: string
  /** So many requests of this name have it. */
  times: number
  /** So much of the body is written at once. */
  piece_bytes: number
  /** So much of the body is written before the server hangs up; Infinity where it does not. */
  until_bytes: number
  fields: readonly string[]
  body: Buffer
}

/** More of the same shows nothing, and takes as long again. */
const TIMES_MAX = 15
const PIECES_MAX = 24

const OF_EVENTS = /^content-type: *text\/event-stream/im

/**
 * The first line says what is asked of the server. Then come answers, each a line
 * `@ REQUEST STATUS [TIMES [PIECE_BYTES [UNTIL_BYTES]]]`, the fields of its head, an empty line and its body. In a stream of
 * events a line of JSON is the data of one, so that it is changed as JSON is.
 */
export function scriptIn(input: Buffer): { asks: string[]; answers: Answers } {
  const [asks = '', ...parts] = input.toString('latin1').split('\n@ ')
  return { asks: asks.split(' '), answers: new Answers(parts.map(answerIn)) }
}

function answerIn(part: string): Answer {
  const end = part.indexOf('\n\n')
  const head = end === -1 ? part : part.slice(0, end)
  const text = end === -1 ? '' : part.slice(end + 2)
  const [about = '', ...fields] = head.split('\n')
  const [to = '', status = '', ...numbers] = about.split(' ')
  const [times = 1, piece_bytes = Infinity, until_bytes = Infinity] = numbers.map(numberIn)
  const body = Buffer.from(OF_EVENTS.test(head) ? asEvents(text) : text, 'latin1')
  return { to, status, times: Math.min(times, TIMES_MAX), piece_bytes, until_bytes, fields, body }
}

/** An answer that nothing is wrong with. */
export function answerOf(text: string, fields: readonly string[] = []): Answer {
  return {
    ...{ to: '', status: '200', times: 1, piece_bytes: Infinity, until_bytes: Infinity },
    ...{ fields, body: Buffer.from(text) },
  }
}

function numberIn(word: string): number | undefined {
  return /^\d+$/.test(word) ? Number(word) : undefined
}

function asEvents(text: string): string {
  return text
    .split('\n')
    .map((line) => (line.startsWith('{') ? `data: ${line}\n\n` : line))
    .join('\n')
}

/** What is written of the body, each piece in a turn of the loop of its own. */
export function piecesOf({ body, piece_bytes, until_bytes }: Answer): Buffer[] {
  const written = body.subarray(0, until_bytes)
  const size = Math.max(1, piece_bytes, Math.ceil(written.length / PIECES_MAX))
  const pieces: Buffer[] = []
  for (let at = 0; at < written.length; at += size) pieces.push(written.subarray(at, at + size))
  return pieces
}

/** The answers of one input, until they are used up. */
export class Answers {
  private left: { answer: Answer; times: number }[]

  constructor(answers: readonly Answer[]) {
    this.left = answers.map((answer) => ({ answer, times: answer.times }))
  }

  /** What the next request of this name has; null where no more is said of it. */
  next(to: string): Answer | null {
    const found = this.left.find(({ answer, times }) => answer.to === to && times > 0)
    if (found === undefined) return null
    found.times -= 1
    return found.answer
  }

  /** Comes before all others, once. */
  put(answer: Answer): void {
    this.left.unshift({ answer, times: 1 })
  }

  clear(): void {
    this.left = []
  }
}
