/**
 * Reads the header of a signal's line. Lines as this version writes them are read byte by byte without
 * making objects of them, which is what makes a restart with a million signals bearable. A line whose
 * members stand in another order, or carry more, is read as JSON; it means the same.
 */
import { emptyHead, PAYLOAD_MEMBER, SEQ_MAX, type SignalHead } from './entries.ts'
import { wordsAt, wordsOf } from './ulid-words.ts'

/** Text that is compared four bytes at a time; the last four may overlap those before. */
interface Literal {
  length: number
  words: Uint32Array
}

function literal(text: string): Literal {
  const bytes = Buffer.from(text)
  const words: number[] = []
  for (let at = 0; at + 4 < bytes.length; at += 4) words.push(bytes.readUInt32LE(at))
  words.push(bytes.readUInt32LE(bytes.length - 4))
  return { length: bytes.length, words: Uint32Array.from(words) }
}

const OPENING = Buffer.from('{"kind":"signal"')
const SEQ = literal(',"seq":')
const SIGNAL_ID = literal(',"signal_id":"')
const CREATED_AT = literal('","created_at":"')
const EXPIRES_AT = literal('","expires_at":"')
const PRIORITY = literal('","priority":')
const TO = literal(',"to":"')
const FROM = literal('","from":"')
const INTENT = literal('","intent":"')
const ORIGIN = literal('","origin":"')
const END_OF_HEADER = literal(`"${PAYLOAD_MEMBER}`)
const PAYLOAD = Buffer.from(PAYLOAD_MEMBER)
/** A word is followed by it. */
const NEXT_MEMBER = '","'
const QUOTE = 34
const BACKSLASH = 92
const DIGIT_0 = 48
const DIGIT_9 = 57
const ULID_BYTES = 26
const TIME_BYTES = 24
/** Direct-mapped: the same few names come again and again. */
const WORDS_REMEMBERED = 8192

/** Whether the line that starts here is a signal's. */
export function isSignalLine(buffer: Buffer, start: number): boolean {
  // From the end: how they begin is what all lines have in common.
  for (let at = OPENING.length - 1; at >= 0; at -= 1) {
    if (buffer[start + at] !== OPENING[at]) return false
  }
  return true
}

/**
 * One reader per scan: it remembers the names it has seen. The head it answers with is filled anew by the
 * next call; who keeps one copies it.
 */
export function createHeaderReader(): (buffer: Buffer, start: number, end: number) => SignalHead {
  const head = emptyHead()
  const words = new Words()
  const tos = new WordReader(words)
  const froms = new WordReader(words)
  const intents = new WordReader(words)
  const origins = new WordReader(words)
  const created = new TimeReader()
  const expires = new TimeReader()
  let viewed: Buffer | null = null
  let view: DataView = new DataView(new ArrayBuffer(0))

  /** False for a line that is not exactly as `signalText` writes one without optional members. */
  const fillQuickly = (buffer: Buffer, start: number): boolean => {
    let at = start + OPENING.length
    if (!stands(view, at, SEQ)) return false
    at += SEQ.length
    let seq = 0
    let byte = buffer[at] as number
    while (byte >= DIGIT_0 && byte <= DIGIT_9) {
      seq = seq * 10 + byte - DIGIT_0
      byte = buffer[++at] as number
    }
    if (seq === 0 || seq >= SEQ_MAX || !stands(view, at, SIGNAL_ID)) return false
    at += SIGNAL_ID.length
    if (!wordsAt(buffer, at, head.id)) return false
    at += ULID_BYTES
    if (!stands(view, at, CREATED_AT)) return false
    at += CREATED_AT.length
    const created_ms = created.read(buffer, view, at)
    at += TIME_BYTES
    if (!stands(view, at, EXPIRES_AT)) return false
    at += EXPIRES_AT.length
    const expires_ms = expires.read(buffer, view, at)
    at += TIME_BYTES
    if (Number.isNaN(created_ms) || Number.isNaN(expires_ms) || !stands(view, at, PRIORITY)) return false
    at += PRIORITY.length
    const priority = (buffer[at] as number) - DIGIT_0
    if (priority < 0 || priority > 9 || !stands(view, at + 1, TO)) return false
    const to = tos.read(buffer, view, at + 1 + TO.length)
    if (tos.end === -1 || !stands(view, tos.end, FROM)) return false
    const from = froms.read(buffer, view, tos.end + FROM.length)
    if (froms.end === -1 || !stands(view, froms.end, INTENT)) return false
    const intent = intents.read(buffer, view, froms.end + INTENT.length)
    if (intents.end === -1 || !stands(view, intents.end, ORIGIN)) return false
    origins.read(buffer, view, intents.end + ORIGIN.length)
    if (origins.end === -1 || !stands(view, origins.end, END_OF_HEADER)) return false
    head.seq = seq
    head.created_ms = created_ms
    head.expires_ms = expires_ms
    head.priority = priority
    head.to = to
    head.from = from
    head.intent = intent
    head.to_session = undefined
    head.in_reply_to = undefined
    head.idempotency_key = undefined
    head.left = 0
    return true
  }

  return (buffer, start, end) => {
    if (buffer !== viewed) {
      viewed = buffer
      view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length)
    }
    if (!fillQuickly(buffer, start)) fillFromJson(head, buffer, start, end)
    return head
  }
}

function stands(view: DataView, start: number, { length, words }: Literal): boolean {
  if (start + length > view.byteLength) return false
  const last = words.length - 1
  for (let word = 0; word < last; word += 1) {
    if (view.getUint32(start + 4 * word, true) !== words[word]) return false
  }
  return view.getUint32(start + length - 4, true) === words[last]
}

/** A name, with what ends it and begins the next member: so even the shortest has four bytes. */
interface Word extends Literal {
  text: string
}

/** Names that were read before, of all members. Those that share a place push each other out. */
class Words {
  private readonly words = new Array<Word | undefined>(WORDS_REMEMBERED)

  /** Null for what would have to be unescaped or decoded, and for none. */
  find(buffer: Buffer, view: DataView, start: number): Word | null {
    let hash = 0
    let at = start
    for (; ; at += 1) {
      const byte = buffer[at] as number
      if (byte === QUOTE) break
      if (!(byte >= 32 && byte < 127) || byte === BACKSLASH) return null
      hash = (Math.imul(hash, 31) + byte) | 0
    }
    if (at === start) return null
    const length = at - start + NEXT_MEMBER.length
    const place = hash & (WORDS_REMEMBERED - 1)
    const known = this.words[place]
    if (known !== undefined && known.length === length && stands(view, start, known)) return known
    if (buffer.toString('latin1', at, start + length) !== NEXT_MEMBER) return null
    const text = buffer.toString('latin1', start, at)
    return (this.words[place] = { text, ...literal(text + NEXT_MEMBER) })
  }
}

/** Reads the names of one member; mostly it says what it said in the line before. */
class WordReader {
  /** Where the quote behind it stood; -1 where there is no plain name. */
  end = -1
  private last: Word = { text: '', ...literal(NEXT_MEMBER + NEXT_MEMBER) }
  private readonly words: Words

  constructor(words: Words) {
    this.words = words
  }

  read(buffer: Buffer, view: DataView, start: number): string {
    if (!stands(view, start, this.last)) {
      const word = this.words.find(buffer, view, start)
      if (word === null) {
        this.end = -1
        return ''
      }
      this.last = word
    }
    this.end = start + this.last.length - NEXT_MEMBER.length
    return this.last.text
  }
}

interface JsonHead extends Omit<SignalHead, 'id' | 'created_ms' | 'expires_ms'> {
  signal_id: string
  created_at: string
  expires_at: string
}

/** Inside a JSON text the member's quotes can only be its own, so the first one found ends the header. */
function fillFromJson(head: SignalHead, buffer: Buffer, start: number, end: number): void {
  const payload_at = buffer.indexOf(PAYLOAD, start)
  if (payload_at === -1 || payload_at >= end) throw new Error('a signal without a payload')
  const json = JSON.parse(`${buffer.toString('utf8', start, payload_at)}}`) as JsonHead
  if (!isPosition(json.seq) || typeof json.to !== 'string' || !wordsOf(json.signal_id, head.id)) {
    throw new Error('a signal without signal_id, seq or to')
  }
  head.seq = json.seq
  head.created_ms = Date.parse(json.created_at)
  head.expires_ms = Date.parse(json.expires_at)
  if (Number.isNaN(head.created_ms) || Number.isNaN(head.expires_ms))
    throw new Error('a signal without times')
  const { priority, from, intent } = json
  const ranks = Number.isInteger(priority) && priority >= 0 && priority <= 9
  if (typeof from !== 'string' || typeof intent !== 'string' || !ranks)
    throw new Error('a signal without from, intent or priority')
  head.priority = json.priority
  head.to = json.to
  head.from = json.from
  head.intent = json.intent
  head.to_session = json.to_session
  head.in_reply_to = json.in_reply_to
  head.idempotency_key = json.idempotency_key
  head.left = json.left ?? 0
}

/** As JSON has it, `1e999` is a number as well. */
function isPosition(seq: unknown): boolean {
  return Number.isInteger(seq) && (seq as number) > 0 && (seq as number) < SEQ_MAX
}

/** As far as the minute, `2026-01-31T23:59`; neighbouring lines are mostly of one minute. */
const MINUTE_BYTES = 16
const COLON = 58
const DOT = 46
const ZULU = 90

/** Reads times of the form `2026-01-31T23:59:59.999Z`. Remembers the last minute. */
export class TimeReader {
  private readonly minute = new Uint32Array(MINUTE_BYTES / 4)
  private minute_ms = Number.NaN

  /** In milliseconds; NaN for anything else. `view` is a view of the same bytes. */
  read(buffer: Buffer, view: DataView, start: number): number {
    if (start + TIME_BYTES > view.byteLength) return Number.NaN
    for (let word = 0; word < MINUTE_BYTES / 4; word += 1) {
      if (view.getUint32(start + 4 * word, true) === this.minute[word]) continue
      this.minute_ms = Date.parse(`${buffer.toString('latin1', start, start + MINUTE_BYTES)}:00.000Z`)
      for (let all = 0; all < MINUTE_BYTES / 4; all += 1) {
        this.minute[all] = view.getUint32(start + 4 * all, true)
      }
      break
    }
    const at = start + MINUTE_BYTES
    if (buffer[at] !== COLON || buffer[at + 3] !== DOT || buffer[at + 7] !== ZULU) return Number.NaN
    return this.minute_ms + digits(buffer, at + 1, 2) * 1000 + digits(buffer, at + 4, 3)
  }
}

function digits(buffer: Buffer, start: number, count: number): number {
  let value = 0
  for (let at = start; at < start + count; at += 1) {
    const digit = (buffer[at] as number) - DIGIT_0
    if (!(digit >= 0 && digit <= 9)) return Number.NaN
    value = value * 10 + digit
  }
  return value
}
