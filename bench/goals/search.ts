/**
 * Searching the shared memory: by keywords compared with a scan of all texts, and by vectors compared with one pass
 * over their bytes.
 */
import { createKeywordIndex } from '../../src/modules/search/keyword-index.ts'
import type { SearchDoc } from '../../src/modules/search/search-doc.ts'
import { createVectorIndex } from '../../src/modules/search/vector-index.ts'
import { text } from '../text.ts'
import { figure, interleave, median, short, type Figure, type Pair } from '../report/figures.ts'

const ROUNDS = 5
const QUERIES = 20
const TEXTS = 12_000
const TEXT_WORDS = 60
const QUERY_WORDS = [1, 15, 40]
const VECTORS = [1_000, 10_000]
const DIMENSION = 384

export async function search(): Promise<Figure[]> {
  const figures: Figure[] = []
  const docs = Array.from({ length: TEXTS }, (_, at) => docOf(String(at)))
  const index = createKeywordIndex<SearchDoc>({
    ...{ read: (doc) => doc, pause: () => new Promise<void>((resolved) => setImmediate(resolved)) },
  })
  const started = performance.now()
  await index.sync(docs)
  const built_ms = performance.now() - started
  for (const words of QUERY_WORDS) {
    const queries = Array.from({ length: QUERIES }, () => text(words))
    figures.push(
      figure(
        `search-${words}-words`,
        'ms',
        null,
        await rounds(
          () => queries.map((query) => timed(() => index.search(query))),
          () => queries.map((query) => timed(() => lookAtEvery(docs, query.split(' ')))),
        ),
        () => [
          `p50 of ${QUERIES} queries over ${TEXTS} texts of ${TEXT_WORDS} words, index built in ${short(built_ms)} ms`,
          'limit: asking every text whether it includes each of the words',
        ],
      ),
    )
  }
  for (const count of VECTORS) figures.push(await vectorFigure(count))
  return figures
}

async function vectorFigure(count: number): Promise<Figure> {
  const index = createVectorIndex(DIMENSION)
  for (let at = 0; at < count; at++) index.put(String(at), vector())
  const bytes = new Float32Array(count * DIMENSION).fill(1)
  const queries = Array.from({ length: QUERIES }, vector)
  const pairs = await rounds(
    () => queries.map((query) => timed(() => index.search(query))),
    () => queries.map(() => timed(() => sumOf(bytes))),
  )
  return figure(`search-${count}-vectors`, 'ms', null, pairs, () => [
    `p50 of ${QUERIES} queries over ${count} vectors of ${DIMENSION}, each compared`,
    'limit: adding up as many numbers',
  ])
}

function rounds(value: () => number[], limit: () => number[]): Promise<Pair[]> {
  return interleave<Pair>(ROUNDS, {
    value: () => Promise.resolve(median(value())),
    limit: () => Promise.resolve(median(limit())),
  })
}

function timed(work: () => unknown): number {
  const started = performance.now()
  work()
  return performance.now() - started
}

function lookAtEvery(docs: readonly SearchDoc[], words: readonly string[]): number {
  let found = 0
  for (const { title, body, also } of docs) {
    for (const word of words) if (title.includes(word) || body.includes(word) || also.includes(word)) found++
  }
  return found
}

function sumOf(numbers: Float32Array): number {
  let sum = 0
  for (let at = 0; at < numbers.length; at++) sum += numbers[at] ?? 0
  return sum
}

function vector(): Float32Array {
  return Float32Array.from({ length: DIMENSION }, () => Math.random() - 0.5)
}

function docOf(id: string): SearchDoc {
  return { id, title: text(10), body: text(TEXT_WORDS - 15), also: text(5) }
}
