/** What notices a planted bug: the runs that once did, and seeds. */
import os from 'node:os'
import { openPool } from './pool.ts'
import { REGRESSIONS, type Regression } from './regressions.ts'
import { stepsIn } from './shrink.ts'
import type { SimulationOptions, SimulationResult } from './simulate.ts'

/** Those of the runs that once broke by this bug, and do so no more. */
export async function staleRegressions(worker_file: string, bug: string): Promise<Regression[]> {
  const pool = openPool(worker_file, os.availableParallelism())
  const runs = REGRESSIONS.filter((one) => one.bug === bug)
  try {
    const results = await Promise.all(runs.map((run) => pool.run(optionsOf(run))))
    return runs.filter((_, at) => results[at]?.broken === null)
  } finally {
    await pool.close()
  }
}

function optionsOf({ seed, steps, only }: Regression): SimulationOptions {
  return { seed, steps, only: new Set(stepsIn(only)) }
}

interface Found extends SimulationResult {
  /** It is one of the runs that once did. */
  known: boolean
}

/** What breaks a promise first, of the runs that once did and of so many seeds; null where all hold. */
export async function findBroken(worker_file: string, seeds: number, steps: number): Promise<Found | null> {
  const pool = openPool(worker_file, os.availableParallelism())
  const runs = [
    ...REGRESSIONS.map((run) => ({ ...optionsOf(run), known: true })),
    ...Array.from({ length: seeds }, (_, before) => ({ seed: before + 1, steps, known: false })),
  ]
  let found: Found | null = null
  let next = 0
  const worker = async () => {
    for (let run = runs[next++]; run !== undefined && found === null; run = runs[next++]) {
      const { known, ...options } = run
      const result = await pool.run(options)
      if (result.broken !== null) found ??= { ...result, known }
    }
  }
  try {
    await Promise.all(Array.from({ length: os.availableParallelism() }, worker))
  } finally {
    await pool.close()
  }
  return found
}
