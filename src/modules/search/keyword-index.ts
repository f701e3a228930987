/**
 * Finds documents by the words they share with a query: BM25+ over three fields, by minisearch.
 *
 * A query costs what its words' occurrences cost, about a microsecond each, and a task's text is full of
 * words that stand in every second document and tell them apart from nothing. So a query uses its rarest
 * words first and stops where it has cost enough. Longer words are looked for in a short query only, and
 * misspelt ones only for a word that no document has.
 */
import MiniSearch from 'minisearch'
import { chooseWords, stemsOf } from './query-words.ts'
import { createRowChanges } from './row-changes.ts'
import type { ReadDoc, SearchDoc } from './search-doc.ts'

export interface KeywordIndex<T extends object> {
  /**
   * Makes the index one of exactly these rows. Only the differences to the last time are read; after the
   * first time that is next to nothing. Several at once take place in their order.
   */
  sync(rows: readonly T[]): Promise<void>
  /**
   * How well each document fits, in (0, 1] and by its id; what does not fit at all is left out. Near 1 is a
   * document that says the query's four weightiest words, or all there are; one word of two gives some 0.6.
   */
  search(query: string): Map<string, number>
}

export interface KeywordIndexNeeds<T extends object> {
  read: ReadDoc<T>
  /** Lets others have the loop for a moment: taking in many rows is done in slices. */
  pause: () => Promise<void>
}

/** A summary is written to be found by; a body mentions many things. */
const BOOST = { title: 2, body: 1, also: 1.5 }

/** Characters that are taken in before others have the loop: some five milliseconds. */
const SLICE_CHARACTERS = 8_000

/** A document as it is indexed: the fields are their words already, with spaces between. */
interface Entry extends SearchDoc {
  number: number
}

function entryOf({ id, title, body, also }: SearchDoc, number: number): Entry {
  const [a, b, c] = [title, body, also].map((text) => stemsOf(text).join(' '))
  return { number, id, title: a ?? '', body: b ?? '', also: c ?? '' }
}

function distinctWords({ title, body, also }: Entry): Set<string> {
  return new Set([title, body, also].flatMap(split))
}

function split(text: string): string[] {
  return text === '' ? [] : text.split(' ')
}

export function createKeywordIndex<T extends object>(needs: KeywordIndexNeeds<T>): KeywordIndex<T> {
  const index = new MiniSearch<Entry>({
    ...{ fields: Object.keys(BOOST), idField: 'number', tokenize: split, processTerm: (word) => word },
  })
  const changesOf = createRowChanges<T>()
  const entries = new Map<T, Entry>()
  const ids = new Map<number, string>()
  /** In how many documents a word is. */
  const spread = new Map<string, number>()
  let next = 0
  let queue = Promise.resolve()

  function add(row: T): number {
    const entry = entryOf(needs.read(row), next++)
    entries.set(row, entry)
    ids.set(entry.number, entry.id)
    index.add(entry)
    for (const word of distinctWords(entry)) spread.set(word, (spread.get(word) ?? 0) + 1)
    return sizeOf(entry)
  }

  function remove(row: T): number {
    const entry = entries.get(row)
    if (entry === undefined) return 0
    entries.delete(row)
    ids.delete(entry.number)
    index.remove(entry)
    for (const word of distinctWords(entry)) {
      const left = (spread.get(word) ?? 1) - 1
      if (left > 0) spread.set(word, left)
      else spread.delete(word)
    }
    return sizeOf(entry)
  }

  async function inSlices(rows: readonly T[], change: (row: T) => number): Promise<void> {
    let characters = 0
    for (const row of rows) {
      characters += change(row)
      if (characters < SLICE_CHARACTERS) continue
      characters = 0
      await needs.pause()
    }
  }

  async function take(rows: readonly T[]): Promise<void> {
    const { added, removed } = changesOf(rows)
    await inSlices(removed, remove)
    await inSlices(added, add)
  }

  return {
    sync(rows) {
      const taken = queue.then(() => take(rows))
      queue = taken.catch(() => {})
      return taken
    },
    search(query) {
      const { words, begins, wrongLetters, full } = chooseWords(query, spread, ids.size)
      const scores = new Map<string, number>()
      index.search(words.join(' '), {
        boost: BOOST,
        prefix: begins,
        fuzzy: wrongLetters,
        // Each is taken as it comes, so that nothing has to be sorted.
        filter(found) {
          const id = ids.get(found.id as number)
          // minisearch multiplies by the number of words that were found, which makes too much of long queries.
          const share = found.score / Math.max(1, found.queryTerms.length) / full
          if (id !== undefined) scores.set(id, Math.max(scores.get(id) ?? 0, Math.tanh(1.5 * share)))
          return false
        },
      })
      return scores
    },
  }
}

function sizeOf({ title, body, also }: Entry): number {
  return title.length + body.length + also.length
}
