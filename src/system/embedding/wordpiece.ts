/**
 * WordPiece tokenizer of BERT models, as defined by J. Devlin et al., "BERT", 2018, and their code. The model selects
 * the rules, which must be those of its training.
 *
 * The name of a special token in a text, such as `[SEP]`, is tokenized as text, so that a text cannot end its own
 * sentence.
 */

export interface PieceRules {
  /** Token to id. */
  vocabulary: ReadonlyMap<string, number>
  lowercase: boolean
  strip_accents: boolean
  /** Each Chinese character is a word. */
  split_chinese: boolean
  /** Prefix of a token that continues a word. */
  continuing: string
  /** Longer words are unknown. */
  word_length_max: number
  unknown: string
  /** Tokens added before and after every text. */
  first: string
  last: string
  /** Including those two. */
  tokens_max: number
}

/** Returns the ids of a text, including the two added tokens. */
export type Tokenize = (text: string) => number[]

/**
 * @throws Error if the vocabulary lacks a special token.
 */
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

  /** Greedy longest match; the whole word is unknown if any part is. */
  function pieces(word: string): number[] {
    if (Array.from(word).length > rules.word_length_max) return [unknown]
    const ids: number[] = []
    for (let start = 0; start < word.length;) {
      const prefix = start === 0 ? '' : rules.continuing
      let end = word.length
      while (end > start && !vocabulary.has(prefix + word.slice(start, end))) end--
      if (end === start) return [unknown]
      ids.push(numberOf(prefix + word.slice(start, end)))
      start = end
    }
    return ids
  }

  return (text) => {
    const numbers = [first]
    const room = rules.tokens_max - 2
    // Text beyond the limit is not tokenized: a token has at least one character.
    for (const word of splitWords(text.slice(0, room * CHARACTERS_PER_TOKEN_MAX), rules)) {
      numbers.push(...pieces(word))
      if (numbers.length > room) break
    }
    return [...numbers.slice(0, room + 1), last]
  }
}

/** Written text has about four, one long word can have a hundred. */
const CHARACTERS_PER_TOKEN_MAX = 200

function splitWords(text: string, rules: PieceRules): string[] {
  let plain = text.replace(CONTROL, '').replace(SPACE, ' ')
  if (rules.split_chinese) plain = plain.replace(CHINESE, ' $& ')
  if (rules.strip_accents) plain = plain.normalize('NFD').replace(/\p{Mn}/gu, '')
  if (rules.lowercase) plain = plain.toLowerCase()
  return plain.replace(PUNCTUATION, ' $& ').split(' ').filter(Boolean)
}

/** Control characters and replacement characters. Tabs and line ends are whitespace. */
const CONTROL = /(?![\t\n\r])[\p{C}\uFFFD]/gu
const SPACE = /[\t\n\r\p{Z}]/gu
/** Including ASCII symbols that Unicode does not class as punctuation: `$`, `+`, `=`, … */
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}]/gu
/** Without Hangul, Hiragana and Katakana, which have spaces or form words. */
const CHINESE =
  /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B820}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu
