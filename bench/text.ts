/** Generates texts of any length, with the word frequencies of a language. */

/** Zipf's law: the n-th word is 1/n times as frequent as the first one. */
const VOCABULARY = 30_000
const PARTS = [
  'ba',
  'con',
  'di',
  'fu',
  'ge',
  'ha',
  'ki',
  'lo',
  'mu',
  'ne',
  'po',
  'ri',
  'sta',
  'ter',
  'ver',
  'xi',
]

export function text(words: number): string {
  return Array.from({ length: words }, () => word(Math.floor(VOCABULARY ** Math.random()))).join(' ')
}

/** Encodes the rank with letters. */
function word(place: number): string {
  const rest = Math.floor(place / PARTS.length)
  return (rest > 0 ? word(rest) : '') + (PARTS[place % PARTS.length] ?? '')
}
