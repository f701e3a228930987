/** Randomness, and ids created from it. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** Cryptographically strong in production; seeded in a simulation. */
  bytes(count: number): Uint8Array
}

export interface Ids {
  /**
   * Returns a ULID, strictly greater than all earlier ones of this process, also when the clock steps back and
   * after `startAfter`.
   */
  next(): string
  /** Makes later ids sort above this one. A restarted hub calls it with the last id in its journal. */
  startAfter(id: string): void
}
