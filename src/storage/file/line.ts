/**
 * One line of a journal: a JSON object whose last member is `"crc":"xxxxxxxx"`, the CRC-32 (as in zlib)
 * of the line's bytes before that member's comma. It sits at a fixed distance from the end, so a line is
 * checked without being parsed, and each line is still JSON for `jq`.
 */
import { crc32 } from 'node:zlib'

export const NEWLINE = 10
const BEFORE = Buffer.from(',"crc":"')
const AFTER = Buffer.from('"}')
export const HEX_DIGITS = 8
const HEX = Buffer.from('0123456789abcdef')
/** What is added to the open text: the crc member, the closing brace and, in the file, the newline. */
export const TAIL_BYTES = BEFORE.length + HEX_DIGITS + AFTER.length
export const SEAL_BYTES = TAIL_BYTES + 1
/** How far before a line's end its checksum begins. */
export const DIGITS_BEFORE_END = HEX_DIGITS + AFTER.length

/** Closes the object whose text (without its `}`) stands in `start..end`. Answers where the line ends. */
export function sealLine(buffer: Buffer, start: number, end: number): number {
  return writeSeal(buffer, end, crc32(buffer.subarray(start, end)))
}

/** What stands behind the open text whose checksum is `crc`. Answers where the line ends. */
export function writeSeal(buffer: Buffer, end: number, crc: number): number {
  BEFORE.copy(buffer, end)
  const hex = end + BEFORE.length
  for (let digit = 0; digit < HEX_DIGITS; digit += 1) {
    buffer[hex + digit] = HEX[(crc >>> (4 * (HEX_DIGITS - 1 - digit))) & 15] as number
  }
  AFTER.copy(buffer, hex + HEX_DIGITS)
  buffer[end + TAIL_BYTES] = NEWLINE
  return end + SEAL_BYTES
}

/** Whether the line in `start..end` (its newline left out) is what was once sealed. */
export function lineHolds(buffer: Buffer, start: number, end: number): boolean {
  const body = end - TAIL_BYTES
  if (body <= start) return false
  for (let at = 0; at < BEFORE.length; at += 1) {
    if (buffer[body + at] !== BEFORE[at]) return false
  }
  if (buffer[end - 2] !== AFTER[0] || buffer[end - 1] !== AFTER[1]) return false
  let said = 0
  for (let at = body + BEFORE.length; at < end - AFTER.length; at += 1) {
    const digit = digitOf(buffer[at] as number)
    if (digit === -1) return false
    said = (said << 4) | digit
  }
  return said >>> 0 === crc32(buffer.subarray(start, body))
}

/** -1 for what `sealLine` does not write. */
export function digitOf(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  if (byte >= 97 && byte <= 102) return byte - 87
  return -1
}

/** One sealed line on its own, newline included. */
export function sealedLine(value: object): Buffer {
  const text = openText(value)
  const bytes = Buffer.byteLength(text)
  const line = Buffer.allocUnsafe(bytes + SEAL_BYTES)
  line.write(text)
  sealLine(line, 0, bytes)
  return line
}

/** The JSON of an object with at least one member, left open for the crc. */
export function openText(value: object): string {
  return JSON.stringify(value).slice(0, -1)
}
