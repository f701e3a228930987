/** Tokenizer of all searches. */
import { toNfc } from './same-text.ts'

/**
 * Returns the words in lower case, in the order of the text. `signals_send`, `sendSignal` and `send signal` have the
 * same words; a path has those of its folders and files. Single letters are skipped. In scripts without spaces, each
 * pair of adjacent characters is a word.
 */
export function tokenize(text: string): string[] {
  const words = toNfc(text)
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
