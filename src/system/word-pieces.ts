/**
 * Texts as the numbers that a BERT model reads: WordPiece, as J. Devlin et al., "BERT", 2018, and their
 * published code define it. Which rules hold is the model's to say; they must be the ones it was trained with.
 *
 * A name of a special piece in a text, `[SEP]`, is text here: what somebody writes shall not end a sentence.
 */

export interface PieceRules {
  /** Piece to number. */
  vocabulary: ReadonlyMap<string, number>
  lowercase: boolean
  strip_accents: boolean
  /** Each Chinese character is a word. */
  split_chinese: boolean
  /** Before a piece that continues a word. */
  continuing: string
  /** Longer words are unknown. */
  word_length_max: number
  unknown: string
  /** What stands before and after every text. */
  first: string
  last: string
  /** With both of those. */
  tokens_max: number
}

/** A text's numbers, at least the two that stand around it. */
export type Tokenize = (text: string) => number[]

/** @throws Error where the vocabulary lacks a special piece. */
export function createTokenizer(rules: PieceRules): Tokenize {
  const { vocabulary } = rules
  const numberOf = (piece: string) => {
    const number = vocabulary.get(piece)
    if (number === undefined) throw new Error(`the vocabulary has no ${piece}`)
    return number
  }
  const unknown = numberOf(rules.unknown)
  const first = numberOf(rules.first)
  const last = numberOf(rules.last)

  /** The longest known beginning, then the longest of the rest; or unknown as a whole. */
  function pieces(word: string): number[] {
    if (Array.from(word).length > rules.word_length_max) return [unknown]
    const found: number[] = []
    for (let start = 0; start < word.length;) {
      const prefix = start === 0 ? '' : rules.continuing
      let end = word.length
      while (end > start && !vocabulary.has(prefix + word.slice(start, end))) end--
      if (end === start) return [unknown]
      found.push(numberOf(prefix + word.slice(start, end)))
      start = end
    }
    return found
  }

  return (text) => {
    const numbers = [first]
    const room = rules.tokens_max - 2
    // A token is at least a character, and what is cut off anyway need not be looked at.
    for (const word of wordsOf(text.slice(0, room * CHARACTERS_PER_TOKEN_MAX), rules)) {
      numbers.push(...pieces(word))
      if (numbers.length > room) break
    }
    return [...numbers.slice(0, room + 1), last]
  }
}

/** Of text that people write it has some four, of one long word a hundred. */
const CHARACTERS_PER_TOKEN_MAX = 200

function wordsOf(text: string, rules: PieceRules): string[] {
  let plain = text.replace(CONTROL, '').replace(SPACE, ' ')
  if (rules.split_chinese) plain = plain.replace(CHINESE, ' $& ')
  if (rules.strip_accents) plain = plain.normalize('NFD').replace(/\p{Mn}/gu, '')
  if (rules.lowercase) plain = plain.toLowerCase()
  return plain.replace(PUNCTUATION, ' $& ').split(' ').filter(Boolean)
}

/** What only steers, and what could not be decoded. Tabs and line ends are space. */
const CONTROL = /(?![\t\n\r])[\p{C}\uFFFD]/gu
const SPACE = /[\t\n\r\p{Z}]/gu
/** Also what is a symbol to Unicode but stands on every keyboard: `$`, `+`, `=`, … */
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}]/gu
/** Not Hangul, Hiragana or Katakana: these are written with spaces, or are words by themselves. */
const CHINESE =
  /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B820}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu
