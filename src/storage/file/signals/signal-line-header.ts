/**
 * Reads the header of a signal's line. Lines in the exact form this version writes are read byte by byte
 * without creating objects, so that a restart with a million signals is fast. A line with members in
 * another order, or with additional members, is parsed as JSON with the same result.
 */
import { emptyHead, PAYLOAD_MEMBER, SEQ_MAX, type SignalHead } from '../journal/journal-entries.ts'
import { packUlidAt, packUlid } from '../journal/ulid-words.ts'

/** Text that is compared four bytes at a time; the last four may overlap the previous four. */
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
/** The text after each name. */
const NEXT_MEMBER = '","'
const QUOTE = 34
const BACKSLASH = 92
const DIGIT_0 = 48
const DIGIT_9 = 57
const ULID_BYTES = 26
const TIME_BYTES = 24
/** Slots of the direct-mapped cache of names; the same few names repeat often. */
const CACHE_SLOTS = 8192

/** Returns whether the line that starts here is a signal's. */
export function isSignalLine(buffer: Buffer, start: number): boolean {
  // Compared from the end, because all lines start with the same bytes.
  for (let at = OPENING.length - 1; at >= 0; at -= 1) {
    if (buffer[start + at] !== OPENING[at]) return false
  }
  return true
}

/**
 * Creates a header reader for one scan, with a cache of the names it has read. Each call overwrites the
 * returned head; a caller that keeps one must copy it.
 */
export function createHeaderReader(): (buffer: Buffer, start: number, end: number) => SignalHead {
  const head = emptyHead()
  const words = new WordCache()
  const tos = new MemberReader(words)
  const froms = new MemberReader(words)
  const intents = new MemberReader(words)
  const origins = new MemberReader(words)
  const created = new TimeReader()
  const expires = new TimeReader()
  let viewed: Buffer | null = null
  let view: DataView = new DataView(new ArrayBuffer(0))

  /** Returns false for a line that is not exactly as `signalText` writes it without optional members. */
  const readFast = (buffer: Buffer, start: number): boolean => {
    let at = start + OPENING.length
    if (!matches(view, at, SEQ)) return false
    at += SEQ.length
    let seq = 0
    let byte = buffer[at] as number
    while (byte >= DIGIT_0 && byte <= DIGIT_9) {
      seq = seq * 10 + byte - DIGIT_0
      byte = buffer[++at] as number
    }
    if (seq === 0 || seq >= SEQ_MAX || !matches(view, at, SIGNAL_ID)) return false
    at += SIGNAL_ID.length
    if (!packUlidAt(buffer, at, head.id)) return false
    at += ULID_BYTES
    if (!matches(view, at, CREATED_AT)) return false
    at += CREATED_AT.length
    const created_ms = created.read(buffer, view, at)
    at += TIME_BYTES
    if (!matches(view, at, EXPIRES_AT)) return false
    at += EXPIRES_AT.length
    const expires_ms = expires.read(buffer, view, at)
    at += TIME_BYTES
    if (Number.isNaN(created_ms) || Number.isNaN(expires_ms) || !matches(view, at, PRIORITY)) return false
    at += PRIORITY.length
    const priority = (buffer[at] as number) - DIGIT_0
    if (priority < 0 || priority > 9 || !matches(view, at + 1, TO)) return false
    const to = tos.read(buffer, view, at + 1 + TO.length)
    if (tos.end === -1 || !matches(view, tos.end, FROM)) return false
    const from = froms.read(buffer, view, tos.end + FROM.length)
    if (froms.end === -1 || !matches(view, froms.end, INTENT)) return false
    const intent = intents.read(buffer, view, froms.end + INTENT.length)
    if (intents.end === -1 || !matches(view, intents.end, ORIGIN)) return false
    origins.read(buffer, view, intents.end + ORIGIN.length)
    if (origins.end === -1 || !matches(view, origins.end, END_OF_HEADER)) return false
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
    if (!readFast(buffer, start)) fillFromJson(head, buffer, start, end)
    return head
  }
}

function matches(view: DataView, start: number, { length, words }: Literal): boolean {
  if (start + length > view.byteLength) return false
  const last = words.length - 1
  for (let word = 0; word < last; word += 1) {
    if (view.getUint32(start + 4 * word, true) !== words[word]) return false
  }
  return view.getUint32(start + length - 4, true) === words[last]
}

/** A name with the text after it, so that even the shortest has four bytes. */
interface Word extends Literal {
  text: string
}

/** Cache of the names of all members. Names with the same slot replace each other. */
class WordCache {
  private readonly words = new Array<Word | undefined>(CACHE_SLOTS)

  /** Returns null for an empty name and for a name with escapes or non-ASCII characters. */
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
    const slot = hash & (CACHE_SLOTS - 1)
    const cached = this.words[slot]
    if (cached !== undefined && cached.length === length && matches(view, start, cached)) return cached
    if (buffer.toString('latin1', at, start + length) !== NEXT_MEMBER) return null
    const text = buffer.toString('latin1', start, at)
    return (this.words[slot] = { text, ...literal(text + NEXT_MEMBER) })
  }
}

/** Reads the names of one member, most of which are the same as in the previous line. */
class MemberReader {
  /** Offset of the closing quote; -1 if there is no plain name. */
  end = -1
  private last: Word = { text: '', ...literal(NEXT_MEMBER + NEXT_MEMBER) }
  private readonly words: WordCache

  constructor(words: WordCache) {
    this.words = words
  }

  read(buffer: Buffer, view: DataView, start: number): string {
    if (!matches(view, start, this.last)) {
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

/** Within a JSON string quotes are escaped, so the first `,"payload":` found ends the header. */
function fillFromJson(head: SignalHead, buffer: Buffer, start: number, end: number): void {
  const payload_at = buffer.indexOf(PAYLOAD, start)
  if (payload_at === -1 || payload_at >= end) throw new Error('a signal without a payload')
  const json = JSON.parse(`${buffer.toString('utf8', start, payload_at)}}`) as JsonHead
  if (!isSeq(json.seq) || typeof json.to !== 'string' || !packUlid(json.signal_id, head.id)) {
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

/** Returns whether it is a valid seq. JSON parses `1e999` as a number as well. */
function isSeq(seq: unknown): boolean {
  return Number.isInteger(seq) && (seq as number) > 0 && (seq as number) < SEQ_MAX
}

/** Length of a time up to the minute, `2026-01-31T23:59`; consecutive lines mostly share the minute. */
const MINUTE_BYTES = 16
const COLON = 58
const DOT = 46
const ZULU = 90

/** Reads times of the form `2026-01-31T23:59:59.999Z`. Caches the last minute. */
export class TimeReader {
  private readonly minute = new Uint32Array(MINUTE_BYTES / 4)
  private minute_ms = Number.NaN

  /** Returns milliseconds since the epoch, or NaN for any other form. `view` is a view of the same bytes. */
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
