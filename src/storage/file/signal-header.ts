/**
 * Reads the header of a signal's line. Lines as this version writes them are read byte by byte without
 * making objects of them, which is what makes a restart with a million signals bearable. A line whose
 * members stand in another order, or carry more, is read as JSON; it means the same.
 */
import { emptyHead, PAYLOAD_MEMBER, type SignalHead } from './entries.ts'
import { wordsAt, wordsOf } from './ulid-words.ts'

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text))
const OPENING = bytesOf('{"kind":"signal"')
const SEQ = bytesOf(',"seq":')
const SIGNAL_ID = bytesOf(',"signal_id":"')
const CREATED_AT = bytesOf('","created_at":"')
const EXPIRES_AT = bytesOf('","expires_at":"')
const PRIORITY = bytesOf('","priority":')
const TO = bytesOf(',"to":"')
const FROM = bytesOf('","from":"')
const INTENT = bytesOf('","intent":"')
const ORIGIN = bytesOf('","origin":"')
const END_OF_HEADER = bytesOf(`"${PAYLOAD_MEMBER}`)
const PAYLOAD = Buffer.from(PAYLOAD_MEMBER)
const QUOTE = 34
const BACKSLASH = 92
const DIGIT_0 = 48
const DIGIT_9 = 57
const ULID_BYTES = 26
const TIME_BYTES = 24
/** Where a time has its punctuation, and which: pairs of offset and byte. */
const TIME_MARKS = new Uint8Array([4, 45, 7, 45, 10, 84, 13, 58, 16, 58, 19, 46, 23, 90])
/** Direct-mapped: the same few names come again and again. */
const WORDS_REMEMBERED = 1024

/** Whether the line that starts here is a signal's. */
export function isSignalLine(buffer: Buffer, start: number): boolean {
  return matches(buffer, start, OPENING)
}

/**
 * One reader per scan: it remembers the names it has seen. The head it answers with is filled anew by the
 * next call; who keeps one copies it.
 */
export function createHeaderReader(): (buffer: Buffer, start: number, end: number) => SignalHead {
  const head = emptyHead()
  const words = new WordReader()
  return (buffer, start, end) => {
    if (!fillQuickly(head, buffer, start, words)) fillFromJson(head, buffer, start, end)
    return head
  }
}

/** Reads plain ASCII up to the next quote. */
class WordReader {
  /** Where the quote stood; -1 for what would have to be unescaped or decoded. */
  end = -1
  private readonly remembered = new Array<string | undefined>(WORDS_REMEMBERED)

  read(buffer: Buffer, start: number): string {
    let hash = 0
    let at = start
    for (; ; at += 1) {
      const byte = buffer[at] as number
      if (byte === QUOTE) break
      if (!(byte >= 32 && byte < 127) || byte === BACKSLASH) {
        this.end = -1
        return ''
      }
      hash = (Math.imul(hash, 31) + byte) | 0
    }
    this.end = at
    const slot = hash & (WORDS_REMEMBERED - 1)
    const known = this.remembered[slot]
    if (known !== undefined && spells(buffer, start, at, known)) return known
    return (this.remembered[slot] = buffer.toString('latin1', start, at))
  }
}

/** False for a line that is not exactly as `signalText` writes one without optional members. */
function fillQuickly(head: SignalHead, buffer: Buffer, start: number, words: WordReader): boolean {
  let at = start + OPENING.length
  if (!matches(buffer, at, SEQ)) return false
  at += SEQ.length
  let seq = 0
  let byte = buffer[at] as number
  while (byte >= DIGIT_0 && byte <= DIGIT_9) {
    seq = seq * 10 + byte - DIGIT_0
    byte = buffer[++at] as number
  }
  if (!matches(buffer, at, SIGNAL_ID)) return false
  at += SIGNAL_ID.length
  if (!wordsAt(buffer, at, head.id)) return false
  at += ULID_BYTES
  if (!matches(buffer, at, CREATED_AT)) return false
  at += CREATED_AT.length
  const created_ms = timeAt(buffer, at)
  at += TIME_BYTES
  if (!matches(buffer, at, EXPIRES_AT)) return false
  at += EXPIRES_AT.length
  const expires_ms = timeAt(buffer, at)
  at += TIME_BYTES
  if (Number.isNaN(created_ms) || Number.isNaN(expires_ms) || !matches(buffer, at, PRIORITY)) return false
  at += PRIORITY.length
  const priority = (buffer[at] as number) - DIGIT_0
  if (priority < 0 || priority > 9 || !matches(buffer, at + 1, TO)) return false
  const to = words.read(buffer, at + 1 + TO.length)
  if (words.end === -1 || !matches(buffer, words.end, FROM)) return false
  const from = words.read(buffer, words.end + FROM.length)
  if (words.end === -1 || !matches(buffer, words.end, INTENT)) return false
  const intent = words.read(buffer, words.end + INTENT.length)
  if (words.end === -1 || !matches(buffer, words.end, ORIGIN)) return false
  words.read(buffer, words.end + ORIGIN.length)
  if (words.end === -1 || !matches(buffer, words.end, END_OF_HEADER)) return false
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
  if (typeof json.seq !== 'number' || typeof json.to !== 'string' || !wordsOf(json.signal_id, head.id)) {
    throw new Error('a signal without signal_id, seq or to')
  }
  head.seq = json.seq
  head.created_ms = Date.parse(json.created_at)
  head.expires_ms = Date.parse(json.expires_at)
  head.priority = json.priority
  head.to = json.to
  head.from = json.from
  head.intent = json.intent
  head.to_session = json.to_session
  head.in_reply_to = json.in_reply_to
  head.idempotency_key = json.idempotency_key
  head.left = json.left ?? 0
}

/** From the end: what two members have in common is how they begin. */
function matches(buffer: Buffer, start: number, literal: Uint8Array): boolean {
  for (let at = literal.length - 1; at >= 0; at -= 1) {
    if (buffer[start + at] !== literal[at]) return false
  }
  return true
}

function spells(buffer: Buffer, start: number, end: number, word: string): boolean {
  if (word.length !== end - start) return false
  for (let at = 0; at < word.length; at += 1) {
    if (word.charCodeAt(at) !== buffer[start + at]) return false
  }
  return true
}

const DAY_MS = 86_400_000
const DAY_BYTES = 10

/** `2026-01-31T23:59:59.999Z` in milliseconds; NaN for anything else. */
export function timeAt(buffer: Buffer, start: number): number {
  for (let mark = 0; mark < TIME_MARKS.length; mark += 2) {
    if (buffer[start + (TIME_MARKS[mark] as number)] !== TIME_MARKS[mark + 1]) return Number.NaN
  }
  return (
    dayAt(buffer, start) * DAY_MS +
    numberAt(buffer, start + 11, 2) * 3_600_000 +
    numberAt(buffer, start + 14, 2) * 60_000 +
    numberAt(buffer, start + 17, 2) * 1000 +
    numberAt(buffer, start + 20, 3)
  )
}

const known_day = new Uint8Array(DAY_BYTES)
let known_day_number = Number.NaN

/** Days since 1970. Neighbouring lines are mostly of one day. Source: Howard Hinnant, days_from_civil. */
function dayAt(buffer: Buffer, start: number): number {
  let same = true
  for (let at = DAY_BYTES - 1; at >= 0 && same; at -= 1) same = buffer[start + at] === known_day[at]
  if (same) return known_day_number
  const month = numberAt(buffer, start + 5, 2)
  const year = numberAt(buffer, start, 4) - (month <= 2 ? 1 : 0)
  const era = Math.floor(year / 400)
  const year_of_era = year - era * 400
  const day = numberAt(buffer, start + 8, 2)
  const day_of_year = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const leap_days = Math.floor(year_of_era / 4) - Math.floor(year_of_era / 100)
  known_day_number = era * 146_097 + year_of_era * 365 + leap_days + day_of_year - 719_468
  for (let at = 0; at < DAY_BYTES; at += 1) known_day[at] = buffer[start + at] as number
  return known_day_number
}

function numberAt(buffer: Buffer, start: number, length: number): number {
  let value = 0
  for (let at = start; at < start + length; at += 1) {
    const digit = (buffer[at] as number) - DIGIT_0
    if (!(digit >= 0 && digit <= 9)) return Number.NaN
    value = value * 10 + digit
  }
  return value
}
