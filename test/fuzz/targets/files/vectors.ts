/** Fuzzes a file of vectors, which may come with a foreign repository. */
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { createSearch } from '../../../../src/modules/search/search.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import type { StoredVectors, VectorStore } from '../../../../src/ports/vector-store.ts'
import { createVectorFile } from '../../../../src/storage/file/project/vector-file.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { playedEmbedder, vectorOf } from '../../../support/fakes/fake-embedder.ts'
import { insist, type Target } from '../../target.ts'

const DOCS = [
  { id: 'a', title: 'log in', body: 'with a password', also: '' },
  { id: 'b', title: 'cache', body: '', also: '' },
]
const DIMENSION = vectorOf('').length

export const vectors: Target = {
  name: 'vectors',
  promise:
    'whatever stands in a file of vectors, a search gives each text a score from 0 to 1, and leaves a file that is whole',
  share: 0.3,
  words: [
    '"model":"played"',
    '"dimension":4',
    '"vector":[',
    '"digest":',
    '"entries":[\n',
    ']}\n',
    '1e39',
    '-0',
  ],

  async open({ directory }) {
    const file = path.join(directory, '.turnbell/embeddings/entry.index')
    const shelf = createVectorFile(directory, 'entry')
    const saved = async (kept: StoredVectors) => {
      await shelf.save(kept)
      return fs.readFileSync(file, 'utf8')
    }
    const entries = DOCS.map(({ id, title, body }) => ({
      id,
      digest: null,
      vector: vectorOf(`${title} ${body}`),
    }))
    const other = [{ id: 'a', digest: 'x', vector: Float32Array.of(1, 0) }]
    const seeds = [
      await saved({ model: 'another', dimension: DIMENSION, entries }),
      await saved({ model: 'played', dimension: 2, entries: other }),
      await saved({ model: 'played', dimension: DIMENSION, entries: [] }),
      await saved({ model: 'played', dimension: DIMENSION, entries }),
    ]
    await searched(shelf)
    return {
      seeds: [
        ...seeds,
        fs.readFileSync(file),
        '{"model":"played","dimension":4,"entries":[{"id":"a","vector":[1e39,0,0,0]},{"id":"z","vector":[0,0,0,0]}]}',
      ],
      async attempt(input) {
        fs.writeFileSync(file, input)
        const loaded = await shelf.load()
        if (loaded !== null) judge(loaded)
        const asked = await searched(shelf)
        const left = await shelf.load()
        insist(left !== null, () => 'afterwards there is no file of vectors')
        judge(left)
        const ids = [...new Set(left.entries.map(({ id }) => id))].sort()
        insist(
          left.model === 'played' && left.dimension === DIMENSION && isDeepStrictEqual(ids, ['a', 'b']),
          () => `afterwards there are ${ids.join()} of ${left.model}, ${left.dimension}`,
        )
        return `${loaded === null ? 'none' : Math.min(loaded.entries.length, 3)} ${asked}`
      },
    }
  },
}

/** Searches twice, and once more when all is embedded. Returns the number of requests to the model. */
async function searched(shelf: VectorStore): Promise<number> {
  const embedder = playedEmbedder()
  const search = createSearch<(typeof DOCS)[number]>({
    ...{ embedder, vectors: shelf, read: (row) => row, clock: fakeClock(), log: silentLog },
  })
  for (const query of ['password', 'redis']) {
    const { scores, degraded } = await search.rank(DOCS, query)
    insist(scores.size === DOCS.length && !degraded, () => `${scores.size} texts are found by what they mean`)
    for (const [id, score] of scores) insist(score >= 0 && score <= 1, () => `${id} fits by ${score}`)
    await search.settle()
  }
  await search.close()
  return embedder.asked.length
}

function judge({ model, dimension, entries }: StoredVectors): void {
  insist(typeof model === 'string', () => 'no model')
  insist(
    Number.isInteger(dimension) && dimension > 0 && dimension <= LIMITS.vector_dimension_max,
    () => `dimension ${dimension}`,
  )
  for (const { id, digest, vector } of entries) {
    insist(
      typeof id === 'string' && (digest === null || typeof digest === 'string'),
      () => 'an entry without an id',
    )
    insist(
      vector.length === dimension,
      () => `a vector of ${vector.length} numbers among those of ${dimension}`,
    )
  }
}
