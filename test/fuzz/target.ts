/** A fuzz target: one parser that faces the outside, and its promise for every input. */
import type { Random } from '../../src/ports/random.ts'

export interface Target {
  name: string
  /** The promise as a sentence; it holds for every input. */
  promise: string
  /** Share of all inputs in percent, chosen by the cost of an input and the likelihood of findings. */
  share: number
  /** Maximum length of generated inputs. */
  bytes_max?: number
  /** Words of the protocol, in addition to those in the seeds. */
  words?: readonly string[]
  /** Opens a fresh world. A world broken by an input is dropped and replaced. */
  open(start: Start): Opened | Promise<Opened>
}

export interface Start {
  random: Random
  /** An empty directory for this world. */
  directory: string
}

export interface Opened {
  /** Initial inputs: real messages, and values that a schema accepts. */
  seeds: readonly (string | Uint8Array)[]
  /** Like `seeds`, but invalid. */
  broken_seeds?: readonly (string | Uint8Array)[]
  /**
   * Throws or rejects if the promise is broken. The returned text names the kind of outcome. An input with a new
   * outcome is kept like one with new coverage, so the number of outcomes must be small.
   */
  attempt(input: Buffer): string | Promise<string>
  /** Number of inputs after which the world is reopened, so that its state stays small. */
  lasts?: number
  close?(): void | Promise<void>
}

/** Error for a broken promise. */
export class Broken extends Error {
  override name = 'Broken'
}

export function insist(holds: boolean, what: () => string): asserts holds {
  if (!holds) throw new Broken(what())
}
