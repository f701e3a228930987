/** Scripted server responses that need not match the request; the input defines them request by request. */

/** A response, or a failure in place of one. */
export interface Answer {
  /** The target's name for the request that it answers. */
  to: string
  /** An HTTP status, or the target's word for a failure. */
  status: string
  /** Number of requests of this name that receive it. */
  times: number
  /** Number of body bytes in each write. */
  piece_bytes: number
  /** Number of body bytes before the server closes the connection; Infinity if it does not. */
  until_bytes: number
  fields: readonly string[]
  body: Buffer
}

/** Further repetitions add no information and take as long again. */
const TIMES_MAX = 15
const PIECES_MAX = 24

const OF_EVENTS = /^content-type: *text\/event-stream/im

/**
 * The first line contains the requests. Responses follow, each with a line `@ REQUEST STATUS [TIMES [PIECE_BYTES
 * [UNTIL_BYTES]]]`, its header fields, an empty line and its body. In an event stream a line of JSON is the data of one
 * event, so that it is mutated as JSON.
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

/** Returns a well-formed response. */
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

/** Returns the written parts of the body; each is written in its own tick of the event loop. */
export function piecesOf({ body, piece_bytes, until_bytes }: Answer): Buffer[] {
  const written = body.subarray(0, until_bytes)
  const size = Math.max(1, piece_bytes, Math.ceil(written.length / PIECES_MAX))
  const pieces: Buffer[] = []
  for (let at = 0; at < written.length; at += size) pieces.push(written.subarray(at, at + size))
  return pieces
}

/** The responses of one input, until they are used up. */
export class Answers {
  private left: { answer: Answer; times: number }[]

  constructor(answers: readonly Answer[]) {
    this.left = answers.map((answer) => ({ answer, times: answer.times }))
  }

  /** Returns the next response to a request of this name; null when none is left. */
  next(to: string): Answer | null {
    const found = this.left.find(({ answer, times }) => answer.to === to && times > 0)
    if (found === undefined) return null
    found.times -= 1
    return found.answer
  }

  /** Adds a response before all others, once. */
  put(answer: Answer): void {
    this.left.unshift({ answer, times: 1 })
  }

  clear(): void {
    this.left = []
  }
}
