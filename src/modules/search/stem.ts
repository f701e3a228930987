/**
 * One and many of an English word are the same word to a search: `cache` and `caches`, `query` and `queries`,
 * `class` and `classes`. What comes out need not be a word; it must come out the same for both.
 */
export function stemOf(word: string): string {
  const one = singular(word)
  // Of `classes` as of `caches` an e is left, which only one of them had before.
  return one.length > 4 && one.endsWith('e') ? one.slice(0, -1) : one
}

function singular(word: string): string {
  if (word.length < 4 || !word.endsWith('s') || /[sui]s$/.test(word)) return word
  return word.length > 4 && word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.slice(0, -1)
}
