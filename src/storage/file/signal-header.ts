/**
 * Reads the header of a signal's line. Lines as this version writes them are read byte by byte without
 * making objects of them, which is what makes a restart with a million signals bearable. A line whose
 * members stand in another order, or carry more, is read as JSON; it means the same.
 */
import { emptyHead, PAYLOAD_MEMBER, type SignalHead } from './entries.ts'
import { wordsAt, wordsOf } from './ulid-words.ts'

const OPENING = Buffer.from('{"kind":"signal"')
const SEQ = Buffer.from(',"seq":')
const SIGNAL_ID = Buffer.from(',"signal_id":"')
const CREATED_AT = Buffer.from('","created_at":"')
const EXPIRES_AT = Buffer.from('","expires_at":"')
const PRIORITY = Buffer.from('","priority":')
const TO = Buffer.from(',"to":"')
const FROM = Buffer.from(',"from":"')
const INTENT = Buffer.from(',"intent":"')
const ORIGIN = Buffer.from(',"origin":"')
const PAYLOAD = Buffer.from(PAYLOAD_MEMBER)
const QUOTE = 34
const BACKSLASH = 92
const DIGIT_0 = 48
const DIGIT_9 = 57
const ULID_BYTES = 26
const TIME_BYTES = 24
/** Where a time has its punctuation. */
const TIME_MARKS = [
  [4, 45],
  [7, 45],
  [10, 84],
  [13, 58],
  [16, 58],
  [19, 46],
  [23, 90],
] as const
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
  const remembered = new Array<string | undefined>(WORDS_REMEMBERED)

  const wordAt = (buffer: Buffer, start: number, end: number): string => {
    let hash = end - start
    for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (buffer[at] as number)) | 0
    const slot = hash & (WORDS_REMEMBERED - 1)
    const known = remembered[slot]
    if (known !== undefined && spells(buffer, start, end, known)) return known
    return (remembered[slot] = buffer.toString('latin1', start, end))
  }

  return (buffer, start, end) => {
    if (!fillQuickly(head, buffer, start, wordAt)) fillFromJson(head, buffer, start, end)
    return head
  }
}

/** False for a line that is not exactly as `signalText` writes one without optional members. */
function fillQuickly(
  head: SignalHead,
  buffer: Buffer,
  start: number,
  wordAt: (buffer: Buffer, start: number, end: number) => string,
): boolean {
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
  const id_at = at
  at += ULID_BYTES
  if (!matches(buffer, at, CREATED_AT)) return false
  at += CREATED_AT.length
  const created_ms = timeAt(buffer, at)
  at += TIME_BYTES
  if (!matches(buffer, at, EXPIRES_AT)) return false
  at += EXPIRES_AT.length
  const expires_ms = timeAt(buffer, at)
  at += TIME_BYTES
  if (!matches(buffer, at, PRIORITY)) return false
  at += PRIORITY.length
  const priority = (buffer[at] as number) - DIGIT_0
  at += 1
  if (priority < 0 || priority > 9 || !matches(buffer, at, TO)) return false
  const to_at = at + TO.length
  const to_end = wordEnd(buffer, to_at)
  if (to_end === -1 || !matches(buffer, to_end + 1, FROM)) return false
  const from_at = to_end + 1 + FROM.length
  const from_end = wordEnd(buffer, from_at)
  if (from_end === -1 || !matches(buffer, from_end + 1, INTENT)) return false
  const intent_at = from_end + 1 + INTENT.length
  const intent_end = wordEnd(buffer, intent_at)
  if (intent_end === -1 || !matches(buffer, intent_end + 1, ORIGIN)) return false
  const origin_end = wordEnd(buffer, intent_end + 1 + ORIGIN.length)
  if (origin_end === -1 || !matches(buffer, origin_end + 1, PAYLOAD)) return false
  if (Number.isNaN(created_ms) || Number.isNaN(expires_ms)) return false
  if (!wordsAt(buffer, id_at, head.id)) return false
  head.seq = seq
  head.created_ms = created_ms
  head.expires_ms = expires_ms
  head.priority = priority
  head.to = wordAt(buffer, to_at, to_end)
  head.from = wordAt(buffer, from_at, from_end)
  head.intent = wordAt(buffer, intent_at, intent_end)
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

function matches(buffer: Buffer, start: number, literal: Buffer): boolean {
  for (let at = 0; at < literal.length; at += 1) {
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

/** Where the quote after plain ASCII stands; -1 for anything that would have to be unescaped or decoded. */
function wordEnd(buffer: Buffer, start: number): number {
  for (let at = start; ; at += 1) {
    const byte = buffer[at]
    if (byte === QUOTE) return at
    if (byte === undefined || byte === BACKSLASH || byte > 126 || byte < 32) return -1
  }
}

/** `2026-01-31T23:59:59.999Z` in milliseconds; NaN for anything else. Days: Howard Hinnant's days_from_civil. */
export function timeAt(buffer: Buffer, start: number): number {
  const number = (offset: number, length: number) => {
    let value = 0
    for (let at = start + offset; at < start + offset + length; at += 1) {
      const digit = (buffer[at] as number) - DIGIT_0
      if (digit < 0 || digit > 9) return Number.NaN
      value = value * 10 + digit
    }
    return value
  }
  for (const [offset, byte] of TIME_MARKS) if (buffer[start + offset] !== byte) return Number.NaN
  const month = number(5, 2)
  const year = number(0, 4) - (month <= 2 ? 1 : 0)
  const era = Math.floor(year / 400)
  const year_of_era = year - era * 400
  const day_of_year = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + number(8, 2) - 1
  const day_of_era =
    year_of_era * 365 + Math.floor(year_of_era / 4) - Math.floor(year_of_era / 100) + day_of_year
  const days = era * 146_097 + day_of_era - 719_468
  return (
    days * 86_400_000 +
    number(11, 2) * 3_600_000 +
    number(14, 2) * 60_000 +
    number(17, 2) * 1000 +
    number(20, 3)
  )
}
