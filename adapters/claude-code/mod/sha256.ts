/** SHA-256 of texts: FIPS 180-4. The client gives a module no function for it. */

/** Fractional parts of the cube roots of the first 64 primes. */
const K = Int32Array.from(fractions(64, 1 / 3))
const INITIAL = Int32Array.from(fractions(8, 1 / 2))

export interface Digest {
  /** Size of the text in UTF-8. */
  bytes: number
  /** Hexadecimal. */
  sha256: string
}

/** Returns the size of the text in UTF-8 and its digest. A surrogate without its other half counts as U+FFFD, as in Node.js. */
export function digest(text: string): Digest {
  const state = Int32Array.from(INITIAL)
  const block = new Uint8Array(64)
  const words = new Int32Array(64)
  let bytes = 0

  const add = (byte: number) => {
    block[bytes % 64] = byte
    bytes += 1
    if (bytes % 64 === 0) compress(state, block, words)
  }

  eachByte(text, add)
  const size = bytes
  add(0x80)
  while (bytes % 64 !== 56) add(0)
  const [high, low] = [Math.floor(size / 2 ** 29), (size << 3) >>> 0]
  for (const word of [high, low]) for (const shift of [24, 16, 8, 0]) add((word >>> shift) & 0xff)
  return {
    bytes: size,
    sha256: [...state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join(''),
  }
}

/** Returns the size of the text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x80) bytes += 1
    else if (code < 0x800) bytes += 2
    else bytes += isPair(text, at) ? (at++, 4) : 3
  }
  return bytes
}

function eachByte(text: string, add: (byte: number) => void): void {
  for (let at = 0; at < text.length; at++) {
    let code = text.charCodeAt(at)
    if (code < 0x80) {
      add(code)
      continue
    }
    if (code < 0x800) {
      add(0xc0 | (code >> 6))
      add(0x80 | (code & 0x3f))
      continue
    }
    if (isPair(text, at)) {
      code = text.codePointAt(at++) ?? 0xfffd
      add(0xf0 | (code >> 18))
      add(0x80 | ((code >> 12) & 0x3f))
    } else {
      if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd
      add(0xe0 | (code >> 12))
    }
    add(0x80 | ((code >> 6) & 0x3f))
    add(0x80 | (code & 0x3f))
  }
}

/** Whether a high surrogate and a low one begin here. */
function isPair(text: string, at: number): boolean {
  const [high, low] = [text.charCodeAt(at), text.charCodeAt(at + 1)]
  return high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000
}

/** Without helper objects, because a text has many blocks. */
function compress(state: Int32Array, block: Uint8Array, w: Int32Array): void {
  const bytes = new DataView(block.buffer)
  for (let t = 0; t < 16; t++) w[t] = bytes.getInt32(4 * t)
  for (let t = 16; t < 64; t++) {
    const x = w[t - 15] ?? 0
    const y = w[t - 2] ?? 0
    const s0 = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3)
    const s1 = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10)
    w[t] = ((w[t - 16] ?? 0) + s0 + (w[t - 7] ?? 0) + s1) | 0
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  const before = [a, b, c, d, e, f, g, h]
  for (let t = 0; t < 64; t++) {
    const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (K[t] ?? 0) + (w[t] ?? 0)) | 0
    const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state.set([a, b, c, d, e, f, g, h])
  for (let n = 0; n < 8; n++) state[n] = ((state[n] ?? 0) + (before[n] ?? 0)) | 0
}

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

/** Returns the first 32 bits of the fractional parts of powers of the first primes. */
function fractions(count: number, power: number): number[] {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) {
    if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  }
  return primes.map((prime) => Math.floor((prime ** power % 1) * 2 ** 32) | 0)
}
