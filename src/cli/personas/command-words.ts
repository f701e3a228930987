/** What `--command` and its like say: one line to be split, or one word each time it is given. */
import { TurnbellError } from '../../contracts/errors.ts'

/** Collects a repeatable option. */
export const collect = (word: string, before: string[] = []): string[] => [...before, word]

/**
 * Given once, it is a line and is split at blanks; single and double quotes keep blanks together, a
 * backslash keeps the next character. Given several times, every word stands as it is. No shell ever
 * sees it: `$`, `|`, `>` and `*` mean nothing.
 */
export function commandWords(given: readonly string[], flag = '--command'): string[] {
  const [line] = given
  const words = given.length === 1 && line !== undefined ? splitWords(line, flag) : [...given]
  if (words.length === 0 || words[0] === '') {
    throw new TurnbellError('usage_invalid', {
      detail: `${flag} names no program.`,
      hint: `As in ${flag} 'nightly-agent --once'.`,
    })
  }
  if (words.includes('')) {
    throw new TurnbellError('usage_invalid', {
      detail: `${flag} has a word without a letter, which config.yaml cannot hold.`,
      hint: 'Leave it out, or let a shell say it: --command sh --command -c --command "agent --flag \'\'".',
    })
  }
  return words
}

/** Word splitting as in POSIX sh, section 2.2 (quoting), without expansions. */
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

/** Inside double quotes a backslash is only special before what it could protect. */
function escapes(next: string | undefined, quote: '"' | "'" | null): boolean {
  if (next === undefined) return false
  return quote === null || next === '"' || next === '\\'
}
