/** The words of a text, as every search here understands them. */
import { composed } from './same-text.ts'

/**
 * Small letters, in the order of the text. `signals_send`, `sendSignal` and `send signal` have the same
 * words, and a path has those of its folders and files. A single letter is none. Where no spaces are written
 * between words, every two characters that follow each other stand for one.
 */
export function wordsOf(text: string): string[] {
  const words = composed(text)
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word.length > 1)
  return UNSPACED.test(text) ? words.flatMap(pairsOf) : words
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

function pairsOf(word: string): string[] {
  if (!UNSPACED.test(word)) return [word]
  const characters = Array.from(word)
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`)
}
