/** Chooses the words of a query to search for. */
import { tokenize } from '../../contracts/text/tokenize.ts'
import { stemOf } from './stem.ts'

export interface ChosenWords {
  words: readonly string[]
  /** Whether the word also matches longer words that begin with it. */
  isPrefix: (word: string) => boolean
  /** Maximum number of wrong letters in a match. */
  editDistance: (word: string) => number
  /** Score of a document that contains the most significant words once, in a body of average length. */
  full_score: number
}

/** Characters. */
const QUERY_LENGTH_MAX = 4_096
const QUERY_WORDS_MAX = 64
/** Up to this number of words, a query is taken as typed by a person, and its words also match as prefixes. */
const SHORT_QUERY_WORDS = 3
/** Maximum total occurrences of the searched words, except for the rarest word. */
const OCCURRENCES_MAX = 4_000
/** A word in this number of documents is not used as a prefix. */
const COMMON_WORD_DOCUMENTS = 500
/** Maximum number of words searched with misspellings; the longest are the most likely to be misspelled. */
const UNKNOWN_WORDS_MAX = 3
/** Number of significant words of a full match. */
const FULL_MATCH_WORDS = 4
/** BM25+ score of one occurrence in a field of average length, with the default parameters of minisearch. */
const ONE_OCCURRENCE = 1.5

export function stemsOf(text: string): string[] {
  return tokenize(text).map(stemOf)
}

/** English function words, which do not distinguish texts. */
const STOP_WORDS = new Set(
  (
    'a an and are as at be been but by can did do does for from had has have how i if in into is it its of on or our ' +
    'so than that the their them then there these they this to was we were what when where which who why will with ' +
    'would you your'
  ).split(' '),
)

/** Returns the words without stop words, or all words if there are no others. */
function significantWords(query: string): string[] {
  const words = tokenize(query.slice(0, QUERY_LENGTH_MAX))
  const significant = words.filter((word) => !STOP_WORDS.has(word))
  return (significant.length === 0 ? words : significant).map(stemOf)
}

/** `document_counts` contains the number of documents with each word, out of all `documents`. */
export function chooseWords(
  query: string,
  document_counts: ReadonlyMap<string, number>,
  documents: number,
): ChosenWords {
  const words = [...new Set(significantWords(query))].slice(0, QUERY_WORDS_MAX)
  const known = words.filter((word) => document_counts.has(word)).sort((a, b) => countOf(a) - countOf(b))
  const unknown = words.filter((word) => !document_counts.has(word)).sort((a, b) => b.length - a.length)

  function countOf(word: string): number {
    return document_counts.get(word) ?? 0
  }
  function weight(word: string): number {
    return Math.log(1 + (documents - countOf(word) + 0.5) / (countOf(word) + 0.5))
  }

  const chosen: string[] = []
  let occurrences = 0
  for (const word of known) {
    occurrences += countOf(word)
    if (chosen.length > 0 && occurrences > OCCURRENCES_MAX) break
    chosen.push(word)
  }
  // In a long query the chosen words fill the list, so unknown words lower the score of a short one only.
  const top_words = [...chosen, ...unknown].slice(0, FULL_MATCH_WORDS)
  const short = words.length <= SHORT_QUERY_WORDS
  return {
    words: [...chosen, ...unknown.slice(0, UNKNOWN_WORDS_MAX)],
    isPrefix: (word) => short && word.length > 2 && countOf(word) < COMMON_WORD_DOCUMENTS,
    editDistance(word) {
      if (document_counts.has(word) || word.length < 4) return 0
      return short && word.length > 5 ? 2 : 1
    },
    full_score: ONE_OCCURRENCE * top_words.reduce((sum, word) => sum + weight(word), 0),
  }
}
