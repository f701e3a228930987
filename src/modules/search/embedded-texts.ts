/** Texts by id: those with a vector, and those that wait to be embedded. */
import { createHash } from 'node:crypto'
import type { StoredVectors } from '../../ports/vector-store.ts'
import type { SearchDoc } from './search-doc.ts'
import { createVectorIndex, type VectorIndex } from './vector-index.ts'

export interface MissingText {
  id: string
  text: string
  digest: string
}

export interface EmbeddedTexts {
  /** Adds a saved vector. */
  load(dimension: number, entry: StoredVectors['entries'][number]): void
  /** Adds a text; it is missing unless its vector was made of the same text. */
  add(doc: SearchDoc): void
  remove(id: string): void
  /** Drops all texts and vectors if the vectors have another dimension, and returns whether it did. */
  resetUnless(dimension: number): boolean
  /** Ids of texts with a vector. */
  ids(): string[]
  /** Ids of texts without a vector. */
  missing(): ReadonlySet<string>
  nextBatch(count: number): MissingText[]
  /** Stores the vectors of a batch, except for texts that changed or were removed while they were embedded. */
  store(batch: readonly MissingText[], vectors: readonly Float32Array[]): void
  search: (vector: Float32Array) => Map<string, number>
  /** Null without vectors. */
  snapshot(model: string): StoredVectors | null
}

/** `changed` is called whenever a vector was added or removed. */
export function createEmbeddedTexts(changed: () => void): EmbeddedTexts {
  let index: VectorIndex | null = null
  /** Digests of the texts with a vector; null if unknown. */
  const digests = new Map<string, string | null>()
  const missing = new Map<string, MissingText>()
  return {
    load(dimension, { id, digest, vector }) {
      index ??= createVectorIndex(dimension)
      index.put(id, vector)
      digests.set(id, digest)
    },
    add({ id, title, body }) {
      const text = `${title} ${body}`.trim()
      const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
      const existing = digests.get(id)
      // A vector with an unknown digest belongs to this id and is used.
      if (existing !== digest && existing !== null) return void missing.set(id, { id, text, digest })
      missing.delete(id)
      digests.set(id, digest)
    },
    remove(id) {
      missing.delete(id)
      if (!digests.delete(id)) return
      index?.remove(id)
      changed()
    },
    resetUnless(dimension) {
      if (index === null || index.dimension === dimension) return false
      index = null
      digests.clear()
      missing.clear()
      return true
    },
    ids: () => [...digests.keys()],
    missing: () => new Set(missing.keys()),
    nextBatch: (count) => [...missing.values()].slice(0, count),
    store(batch, vectors) {
      for (const [at, text] of batch.entries()) {
        const vector = vectors[at]
        if (vector === undefined || missing.get(text.id) !== text) continue
        missing.delete(text.id)
        digests.set(text.id, text.digest)
        index ??= createVectorIndex(vector.length)
        index.put(text.id, vector)
        changed()
      }
    },
    search: (vector) => (index?.dimension === vector.length ? index.search(vector) : new Map()),
    snapshot(model) {
      if (index === null) return null
      const entries = index
        .entries()
        .map(({ id, vector }) => ({ id, digest: digests.get(id) ?? null, vector }))
      return { model, dimension: index.dimension, entries }
    },
  }
}
