/**
 * A ULID as four 32-bit words: 16 bytes in the index instead of a string of 26 characters. The words
 * compare as the text does. Form: github.com/ulid/spec.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID_LENGTH = 26
const LETTERS = ALPHABET.split('')
const VALUES = new Int8Array(256).fill(-1)
for (let value = 0; value < ALPHABET.length; value += 1) VALUES[ALPHABET.charCodeAt(value)] = value

export type Words = Uint32Array

/** Reads a ULID from text. False when it is none; what `words` holds is then of no use. */
export function wordsOf(text: string, words: Words): boolean {
  if (text.length !== ULID_LENGTH) return false
  for (let at = 0; at < ULID_LENGTH; at += 1) {
    const code = text.charCodeAt(at)
    // Cut to a byte, a character past ASCII could look like one of the alphabet.
    if (code > 127) return false
    characters[at] = code
  }
  return wordsAt(characters, 0, words)
}

const characters = new Uint8Array(ULID_LENGTH)

/** Reads a ULID from its 26 ASCII bytes at `start`. */
export function wordsAt(bytes: Uint8Array, start: number, words: Words): boolean {
  const first = VALUES[bytes[start] as number] as number
  // 26 characters hold 130 bits; the first two are always zero.
  if (first < 0 || first > 7) return false
  let word = 0
  let accumulated = first
  let bits = 3
  for (let at = start + 1; at < start + ULID_LENGTH; at += 1) {
    const value = VALUES[bytes[at] as number] as number
    if (value < 0) return false
    const room = 32 - bits
    if (room > 5) {
      accumulated = (accumulated << 5) | value
      bits += 5
    } else {
      const left = 5 - room
      words[word] = (accumulated << room) | (value >>> left)
      word += 1
      accumulated = value & ((1 << left) - 1)
      bits = left
    }
  }
  return word === 4
}

/** Writes the words as text. */
export function textOf(w0: number, w1: number, w2: number, w3: number): string {
  const words = [w0, w1, w2, w3]
  let text = LETTERS[w0 >>> 29] as string
  for (let start = 3; start < 128; start += 5) {
    const word = words[start >>> 5] as number
    const room = 32 - (start & 31)
    const value =
      room >= 5
        ? word >>> (room - 5)
        : (word << (5 - room)) | ((words[(start >>> 5) + 1] as number) >>> (27 + room))
    text += LETTERS[value & 31] as string
  }
  return text
}
