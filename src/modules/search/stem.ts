/**
 * Returns the same stem for the singular and the plural of an English word: `cache` and `caches`, `query` and `queries`,
 * `class` and `classes`. The stem need not be a word.
 */
export function stemOf(word: string): string {
  const one = singular(word)
  // Removing the s leaves an e in `classes` as in `caches`, which only the singular `cache` has.
  return one.length > 4 && one.endsWith('e') ? one.slice(0, -1) : one
}

function singular(word: string): string {
  if (word.length < 4 || !word.endsWith('s') || /[sui]s$/.test(word)) return word
  return word.length > 4 && word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.slice(0, -1)
}
