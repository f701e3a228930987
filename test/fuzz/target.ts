/** What is fuzzed: one parser that faces the outside, and what it promises whatever comes. */
import type { Random } from '../../src/ports/random.ts'

export interface Target {
  name: string
  /** A sentence: what holds for every input. */
  promise: string
  /** How many of a hundred inputs over all targets are this one's, by what an input costs and what it may find. */
  share: number
  /** Inputs are never made longer. */
  bytes_max?: number
  /** Words of the protocol, beside those that stand in the seeds. */
  words?: readonly string[]
  /** A fresh world; one that an input broke is left, and another one opened. */
  open(start: Start): Opened | Promise<Opened>
}

export interface Start {
  random: Random
  /** An empty directory of its own. */
  directory: string
}

export interface Opened {
  /** Inputs to begin with: what the outside really says, and what a schema would take. */
  seeds: readonly (string | Uint8Array)[]
  /** As the seeds, but broken already: nobody takes them. */
  broken_seeds?: readonly (string | Uint8Array)[]
  /**
   * Throws, or rejects, where the promise is broken. What it answers names the kind of outcome: an input with one that
   * was not seen before is kept as one with new coverage is, so it must have few values.
   */
  attempt(input: Buffer): string | Promise<string>
  /** Inputs after which the world is opened anew, so that what it keeps stays small. */
  lasts?: number
  close?(): void | Promise<void>
}

/** Says that a promise is broken. */
export class Broken extends Error {
  override name = 'Broken'
}

export function insist(holds: boolean, what: () => string): asserts holds {
  if (!holds) throw new Broken(what())
}
