/** The command: simulations by seed, by number, or for hours. */
import os from 'node:os'
import { parseArgs } from 'node:util'
import type { Ending } from '../support/ending.mjs'
import { openKept, type Kept } from './kept.ts'
import { openPool, type Pool } from './pool.ts'
import { REGRESSIONS, type Regression } from './regressions.ts'
import { shrink, spelled, stepsIn } from './shrink.ts'
import { simulate, type SimulationOptions, type SimulationResult } from './simulate.ts'

const HELP = `usage: npm run sim -- [options]

  --seed N      the first seed (1)
  --seeds N     how many, each the next number (1)
  --steps N     steps of each (2000)
  --hours H     seeds until so long is over, instead of --seeds
  --only LIST   of these steps alone, such as 3,17-20
  --jobs N      threads (as many as there are cores)
  --keep FILE   note each seed there; what was killed goes on where it was, or begins anew if the code is another
  --no-shrink   leave a failing run as long as it is
  --trace       print every step of a single run

Prints a line for each seed that breaks a promise, and what was done altogether, after Ctrl-C as well.
Exit 1 when one did.
`

/** A failing run is shrunk with so many others at most. */
const SHRINK_TRIES = 150
const PROGRESS_MS = 30_000

const OPTIONS = {
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string' },
  steps: { type: 'string', default: '2000' },
  hours: { type: 'string' },
  only: { type: 'string' },
  jobs: { type: 'string' },
  keep: { type: 'string' },
  'no-shrink': { type: 'boolean', default: false },
  trace: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** Answers the exit code: 0, or 1 where a promise was broken; 2 for what was not understood. */
export async function main(argv: string[], worker_file: string, ending: Ending): Promise<number> {
  let wanted: Wanted
  let kept: Kept
  try {
    wanted = wantedIn(argv)
    kept = openKept(wanted.keep, worker_file, wanted)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
    return 2
  }
  if (wanted.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (wanted.trace) return trace(wanted)
  if (kept.forgotten > 0)
    process.stderr.write(`--keep: ${kept.forgotten} seeds were run with other code, and are run anew\n`)
  const pool = openPool(worker_file, wanted.jobs)
  try {
    return await many(wanted, pool, kept, ending)
  } finally {
    await pool.close()
  }
}

interface Wanted {
  seed: number
  seeds: number
  steps: number
  until: number
  only: ReadonlySet<number> | undefined
  jobs: number
  keep: string | undefined
  shrinks: boolean
  trace: boolean
  help: boolean
}

function wantedIn(argv: string[]): Wanted {
  const { values } = parseArgs({ args: argv, options: OPTIONS, strict: true })
  const number = (name: 'seed' | 'seeds' | 'steps' | 'jobs' | 'hours', text: string): number => {
    const value = Number(text)
    const fits =
      name === 'hours' ? value > 0 : Number.isSafeInteger(value) && value >= (name === 'seed' ? 0 : 1)
    if (!fits || text.trim() === '') throw new Error(`--${name}: ${JSON.stringify(text)} is no such number`)
    return value
  }
  const for_ms = values.hours === undefined ? null : number('hours', values.hours) * 3_600_000
  if (for_ms !== null && values.seeds !== undefined)
    throw new Error('--hours takes seeds until so long is over: --seeds says something else')
  const seeds = number('seeds', values.seeds ?? '1')
  if (values.trace && (for_ms !== null || seeds > 1 || values.keep !== undefined))
    throw new Error('--trace prints a single run: it goes with no --seeds, --hours or --keep')
  const steps = number('steps', values.steps)
  return {
    seed: number('seed', values.seed),
    seeds: for_ms === null ? seeds : Infinity,
    steps,
    until: for_ms === null ? Infinity : performance.now() + for_ms,
    only: values.only === undefined ? undefined : onlyIn(values.only, steps),
    jobs: values.jobs === undefined ? os.availableParallelism() : number('jobs', values.jobs),
    keep: values.keep,
    shrinks: !values['no-shrink'],
    trace: values.trace,
    help: values.help,
  }
}

function onlyIn(text: string, steps: number): ReadonlySet<number> {
  const only = stepsIn(text)
  if (!only.some((step) => step >= 1 && step <= steps))
    throw new Error(`--only: ${JSON.stringify(text)} is none of the steps 1-${steps}`)
  return new Set(only)
}

async function trace({ seed, steps, only }: Wanted): Promise<number> {
  const onStep = (step: number, action: string, now: number) =>
    process.stdout.write(
      `${String(step).padStart(5)}  ${(now / 1000).toFixed(3).padStart(10)} s  ${action}\n`,
    )
  const result = await simulate({ seed, steps, only, onStep })
  process.stdout.write(result.broken === null ? `${JSON.stringify(result.counts)}\n` : told(result, only))
  return result.broken === null ? 0 : 1
}

async function many(wanted: Wanted, pool: Pool, kept: Kept, ending: Ending): Promise<number> {
  const { seed: first, seeds, steps, only, jobs } = wanted
  const started = performance.now()
  const totals: Record<string, number> = {}
  let next = first
  let done = 0
  let failed = 0
  let said_at = started
  if (kept.results.size > 0) process.stderr.write(`${kept.results.size} seeds are done already\n`)
  const worker = async () => {
    while (next < first + seeds && performance.now() < wanted.until) {
      const seed = next++
      const before = kept.results.get(seed)
      const result = before ?? (await pool.run({ seed, steps, only }))
      if (before === undefined) kept.add(result)
      done += 1
      for (const [name, count] of Object.entries(result.counts)) totals[name] = (totals[name] ?? 0) + count
      if (result.broken !== null) {
        failed += 1
        process.stdout.write(told(result, only))
        if (wanted.shrinks && before === undefined) process.stdout.write(await shorter(result, only, pool))
      }
      if (performance.now() - said_at > PROGRESS_MS) {
        said_at = performance.now()
        process.stderr.write(`${done} seeds, ${failed} failed\n`)
      }
    }
  }
  const sayTotals = () => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0)
    const counted = Object.entries(totals).map(([name, count]) => `${name.replaceAll('_', ' ')} ${count}`)
    if (counted.length > 0) process.stdout.write(`${counted.join(', ')}\n`)
    process.stdout.write(`seeds ${done}, steps ${done * steps}, failed ${failed}, ${seconds} s\n`)
  }
  ending.onInterrupt(sayTotals)
  await Promise.all(Array.from({ length: jobs }, worker))
  sayTotals()
  return failed === 0 ? 0 : 1
}

/** What was broken, and the run in which it was, as a command. */
export function told(
  { seed, steps, broken }: SimulationResult,
  only: ReadonlySet<number> | undefined,
): string {
  if (broken === null) return ''
  const at = broken.step > steps ? 'after everything had healed' : `at step ${broken.step}`
  return `seed ${seed} broke a promise ${at}\n  ${broken.detail}\n  ${commandOf(seed, steps, only)}\n`
}

function commandOf(seed: number, steps: number, only: Iterable<number> | undefined): string {
  const some = only === undefined ? '' : ` --only ${spelled([...only])}`
  return `npm run sim -- --seed ${seed} --steps ${steps}${some}`
}

/** The same failure with fewer steps, as a command. */
async function shorter(
  { seed, steps, broken }: SimulationResult,
  only: ReadonlySet<number> | undefined,
  pool: Pool,
): Promise<string> {
  const whole = Array.from({ length: steps }, (_, step) => step + 1).filter((step) => only?.has(step) ?? true)
  const needed = whole.filter((step) => step <= (broken?.step ?? 0))
  const fails = async (some: readonly number[]) => {
    const again = await pool.run({ seed, steps, only: new Set(some) })
    return again.broken?.promise === broken?.promise
  }
  const kept = await shrink(needed, fails, SHRINK_TRIES)
  return `  shrunk to ${kept.length} steps: ${commandOf(seed, steps, kept)}\n`
}

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
