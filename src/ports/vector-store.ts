/**
 * Stores vectors, so that texts need not be embedded again after a restart. The vectors can be recomputed: missing or
 * damaged ones are ignored.
 */
export interface StoredVectors {
  /** Name of the model that computed them. */
  model: string
  dimension: number
  entries: readonly StoredVector[]
}

export interface StoredVector {
  id: string
  /** Digest of the embedded text, by which a change is noticed; null if unknown. */
  digest: string | null
  vector: Float32Array
}

export interface VectorStore {
  /** Returns null if no vectors can be read. Never rejects. Directions are precise, lengths may be slightly off. */
  load(): Promise<StoredVectors | null>
  /** Replaces all stored vectors. A concurrent load, or one after a crash, returns the old or the new ones. */
  save(vectors: StoredVectors): Promise<void>
}
