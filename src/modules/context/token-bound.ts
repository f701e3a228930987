/**
 * Upper bound of the number of tokens of a text, without a tokenizer.
 *
 * Byte-level BPE never yields more tokens than bytes. Properties of the vocabularies o200k_base and cl100k_base, which
 * test/unit/modules/context/token-bound.test.ts checks, make the bound tighter:
 *
 * - A common word with the space in front of it is one token, and so are up to three digits.
 * - Every pair of neighbours within a run (see `runFrom`) is a token. So no two tokens of one letter are neighbours, and
 *   a run of n characters has at most 2n/3 tokens, rounded up.
 */
import { commonWords } from './common-words.ts'

/** A word after a space. No letter, mark or apostrophe follows: the tokenizers split text at both ends of it. */
const WORD = /[a-z]+(?=[^A-Za-z'\u0080-\uFFFF]|…|$)/y
const DIGITS = /[0-9]{1,3}/y
const LETTER = /^[a-ik-pr-wy]$/
/** Pairs of these letters that are not a token. */
const APART = new Set(['gk', 'wv', 'yf', 'yv'])

export function tokenBound(text: string): number {
  let bound = 0
  let at = 0
  while (at < text.length) {
    const word = text[at] === ' ' ? matchAt(WORD, text, at + 1) : null
    if (word !== null && commonWords().has(word)) {
      bound += 1
      at += 1 + word.length
      continue
    }
    const run = runFrom(text, at)
    if (run > 0) {
      bound += Math.ceil((2 * run) / 3)
      at += run
      continue
    }
    const digits = matchAt(DIGITS, text, at)
    const piece = digits ?? String.fromCodePoint(text.codePointAt(at) as number)
    bound += digits === null ? Buffer.byteLength(piece) : 1
    at += piece.length
  }
  return bound
}

/** Length of the letters from here, together with a space in front of them; 0 where there are none. */
function runFrom(text: string, at: number): number {
  let end = text[at] === ' ' ? at + 1 : at
  const first = end
  while (end < text.length && LETTER.test(text[end] as string)) {
    if (end > first && APART.has(text.slice(end - 1, end + 1))) break
    end += 1
  }
  return end === first ? 0 : end - at
}

function matchAt(form: RegExp, text: string, at: number): string | null {
  form.lastIndex = at
  return form.exec(text)?.[0] ?? null
}

/**
 * The beginning of a text that has at most `tokens_max` tokens, marked with an ellipsis: cut after a word, or after a
 * character where the first word is too long. Empty where not even that fits.
 */
export function withinTokens(text: string, tokens_max: number): string {
  if (tokenBound(text) <= tokens_max) return text
  const words = [...text.matchAll(/(?<=\S)(?= )/g)].map(({ index }) => index)
  return cutAt(text, words, tokens_max) ?? cutAt(text, characterEnds(text), tokens_max) ?? ''
}

function cutAt(text: string, ends: readonly number[], tokens_max: number): string | null {
  let [low, high] = [0, ends.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (tokenBound(`${text.slice(0, ends[middle - 1])}…`) <= tokens_max) low = middle
    else high = middle - 1
  }
  return low === 0 ? null : `${text.slice(0, ends[low - 1])}…`
}

function characterEnds(text: string): number[] {
  let end = 0
  return Array.from(text, (character) => (end += character.length))
}
