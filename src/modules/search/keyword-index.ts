/**
 * Keyword search: BM25+ over three fields, by minisearch.
 *
 * Each occurrence of a query word costs about a microsecond, and the text of a task contains many common words that do
 * not distinguish documents. So a query uses its rarest words first, up to a maximum cost. Prefixes match only in a short
 * query, and misspellings only for a word that no document contains.
 */
import MiniSearch from 'minisearch'
import { chooseWords, stemsOf } from './query-words.ts'
import { createRowChanges } from './row-changes.ts'
import type { ReadDoc, SearchDoc } from './search-doc.ts'
import { createSerialQueue } from '../../ports/serial-queue.ts'

export interface KeywordIndex<T extends object> {
  /** Updates the index to these rows by their difference to the previous ones. Concurrent calls run in order. */
  sync(rows: readonly T[]): Promise<void>
  /**
   * Returns the score of each matching document by its id, in (0, 1]. A document with the four most significant words of
   * the query scores nearly 1; one with one word of two scores about 0.6.
   */
  search(query: string): Map<string, number>
}

export interface KeywordIndexDeps<T extends object> {
  read: ReadDoc<T>
  /** Yields to the event loop between slices of rows. */
  pause: () => Promise<void>
}

/** Weight of a match by field. */
const BOOST = { title: 2, body: 1, also: 1.5 }

/** Characters indexed between two yields to the event loop; takes about five milliseconds. */
const SLICE_CHARACTERS = 8_000

/** An indexed document; its fields contain stemmed words separated by spaces. */
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

export function createKeywordIndex<T extends object>(deps: KeywordIndexDeps<T>): KeywordIndex<T> {
  const index = new MiniSearch<Entry>({
    fields: Object.keys(BOOST),
    idField: 'number',
    tokenize: split,
    processTerm: (word) => word,
  })
  const changesOf = createRowChanges<T>()
  const entries = new Map<T, Entry>()
  const ids = new Map<number, string>()
  /** Number of documents that contain a word. */
  const document_counts = new Map<string, number>()
  let next = 0
  const enqueue = createSerialQueue()

  function add(row: T): number {
    const entry = entryOf(deps.read(row), next++)
    entries.set(row, entry)
    ids.set(entry.number, entry.id)
    index.add(entry)
    for (const word of distinctWords(entry)) document_counts.set(word, (document_counts.get(word) ?? 0) + 1)
    return sizeOf(entry)
  }

  function remove(row: T): number {
    const entry = entries.get(row)
    if (entry === undefined) return 0
    entries.delete(row)
    ids.delete(entry.number)
    index.remove(entry)
    for (const word of distinctWords(entry)) {
      const left = (document_counts.get(word) ?? 1) - 1
      if (left > 0) document_counts.set(word, left)
      else document_counts.delete(word)
    }
    return sizeOf(entry)
  }

  async function inSlices(rows: readonly T[], change: (row: T) => number): Promise<void> {
    let characters = 0
    for (const row of rows) {
      characters += change(row)
      if (characters < SLICE_CHARACTERS) continue
      characters = 0
      await deps.pause()
    }
  }

  async function update(rows: readonly T[]): Promise<void> {
    const { added, removed } = changesOf(rows)
    await inSlices(removed, remove)
    await inSlices(added, add)
  }

  return {
    sync: (rows) => enqueue(() => update(rows)),
    search(query) {
      const { words, isPrefix, editDistance, full_score } = chooseWords(query, document_counts, ids.size)
      const scores = new Map<string, number>()
      index.search(words.join(' '), {
        boost: BOOST,
        prefix: isPrefix,
        fuzzy: editDistance,
        // Scores are collected in the filter, so that minisearch has nothing to sort.
        filter(found) {
          const id = ids.get(found.id as number)
          // minisearch multiplies by the number of matched words, which overrates long queries.
          const share = found.score / Math.max(1, found.queryTerms.length) / full_score
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
