/** Words of options such as `--command`: one line that is split, or one word per option. */
import { TurnbellError } from '../../contracts/errors/errors.ts'

/** Collects a repeatable option. */
export const collect = (word: string, before: string[] = []): string[] => [...before, word]

/**
 * Splits a single value at blanks. Single and double quotes group words, and a backslash escapes the next character.
 * Several values are used as they are. No shell is involved, so `$`, `|`, `>` and `*` have no meaning.
 */
export function commandWords(given: readonly string[], flag = '--command'): string[] {
  const [line] = given
  const words = given.length === 1 && line !== undefined ? splitWords(line, flag) : [...given]
  if (words.length === 0 || words[0] === '') {
    throw new TurnbellError('usage_invalid', {
      detail: `${flag} names no program.`,
      hint: `Name one, such as ${flag} 'nightly-agent --once'.`,
    })
  }
  if (words.includes('')) {
    throw new TurnbellError('usage_invalid', {
      detail: `${flag} contains an empty word, which config.yaml does not allow.`,
      hint: 'Omit it, or pass it by a shell: --command sh --command -c --command "agent --flag \'\'".',
    })
  }
  return words
}

/** Splits words as POSIX sh does (section 2.2, quoting), without expansions. */
export function splitWords(line: string, flag = '--command'): string[] {
  const words: string[] = []
  let word: string | null = null
  let quote: '"' | "'" | null = null
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] as string
    if (quote === null && /\s/.test(character)) {
      if (word !== null) words.push(word)
      word = null
    } else if (quote === null && (character === '"' || character === "'")) {
      quote = character
      word ??= ''
    } else if (character === quote) {
      quote = null
    } else if (character === '\\' && quote !== "'" && escapes(line[at + 1], quote)) {
      at += 1
      word = (word ?? '') + (line[at] as string)
    } else {
      word = (word ?? '') + character
    }
  }
  if (quote !== null) {
    throw new TurnbellError('usage_invalid', {
      detail: `${flag} has an opening ${quote} without a closing one.`,
      hint: `Close the quote, or give ${flag} once for each word.`,
    })
  }
  if (word !== null) words.push(word)
  return words
}

/** In double quotes, a backslash escapes only a quote or a backslash. */
function escapes(next: string | undefined, quote: '"' | "'" | null): boolean {
  if (next === undefined) return false
  return quote === null || next === '"' || next === '\\'
}
