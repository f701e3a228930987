/**
 * A sealed journal line: a JSON object whose last member is `"crc":"xxxxxxxx"`, the CRC-32 (as in zlib) of
 * the line's bytes before that member's comma. The member is at a fixed distance from the end, so a line is
 * verified without being parsed, and each line is still JSON for `jq`.
 */
import { crc32 } from 'node:zlib'

export const NEWLINE = 10
const BEFORE = Buffer.from(',"crc":"')
const AFTER = Buffer.from('"}')
export const HEX_DIGITS = 8
const HEX = Buffer.from('0123456789abcdef')
/** Bytes added to the unsealed text: the crc member and the closing brace; with `SEAL_BYTES` also the newline. */
export const TAIL_BYTES = BEFORE.length + HEX_DIGITS + AFTER.length
export const SEAL_BYTES = TAIL_BYTES + 1
/** Distance of the checksum from the end of its line. */
export const DIGITS_BEFORE_END = HEX_DIGITS + AFTER.length

/** Seals the unsealed text in `start..end` and returns the end of the line. */
export function sealLine(buffer: Buffer, start: number, end: number): number {
  return writeSeal(buffer, end, crc32(buffer.subarray(start, end)))
}

/** Writes the seal with the checksum `crc` at `end` and returns the end of the line. */
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

/** Returns whether the line in `start..end`, newline excluded, matches its checksum. */
export function isValidLine(buffer: Buffer, start: number, end: number): boolean {
  const body = end - TAIL_BYTES
  if (body <= start) return false
  for (let at = 0; at < BEFORE.length; at += 1) {
    if (buffer[body + at] !== BEFORE[at]) return false
  }
  if (buffer[end - 2] !== AFTER[0] || buffer[end - 1] !== AFTER[1]) return false
  let crc = 0
  for (let at = body + BEFORE.length; at < end - AFTER.length; at += 1) {
    const digit = digitOf(buffer[at] as number)
    if (digit === -1) return false
    crc = (crc << 4) | digit
  }
  return crc >>> 0 === crc32(buffer.subarray(start, body))
}

/** Returns the value of a lower-case hex digit, or -1. */
export function digitOf(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  if (byte >= 97 && byte <= 102) return byte - 87
  return -1
}

/** Returns one sealed line, newline included. */
export function sealedLine(value: object): Buffer {
  const text = openText(value)
  const bytes = Buffer.byteLength(text)
  const line = Buffer.allocUnsafe(bytes + SEAL_BYTES)
  line.write(text)
  sealLine(line, 0, bytes)
  return line
}

/** Returns the JSON of an object with at least one member, without its closing brace. */
export function openText(value: object): string {
  return JSON.stringify(value).slice(0, -1)
}
