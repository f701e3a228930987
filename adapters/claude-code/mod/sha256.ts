/** SHA-256 of texts. The client gives a module neither Node's functions for it nor an encoder. */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

export interface Digest {
  /** Size of the text in UTF-8. */
  bytes: number
  /** Hexadecimal. */
  sha256: string
}

/** Returns the size of the text in UTF-8 and its digest. A surrogate without its other half counts as U+FFFD, as in Node.js. */
export function digest(text: string): Digest {
  const encoded = new Uint8Array(utf8Length(text))
  let at = 0
  eachByte(text, (byte) => void (encoded[at++] = byte))
  return { bytes: encoded.length, sha256: bytesToHex(sha256(encoded)) }
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
