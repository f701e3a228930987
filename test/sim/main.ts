/** The `sim` command: runs simulations by seed, by count, or for a duration. */
import os from 'node:os'
import fs from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { commandOptions, needDirectory, SEEDS } from '../support/command/command-options.mjs'
import type { Ending } from '../support/command/ending.mjs'
import { addCounts, openKept, type Kept, type KeptResult } from './promises/kept.ts'
import { openPool, type Pool } from './pool.ts'
import { numbersIn, rangesOf } from './ranges.ts'
import { shrink } from './shrink.ts'
import type { SimulationOptions, SimulationResult } from './simulate.ts'
import type { Traced } from './tracer.ts'

const JOBS_MAX = 256
const HOURS_MAX = 10_000
const HELP = `usage: npm run sim -- [options]

  --seed N      the first seed (1)
  --seeds N     number of consecutive seeds (1)
  --steps N     steps of each run (2000)
  --hours H     run for this time, instead of --seeds
  --only LIST   run only these steps, such as 3,17-20
  --jobs N      threads, at most ${JOBS_MAX} (one for each core)
  --keep FILE   store the result of each seed; a killed run continues, or starts over if the code has changed
  --no-shrink   do not shorten a failing run
  --trace       print every step of a single run

Prints a line for each seed that breaks a promise, and the totals, also after Ctrl-C.
Exit 1 if a promise was broken, 2 for invalid arguments or if nothing was tried, 3 if the command itself failed.
`

/** Maximum number of runs made to shrink a failing run. */
const SHRINK_TRIES = 150
const PROGRESS_MS = 30_000

/** `threads` are the bundles of `worker.ts` and `tracer.ts`. Returns the exit code, as described in the help. */
export async function main(argv: string[], threads: Threads, ending: Ending): Promise<number> {
  const wanted = wantedIn(argv)
  if (wanted.trace) return trace(wanted, threads.tracer, ending)
  let kept: Kept
  try {
    kept = openKept(wanted.keep, threads.worker, wanted)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return 2
  }
  if (kept.forgotten)
    process.stderr.write(
      `--keep: what was found with other code counts no more, and everything is run anew${kept.set_aside ? `; what it broke stands in ${wanted.keep}.old` : ''}\n`,
    )
  const pool = openPool(threads.worker, wanted.jobs)
  try {
    return await many(wanted, pool, kept, ending)
  } finally {
    await pool.close()
  }
}

export interface Threads {
  worker: string
  tracer: string
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
}

/**
 * Throws unless `file` is a regular file or does not exist. The results replace the file, which would destroy a device
 * or a link.
 */
function needKeepable(file: string): void {
  needDirectory('keep', path.dirname(file))
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() === false)
    throw new Error(`--keep: ${file} is no file itself`)
}

function wantedIn(argv: string[]): Wanted {
  let only: ReadonlySet<number> | undefined
  const { values } = commandOptions(HELP, {
    argv,
    options: {
      seed: { type: 'string', default: '1' },
      seeds: { type: 'string' },
      steps: { type: 'string', default: '2000' },
      hours: { type: 'string' },
      only: { type: 'string' },
      jobs: { type: 'string' },
      keep: { type: 'string' },
      'no-shrink': { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
    },
    numbers: {
      ...{ seed: SEEDS, seeds: 1, steps: 1 },
      ...{ hours: { above: 0, most: HOURS_MAX }, jobs: { least: 1, most: JOBS_MAX } },
    },
    places: { script: 'sim', names: ['keep'] },
    check({ seed, seeds, steps, hours, trace, keep, jobs, 'no-shrink': unshrunk, only: said }) {
      if (hours !== undefined && seeds !== undefined)
        throw new Error('--hours takes seeds until so long is over: --seeds says something else')
      if (trace && (hours !== undefined || (seeds ?? 1) > 1 || keep !== undefined))
        throw new Error('--trace prints a single run: it goes with no --seeds, --hours or --keep')
      if (trace && (jobs !== undefined || unshrunk))
        throw new Error('--trace prints a single run as it is: it goes with no --jobs or --no-shrink')
      if (seed + (seeds ?? 1) - 1 > SEEDS.most)
        throw new Error(`--seed: there are not so many numbers behind ${seed}`)
      if (keep !== undefined) needKeepable(keep)
      only = said === undefined ? undefined : onlyIn(said, steps)
    },
  })
  return {
    seed: values.seed,
    seeds: values.hours === undefined ? (values.seeds ?? 1) : Infinity,
    steps: values.steps,
    until: values.hours === undefined ? Infinity : performance.now() + values.hours * 3_600_000,
    only,
    jobs: values.jobs ?? os.availableParallelism(),
    keep: values.keep,
    shrinks: !values['no-shrink'],
    trace: values.trace,
  }
}

function onlyIn(text: string, steps: number): ReadonlySet<number> {
  const only = new Set(numbersIn(text, steps))
  if (only.has(0)) throw new Error(`--only: the steps are 1-${steps}`)
  return only
}

/** Runs on a separate thread, because a simulation never yields to the real event loop and would not receive Ctrl-C. */
async function trace({ seed, steps, only }: Wanted, tracer_file: string, ending: Ending): Promise<number> {
  const tracer = new Worker(tracer_file, { workerData: { seed, steps, only } satisfies SimulationOptions })
  ending.onInterrupt(() => tracer.terminate())
  return new Promise((resolve, reject) => {
    tracer.on('error', reject)
    tracer.on('message', (traced: Traced) => {
      if ('step' in traced) {
        const { step, action, now } = traced
        const at = (now / 1000).toFixed(3).padStart(10)
        process.stdout.write(`${String(step).padStart(5)}  ${at} s  ${action}\n`)
      } else {
        const { broken, counts } = traced.result
        process.stdout.write(broken === null ? `${JSON.stringify(counts)}\n` : told(traced.result, only))
        resolve(broken === null ? 0 : 1)
      }
    })
  })
}

async function many(wanted: Wanted, pool: Pool, kept: Kept, ending: Ending): Promise<number> {
  const { seed: first, seeds, steps, only, jobs } = wanted
  const started = performance.now()
  const totals: Record<string, number> = {}
  let next = first
  let done = 0
  let steps_done = 0
  let failed = 0
  let said_at = started
  const isWanted = (seed: number) => seed >= first && seed < first + seeds
  const passed = [...kept.passed]
  const known = [...passed, ...kept.broken.keys()].filter(isWanted).length
  // The actions of some runs are unknown.
  const counts_all = passed.every(isWanted)
  if (counts_all) addCounts(totals, kept.counts)
  const uncounted = counts_all ? '' : ', and what was done in those that passed is not counted'
  if (known > 0) process.stderr.write(`${known} seeds are done already${uncounted}\n`)
  const worker = async () => {
    while (next < first + seeds && performance.now() < wanted.until) {
      const seed = next++
      if (kept.passed.has(seed)) {
        done += 1
        steps_done += only?.size ?? steps
        continue
      }
      const before = kept.broken.get(seed)
      const result: KeptResult = { ...(before ?? (await pool.run({ seed, steps, only }))) }
      done += 1
      steps_done += stepsOf(result, only)
      addCounts(totals, result.counts)
      if (result.broken !== null) {
        failed += 1
        process.stdout.write(told(result, only))
        if (wanted.shrinks) process.stdout.write((result.shrunk ??= await shorter(result, only, pool)))
      }
      if (before === undefined || result.shrunk !== before.shrunk) kept.add(result)
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
    process.stdout.write(`seeds ${done}, steps ${steps_done}, failed ${failed}, ${seconds} s\n`)
  }
  ending.onInterrupt(sayTotals)
  await Promise.all(Array.from({ length: jobs }, worker))
  sayTotals()
  if (done === 0) process.stderr.write('nothing was tried: the time was over before the first seed ended\n')
  return done === 0 ? 2 : failed === 0 ? 0 : 1
}

/** Returns the number of steps that ran. */
function stepsOf({ steps, broken }: SimulationResult, only: ReadonlySet<number> | undefined): number {
  const last = Math.min(broken?.step ?? steps, steps)
  return only === undefined ? last : [...only].filter((step) => step <= last).length
}

/** Formats the broken promise and the command that repeats the run. */
export function told(
  { seed, steps, broken }: SimulationResult,
  only: ReadonlySet<number> | undefined,
): string {
  if (broken === null) return ''
  const at =
    broken.step > steps ? ' after everything had healed' : broken.step === 0 ? '' : ` at step ${broken.step}`
  return `seed ${seed} broke a promise${at}\n  ${broken.detail}\n  ${commandOf(seed, steps, only)}\n`
}

function commandOf(seed: number, steps: number, only: Iterable<number> | undefined): string {
  const some = only === undefined ? '' : ` --only ${rangesOf([...only])}`
  return `npm run sim -- --seed ${seed} --steps ${steps}${some}`
}

/** Returns a command that produces the same failure with fewer steps. */
async function shorter(
  { seed, steps, broken }: SimulationResult,
  only: ReadonlySet<number> | undefined,
  pool: Pool,
): Promise<string> {
  const whole = Array.from({ length: steps }, (_, step) => step + 1).filter((step) => only?.has(step) ?? true)
  const needed = whole.filter((step) => step <= (broken?.step ?? 0))
  if (needed.length === 0) return ''
  const fails = async (some: readonly number[]) => {
    const again = await pool.run({ seed, steps, only: new Set(some) })
    return again.broken?.promise === broken?.promise
  }
  const kept = await shrink(needed, fails, SHRINK_TRIES)
  return `  shrunk to ${kept.length} steps: ${commandOf(seed, steps, kept)}\n`
}
