/** Randomness and the ids made from it. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** Cryptographically strong in the real one; seeded in a simulation. */
  bytes(count: number): Uint8Array
}

export interface Ids {
  /**
   * A ULID, strictly greater than every one made before it in this process, also when the clock steps
   * back and after `startAfter`.
   */
  next(): string
  /** Never make an id that sorts at or below this one: what a restarted hub owes its journal. */
  startAfter(id: string): void
}
