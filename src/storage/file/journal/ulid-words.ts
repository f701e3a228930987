/**
 * A ULID packed into four 32-bit words: 16 bytes in the index instead of a string of 26 characters. The words
 * sort like the text. Format: github.com/ulid/spec.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID_LENGTH = 26
const LETTERS = ALPHABET.split('')
const VALUES = new Int8Array(256).fill(-1)
for (let value = 0; value < ALPHABET.length; value += 1) VALUES[ALPHABET.charCodeAt(value)] = value

export type UlidWords = Uint32Array

/** Packs a ULID into `words`. Returns false if the text is not a ULID; `words` is then undefined. */
export function packUlid(text: string, words: UlidWords): boolean {
  if (text.length !== ULID_LENGTH) return false
  for (let at = 0; at < ULID_LENGTH; at += 1) {
    const code = text.charCodeAt(at)
    // Truncated to a byte, a non-ASCII character could match a character of the alphabet.
    if (code > 127) return false
    characters[at] = code
  }
  return packUlidAt(characters, 0, words)
}

const characters = new Uint8Array(ULID_LENGTH)

/** Packs a ULID from its 26 ASCII bytes at `start`. Unrolled for speed, because every journal line has one. */
export function packUlidAt(bytes: Uint8Array, start: number, words: UlidWords): boolean {
  const v0 = VALUES[bytes[start] as number] as number
  const v1 = VALUES[bytes[start + 1] as number] as number
  const v2 = VALUES[bytes[start + 2] as number] as number
  const v3 = VALUES[bytes[start + 3] as number] as number
  const v4 = VALUES[bytes[start + 4] as number] as number
  const v5 = VALUES[bytes[start + 5] as number] as number
  const v6 = VALUES[bytes[start + 6] as number] as number
  const v7 = VALUES[bytes[start + 7] as number] as number
  const v8 = VALUES[bytes[start + 8] as number] as number
  const v9 = VALUES[bytes[start + 9] as number] as number
  const v10 = VALUES[bytes[start + 10] as number] as number
  const v11 = VALUES[bytes[start + 11] as number] as number
  const v12 = VALUES[bytes[start + 12] as number] as number
  const v13 = VALUES[bytes[start + 13] as number] as number
  const v14 = VALUES[bytes[start + 14] as number] as number
  const v15 = VALUES[bytes[start + 15] as number] as number
  const v16 = VALUES[bytes[start + 16] as number] as number
  const v17 = VALUES[bytes[start + 17] as number] as number
  const v18 = VALUES[bytes[start + 18] as number] as number
  const v19 = VALUES[bytes[start + 19] as number] as number
  const v20 = VALUES[bytes[start + 20] as number] as number
  const v21 = VALUES[bytes[start + 21] as number] as number
  const v22 = VALUES[bytes[start + 22] as number] as number
  const v23 = VALUES[bytes[start + 23] as number] as number
  const v24 = VALUES[bytes[start + 24] as number] as number
  const v25 = VALUES[bytes[start + 25] as number] as number
  const time = v0 | v1 | v2 | v3 | v4 | v5 | v6 | v7 | v8 | v9
  const random = v10 | v11 | v12 | v13 | v14 | v15 | v16 | v17 | v18 | v19 | v20 | v21 | v22 | v23 | v24 | v25
  // 26 characters have 130 bits; the first two are always zero.
  if ((time | random) < 0 || v0 > 7) return false
  words[0] = (v0 << 29) | (v1 << 24) | (v2 << 19) | (v3 << 14) | (v4 << 9) | (v5 << 4) | (v6 >>> 1)
  words[1] =
    (v6 << 31) | (v7 << 26) | (v8 << 21) | (v9 << 16) | (v10 << 11) | (v11 << 6) | (v12 << 1) | (v13 >>> 4)
  words[2] = (v13 << 28) | (v14 << 23) | (v15 << 18) | (v16 << 13) | (v17 << 8) | (v18 << 3) | (v19 >>> 2)
  words[3] = (v19 << 30) | (v20 << 25) | (v21 << 20) | (v22 << 15) | (v23 << 10) | (v24 << 5) | v25
  return true
}

/** Returns the words as text. */
export function unpackUlid(w0: number, w1: number, w2: number, w3: number): string {
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
