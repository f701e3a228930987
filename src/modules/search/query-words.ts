/** Which of a query's words are worth looking for. */
import { wordsOf } from '../../contracts/words.ts'
import { stemOf } from './stem.ts'

export interface ChosenWords {
  words: readonly string[]
  /** Whether the word stands for longer ones that begin with it, too. */
  begins: (word: string) => boolean
  /** How many letters of the word may be wrong. */
  wrongLetters: (word: string) => number
  /** What a document scores that says the weightiest of them once, in a body of average length. */
  full: number
}

/** Whoever asks with more has said it by then. */
const QUERY_LENGTH_MAX = 4_096
const QUERY_WORDS_MAX = 64
/** A person types so few; each may be the beginning of another. */
const SHORT_QUERY_WORDS = 3
/** A query may cost so many occurrences of its words; its rarest is looked for whatever it costs. */
const OCCURRENCES_MAX = 4_000
/** A word in so many documents is found often enough without those that begin with it. */
const COMMON_WORD_DOCUMENTS = 500
/** Words that no document has: the longest were most likely meant to be one that some have. */
const UNKNOWN_WORDS_MAX = 3
/** Nobody repeats the whole text of a task: so many words make a full match. */
const FULL_MATCH_WORDS = 4
/** What BM25+ gives for one occurrence in a field of average length, with the parameters that minisearch has. */
const ONE_OCCURRENCE = 1.5

export function stemsOf(text: string): string[] {
  return wordsOf(text).map(stemOf)
}

/** Words that hold an English sentence together, and tell in a small project no text from another. */
const HOLDING = new Set(
  (
    'a an and are as at be been but by can did do does for from had has have how i if in into is it its of on or our ' +
    'so than that the their them then there these they this to was we were what when where which who why will with ' +
    'would you your'
  ).split(' '),
)

/** All of them where there are no others. */
function tellingWords(query: string): string[] {
  const words = wordsOf(query.slice(0, QUERY_LENGTH_MAX))
  const telling = words.filter((word) => !HOLDING.has(word))
  return (telling.length === 0 ? words : telling).map(stemOf)
}

/** `spread` says in how many of all `documents` a word is. */
export function chooseWords(
  query: string,
  spread: ReadonlyMap<string, number>,
  documents: number,
): ChosenWords {
  const words = [...new Set(tellingWords(query))].slice(0, QUERY_WORDS_MAX)
  const known = words.filter((word) => spread.has(word)).sort((a, b) => among(a) - among(b))
  const unknown = words.filter((word) => !spread.has(word)).sort((a, b) => b.length - a.length)

  function among(word: string): number {
    return spread.get(word) ?? 0
  }
  function weight(word: string): number {
    return Math.log(1 + (documents - among(word) + 0.5) / (among(word) + 0.5))
  }

  const chosen: string[] = []
  let occurrences = 0
  for (const word of known) {
    occurrences += among(word)
    if (chosen.length > 0 && occurrences > OCCURRENCES_MAX) break
    chosen.push(word)
  }
  // What nobody says counts against a short query only: in a long one most words are beside the point.
  const weightiest = [...chosen, ...unknown].slice(0, FULL_MATCH_WORDS)
  const short = words.length <= SHORT_QUERY_WORDS
  return {
    words: [...chosen, ...unknown.slice(0, UNKNOWN_WORDS_MAX)],
    begins: (word) => short && word.length > 2 && among(word) < COMMON_WORD_DOCUMENTS,
    wrongLetters(word) {
      if (spread.has(word) || word.length < 4) return 0
      return short && word.length > 5 ? 2 : 1
    },
    full: ONE_OCCURRENCE * weightiest.reduce((sum, word) => sum + weight(word), 0),
  }
}
