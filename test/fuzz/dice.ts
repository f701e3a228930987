import type { Random } from '../../src/ports/random.ts'

/** What mutations ask of chance. */
export class Dice {
  private readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  /** From 0 to `below`, which is left out. */
  under(below: number): number {
    return Math.floor(this.random.next() * below)
  }

  /** Once in so many times. */
  once(times: number): boolean {
    return this.under(times) === 0
  }

  pick<T>(list: readonly T[]): T {
    return list[this.under(list.length)] as T
  }

  /** Small ones far more often than large ones. */
  small(below: number): number {
    return Math.floor((below + 1) ** this.random.next()) - 1
  }
}
