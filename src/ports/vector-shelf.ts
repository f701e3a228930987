/**
 * Where vectors are kept, so that a text need not be embedded again after a restart. All of it can be made
 * anew: what is missing, damaged or of no use is as good as nothing.
 */
export interface KeptVectors {
  /** Of which model they are. */
  model: string
  dimension: number
  entries: readonly KeptVector[]
}

export interface KeptVector {
  id: string
  /** Of the text that was embedded, to notice that it has changed. Null where nobody said. */
  digest: string | null
  vector: Float32Array
}

export interface VectorShelf {
  /**
   * Null where there are none that can be read. Never rejects. Directions are kept well, lengths may be off a little.
   */
  load(): Promise<KeptVectors | null>
  /** In place of all that was kept; whoever loads meanwhile, or after a crash, finds the old or the new. */
  save(vectors: KeptVectors): Promise<void>
}
