import type { Random } from '../../src/ports/random.ts'

/** The random choices of mutations. */
export class Dice {
  private readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  /** Returns a number from 0 to `below`, exclusive. */
  under(below: number): number {
    return Math.floor(this.random.next() * below)
  }

  /** Returns true with probability 1 / `times`. */
  once(times: number): boolean {
    return this.under(times) === 0
  }

  pick<T>(list: readonly T[]): T {
    return list[this.under(list.length)] as T
  }

  /** Returns a number below `below`; small ones are far more likely. */
  small(below: number): number {
    return Math.floor((below + 1) ** this.random.next()) - 1
  }
}
