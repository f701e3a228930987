/**
 * Detection of numbers in JSON text that JavaScript cannot represent. `JSON.parse` rounds them silently:
 * 9007199254740993 becomes 9007199254740992, 1e400 becomes Infinity. Therefore the text is scanned.
 */

export type JsonPath = readonly (string | number)[]

export interface InexactNumber {
  path: JsonPath
  /** The number as written. */
  source: string
}

/** Thrown by `exactJson`. The message has the path and a way to avoid the error. */
export class InexactNumberError extends RangeError {
  readonly path: JsonPath
  readonly source: string

  constructor({ path, source }: InexactNumber) {
    super(sentence(path, source))
    this.name = 'InexactNumberError'
    this.path = path
    this.source = source
  }

  /** Returns the message with the path relative to a part, such as `params`. */
  below(path: JsonPath): string {
    const inside = path.every((step, at) => this.path[at] === step)
    return inside ? sentence(this.path.slice(path.length), this.source) : this.message
  }
}

/** Returns the first number of a valid JSON text that would be rounded, or null. */
export function inexactNumber(text: string): InexactNumber | null {
  if (!maybeInexact(text)) return null
  let found: InexactNumber | null = null
  walkNumbers(text, ({ source, path }) => {
    if (isExact(source)) return true
    found = { path: path(), source }
    return false
  })
  return found
}

/** Returns false if no number of the text can be inexact. A fast prefilter: most texts are not scanned. */
export function maybeInexact(text: string): boolean {
  // Up to 15 digits are exact with any two-digit exponent.
  return /[\d.]{16}|\d[eE][+-]?\d{3}/.test(text)
}

/** Whether a JavaScript number prints as the same decimal number. Fractions may lose digits, as usual. */
export function isExact(source: string): boolean {
  const value = Number(source)
  if (!Number.isFinite(value)) return false
  const meant = decimal(source)
  const kept = decimal(String(value))
  if (meant.digits === kept.digits && (meant.exponent === kept.exponent || meant.digits === '')) return true
  return meant.exponent < 0 && value !== 0
}

const SHOWN_LENGTH_MAX = 40

/** Digits without leading and trailing zeros, and the power of ten of the last one. The sign is kept. */
function decimal(source: string): { digits: string; exponent: number } {
  const [mantissa = '', power = '0'] = source.replace(/^-/, '').toLowerCase().split(/e(.*)/s)
  const [whole = '', fraction = ''] = mantissa.split('.')
  const all = (whole + fraction).replace(/^0+/, '')
  const digits = all.replace(/0+$/, '')
  return { digits, exponent: Number(power) - fraction.length + all.length - digits.length }
}

function sentence(path: JsonPath, source: string): string {
  const where = path.length === 0 ? 'the number' : path.join('.')
  const shown = source.length > SHOWN_LENGTH_MAX ? `${source.slice(0, SHOWN_LENGTH_MAX)}…` : source
  const bound = Number.isFinite(Number(source)) && Number(source) !== 0 ? '2^53' : 'the range of a number'
  return `${where}: ${shown} is beyond ${bound}; send it as a text`
}

/**
 * Position in the document: an index in a list, or the name in an object as offsets in the text, which are resolved on
 * demand.
 */
interface Place {
  index: number | null
  name_start: number
  name_end: number
}

export interface WrittenNumber {
  source: string
  depth: number
  path: () => JsonPath
}

/** Calls `visit` for each number of a valid JSON text until it returns false. */
export function walkNumbers(text: string, visit: (number: WrittenNumber) => boolean): void {
  const places: Place[] = []
  let string_start = 0
  let string_end = 0
  const path = () =>
    places.map(
      ({ index, name_start, name_end }) => index ?? (JSON.parse(text.slice(name_start, name_end)) as string),
    )
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        string_start = at
        at = endOfString(text, at)
        string_end = at + 1
        break
      case COLON: {
        const place = places.at(-1)
        if (place === undefined) break
        place.name_start = string_start
        place.name_end = string_end
        break
      }
      case COMMA: {
        const place = places.at(-1)
        if (place?.index != null) place.index += 1
        break
      }
      case BRACKET:
      case BRACE:
        places.push({ index: text.charCodeAt(at) === BRACKET ? 0 : null, name_start: 0, name_end: 0 })
        break
      case BRACKET_END:
      case BRACE_END:
        places.pop()
        break
      default:
        if (!isNumberStart(text.charCodeAt(at))) break
        NUMBER.lastIndex = at
        const source = NUMBER.exec(text)?.[0] ?? ''
        if (!visit({ source, depth: places.length, path })) return
        at += source.length - 1
    }
  }
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const QUOTE = 0x22
const COLON = 0x3a
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACKET_END = 0x5d
const BRACE = 0x7b
const BRACE_END = 0x7d
const BACKSLASH = 0x5c

function isNumberStart(code: number): boolean {
  return code === 0x2d || (code >= 0x30 && code <= 0x39)
}

/** Returns the position of the closing quote. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return at
  }
  return text.length
}
