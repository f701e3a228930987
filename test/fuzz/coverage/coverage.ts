/**
 * Detects whether an input shows new behaviour: an edge that no earlier input has taken, or has not taken about as
 * often. Counts are grouped into eight buckets, like in AFL (M. Zalewski, "Technical whitepaper for afl-fuzz",
 * "Detecting new behaviors"): 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128 and more.
 */

/** The bucket of each byte count, as a bit. */
const STEPS = Uint8Array.from({ length: 256 }, (_, times) => {
  if (times === 0) return 0
  const least = [1, 2, 3, 4, 8, 16, 32, 128]
  return 1 << least.findLastIndex((from) => times >= from)
})

export class Coverage {
  private readonly counters: Uint8Array
  /** The counters read four at a time, because nearly all of them are zero after an input. */
  private readonly words: Uint32Array
  private readonly seen: Uint8Array
  /** Number of edges taken at least once. */
  ways = 0
  private readonly outcomes = new Set<string>()

  /** The counters of the bundle; their number is a multiple of four. */
  constructor(counters: Uint8Array) {
    this.counters = counters
    this.words = new Uint32Array(counters.buffer, counters.byteOffset, counters.length / 4)
    this.seen = new Uint8Array(counters.length)
  }

  clear(): void {
    this.words.fill(0)
  }

  /** Returns whether the input since `clear` showed new behaviour. */
  learn(outcome: string): boolean {
    const { words, counters, seen } = this
    let learnt = false
    for (let word = 0; word < words.length; word += 1) {
      if (words[word] === 0) continue
      for (let at = word * 4; at < word * 4 + 4; at += 1) {
        const step = STEPS[counters[at] as number] as number
        const before = seen[at] as number
        if ((before | step) === before) continue
        if (before === 0) this.ways += 1
        seen[at] = before | step
        learnt = true
      }
    }
    if (!this.outcomes.has(outcome) && this.outcomes.size < OUTCOMES_MAX) {
      this.outcomes.add(outcome)
      learnt = true
    }
    return learnt
  }
}

/** Maximum number of outcomes. A target with a new outcome for every input would otherwise keep every input. */
const OUTCOMES_MAX = 2_000
