/** Searches for a run that detects a planted bug: the recorded runs first, then seeds. */
import os from 'node:os'
import { openPool } from './pool.ts'
import { numbersIn } from './ranges.ts'
import { REGRESSIONS, type Regression } from './regressions.ts'
import type { SimulationOptions, SimulationResult } from './simulate.ts'

type Broken = NonNullable<SimulationResult['broken']>

export interface Found extends SimulationResult {
  /** Whether it is one of the recorded runs. */
  known: boolean
}

export interface Search {
  /** Returns the recorded runs that this bug no longer breaks. */
  findStale(bug: string): Promise<Regression[]>
  /**
   * Returns the first broken promise of the recorded runs and of these seeds, or null if all hold. Failing seeds beyond
   * the first may be missing from `counts`.
   */
  findBroken(
    seeds: Iterable<number>,
    steps: number,
    counts?: (broken: Broken) => boolean,
  ): Promise<Found | null>
  close(): Promise<void>
}

/** Uses one thread for each core. */
export function openSearch(worker_file: string): Search {
  const threads = os.availableParallelism()
  const pool = openPool(worker_file, threads)

  return {
    async findStale(bug) {
      const runs = REGRESSIONS.filter((one) => one.bug === bug)
      const results = await Promise.all(runs.map((run) => pool.run(optionsOf(run))))
      return runs.filter((_, at) => results[at]?.broken === null)
    },
    async findBroken(seeds, steps, counts = () => true) {
      const runs = [
        ...REGRESSIONS.map((run) => ({ ...optionsOf(run), known: true })),
        ...Array.from(seeds, (seed) => ({ seed, steps, known: false })),
      ]
      let found: Found | null = null
      let next = 0
      const worker = async () => {
        for (let run = runs[next++]; run !== undefined && found === null; run = runs[next++]) {
          const { known, ...options } = run
          const result = await pool.run(options)
          if (result.broken !== null && counts(result.broken)) found ??= { ...result, known }
        }
      }
      await Promise.all(Array.from({ length: threads }, worker))
      return found
    },
    close: () => pool.close(),
  }
}

function optionsOf({ seed, steps, only }: Regression): SimulationOptions {
  return { seed, steps, only: new Set(numbersIn(only)) }
}
