/** What notices a planted bug: the runs that once did, and seeds. */
import os from 'node:os'
import { openPool } from './pool.ts'
import { numbersIn } from './ranges.ts'
import { REGRESSIONS, type Regression } from './regressions.ts'
import type { SimulationOptions, SimulationResult } from './simulate.ts'

type Broken = NonNullable<SimulationResult['broken']>

export interface Found extends SimulationResult {
  /** It is one of the runs that once did. */
  known: boolean
}

export interface Search {
  /** Those of the runs that once broke by this bug, and do so no more. */
  findStale(bug: string): Promise<Regression[]>
  /**
   * What breaks a promise first, of the runs that once did and of these seeds; null where all hold. `counts` may pass over
   * some that are broken.
   */
  findBroken(
    seeds: Iterable<number>,
    steps: number,
    counts?: (broken: Broken) => boolean,
  ): Promise<Found | null>
  close(): Promise<void>
}

/** On as many threads as there are cores. */
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
