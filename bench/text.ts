/** Texts as long as one likes, of words as a language has them. */

/** As language has them: the word at place n is said an n-th as often as the first one. */
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

/** The place, written in our own digits. */
function word(place: number): string {
  const rest = Math.floor(place / PARTS.length)
  return (rest > 0 ? word(rest) : '') + (PARTS[place % PARTS.length] ?? '')
}
