/** The command: simulations by seed, by number, or for hours. */
import os from 'node:os'
import { parseArgs } from 'node:util'
import { openKept, type Kept } from './kept.ts'
import { openPool, type Pool } from './pool.ts'
import { REGRESSIONS } from './regressions.ts'
import { shrink, spelled, stepsIn } from './shrink.ts'
import { simulate, type SimulationOptions, type SimulationResult } from './simulate.ts'

const HELP = `usage: npm run sim -- [options]

  --seed N      the first seed (1)
  --seeds N     how many, one after the other (1)
  --steps N     steps of each (2000)
  --hours H     seeds until so long is over, instead of --seeds
  --only LIST   of these steps alone, such as 3,17-20
  --jobs N      threads (as many as there are cores)
  --keep FILE   note each seed there; what was killed goes on where it was, unless the code is another
  --no-shrink   leave a failing run as long as it is
  --trace       print every step of a single run

Prints a line for each seed that breaks a promise, and what was done altogether.
Exit 1 when one did.
`

/** A failing run is shrunk with so many others at most. */
const SHRINK_TRIES = 150
const PROGRESS_MS = 30_000

const OPTIONS = {
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '1' },
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
export async function main(argv: string[], worker_file: string): Promise<number> {
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
  const pool = openPool(worker_file, wanted.jobs)
  try {
    return await many(wanted, pool, kept)
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
    if (!fits) throw new Error(`--${name}: ${JSON.stringify(text)} is no such number`)
    return value
  }
  const for_ms = values.hours === undefined ? null : number('hours', values.hours) * 3_600_000
  return {
    seed: number('seed', values.seed),
    seeds: for_ms === null ? number('seeds', values.seeds) : Infinity,
    steps: number('steps', values.steps),
    until: for_ms === null ? Infinity : performance.now() + for_ms,
    only: values.only === undefined ? undefined : new Set(stepsIn(values.only)),
    jobs: values.jobs === undefined ? os.availableParallelism() : number('jobs', values.jobs),
    keep: values.keep,
    shrinks: !values['no-shrink'],
    trace: values.trace,
    help: values.help,
  }
}

async function trace({ seed, steps, only }: Wanted): Promise<number> {
  const onStep = (step: number, action: string, now: number) =>
    process.stdout.write(
      `${String(step).padStart(5)}  ${(now / 1000).toFixed(3).padStart(10)} s  ${action}\n`,
    )
  const result = await simulate({ seed, steps, only, onStep })
  process.stdout.write(result.broken === null ? `${JSON.stringify(result.counts)}\n` : told(result))
  return result.broken === null ? 0 : 1
}

async function many(wanted: Wanted, pool: Pool, kept: Kept): Promise<number> {
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
        process.stdout.write(told(result))
        if (wanted.shrinks && before === undefined) process.stdout.write(await shorter(result, only, pool))
      }
      if (performance.now() - said_at > PROGRESS_MS) {
        said_at = performance.now()
        process.stderr.write(`${done} seeds, ${failed} failed\n`)
      }
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  const counted = Object.entries(totals).map(([name, count]) => `${name.replaceAll('_', ' ')} ${count}`)
  process.stdout.write(`${counted.join(', ')}\n`)
  process.stdout.write(`seeds ${done}, steps ${done * steps}, failed ${failed}, ${seconds} s\n`)
  return failed === 0 ? 0 : 1
}

function told({ seed, steps, broken }: SimulationResult): string {
  if (broken === null) return ''
  const at = broken.step > steps ? 'after everything had healed' : `at step ${broken.step}`
  return `seed ${seed} broke a promise ${at}\n  ${broken.detail}\n  npm run sim -- --seed ${seed} --steps ${steps}\n`
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
  return `  shrunk to ${kept.length} steps: npm run sim -- --seed ${seed} --steps ${steps} --only ${spelled(kept)}\n`
}

/** What breaks a promise first, of the runs that once did and of so many seeds; null where all hold. */
export async function findBroken(
  worker_file: string,
  seeds: number,
  steps: number,
): Promise<SimulationResult | null> {
  const pool = openPool(worker_file, os.availableParallelism())
  const runs: SimulationOptions[] = [
    ...REGRESSIONS.map((run) => ({ ...run, only: new Set(stepsIn(run.only)) })),
    ...Array.from({ length: seeds }, (_, before) => ({ seed: before + 1, steps })),
  ]
  let found: SimulationResult | null = null
  let next = 0
  const worker = async () => {
    for (let run = runs[next++]; run !== undefined && found === null; run = runs[next++]) {
      const result = await pool.run(run)
      if (result.broken !== null) found ??= result
    }
  }
  try {
    await Promise.all(Array.from({ length: os.availableParallelism() }, worker))
  } finally {
    await pool.close()
  }
  return found
}
