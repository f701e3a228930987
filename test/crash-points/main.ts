/** The `crash-points` command: records the workload, tries every point, and prints the results. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { itemsOf, partIn } from '../support/command/commit-part.mjs'
import type { Ending } from '../support/command/ending.mjs'
import { pointOf, type Failure, type Tried } from './explore.ts'
import { placeForFiles, recordStory } from './recorded.ts'
import type { Plan, SoFar } from './slice.ts'
import { isStory, readStory } from './story.ts'

export interface Wanted {
  seed: number
  /** Number of points; all by default. */
  points?: number
  /** Part of the points, such as `2/3`. */
  part?: string
  torn: number
  /** Default: `STARTS`. */
  starts?: number
  /** Tries only this point and state of the recorded story. */
  at?: number
  variant?: string
  from?: string
}

/** The command line to repeat a failure, and the bundles of `recorded-process.ts` and `slice.ts`. */
export interface Programs {
  command: string
  recorded: string
  slice: string
}

const STARTS = 8
const POINTS_A_SLICE = 60
const SHOWN_FAILURES = 20
const SHOWN_CHARS = 400

/** Returns the exit code: 0, 1 if a state was wrong, or 2 if there was nothing to try. */
export async function main(values: Wanted, programs: Programs, ending: Ending): Promise<number> {
  const { seed, at, variant } = values
  const from = values.from === undefined ? undefined : path.resolve(values.from)
  if (from !== undefined && !isStory(from)) return nothing(`--from: no story is recorded in ${from}`)
  const directory = from ?? ending.removes(fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-crash-story-')))
  const root = ending.removes(from === undefined ? placeForFiles() : readStory(from).root)
  const tried: Tried[] = []
  let recorded = from !== undefined
  const again = `${programs.command} --from ${directory} --seed ${seed} --torn ${values.torn}`
  const tellTried = () => tell(tried, directory, again, ending)
  ending.onInterrupt(() => {
    console.log(interruption(tried, recorded))
    if (tried.length > 0) tellTried()
  })
  if (!recorded) await ending.unlessInterrupted(recordStory(programs.recorded, directory, root, ending))
  recorded = true
  fs.mkdirSync(root, { recursive: true, mode: 0o700 })
  const all = readStory(directory).trace.calls.flatMap((call, index) =>
    pointOf(call) === null ? [] : [index + 1],
  )
  if (at !== undefined && !all.includes(at)) return nothing(noPoint(at, all))
  const [points, starts] =
    at === undefined
      ? [
          partOf(spread(all, values.points, seed), values.part),
          partOf(spread(all, values.starts ?? STARTS, seed), values.part),
        ]
      : [[at], [at]]
  const common = {
    ...{ program: programs.recorded, seed, torn: values.torn },
    ...(variant === undefined ? {} : { only: variant }),
  }
  const plans: Plan[] = slices(points).map((some) => ({ ...common, points: some, starts: [] }))
  for (const one of starts) plans.push({ ...common, points: [], starts: [one] })
  try {
    // Run one after another, because all of them build their files at the recorded path.
    for (const [index, plan] of plans.entries())
      await exploreApart(programs.slice, directory, plan, ending, (so_far) => void (tried[index] = so_far))
  } catch (error) {
    if (tried.length > 0) tellTried()
    ending.keeps(directory)
    process.stderr.write(`the story is kept: ${directory}\n`)
    throw error
  }
  if (tried.every(({ states }) => states === 0)) return nothing(noState(at, variant))
  return tellTried() === 0 ? 0 : 1
}

function nothing(why: string): number {
  process.stderr.write(`${why}\n`)
  return 2
}

function noPoint(at: number, all: readonly number[]): string {
  const next = all.find((one) => one > at) ?? all.at(-1)
  return `--at: nothing can be lost at call ${at}, of points from ${all[0]} to ${all.at(-1)}; one beside it is ${next}`
}

function noState(at: number | undefined, variant: string | undefined): string {
  if (at === undefined || variant === undefined) return 'nothing to try: there is no state of these points'
  return `--variant: no crash of point ${at} leaves ${variant}; they leave killed, power, torn-1 to torn-N, halfway where something is written, and one of them behind another as in killed+12/power`
}

function interruption(tried: readonly Tried[], recorded: boolean): string {
  if (tried.length > 0) return 'interrupted; so far:'
  return recorded
    ? 'interrupted before the first point was tried'
    : 'interrupted before all was recorded: nothing was tried'
}

/** Prints the results. Keeps the story if it failed, and returns the number of failures. */
function tell(tried: readonly Tried[], directory: string, again: string, ending: Ending): number {
  const failures = tried.flatMap((one) => one.failures)
  console.log(summary(tried))
  for (const failure of failures.slice(0, SHOWN_FAILURES)) console.log(shown(failure, again))
  if (failures.length > 0) ending.keeps(directory)
  return failures.length
}

/** Runs in a separate process. `onTried` is called repeatedly with the progress. */
async function exploreApart(
  program: string,
  directory: string,
  plan: Plan,
  ending: Ending,
  onTried: (tried: Tried) => void,
): Promise<void> {
  const child = fork(program, [directory, JSON.stringify(plan)], { execArgv: ['--enable-source-maps'] })
  // Not `exit`, which may precede the last messages.
  const gone = once(child, 'close')
  ending.onInterrupt(() => {
    child.kill('SIGKILL')
    return gone
  })
  let done = false
  child.on('message', ({ tried, whole }: SoFar) => {
    onTried(tried)
    done = whole
  })
  const [code, os_signal] = (await ending.unlessInterrupted(gone)) as [number | null, string | null]
  if (!done) throw new Error(`a part of the run ended (${code ?? os_signal})`)
}

/** Selects `wanted` points, evenly spread with an offset from the seed; all if undefined. */
function spread(all: readonly number[], wanted: number | undefined, seed: number): readonly number[] {
  if (wanted === undefined || wanted >= all.length) return all
  return Array.from(
    { length: wanted },
    (_, index) => all[(Math.floor((index * all.length) / wanted) + seed) % all.length] as number,
  )
}

function partOf(points: readonly number[], part: string | undefined): readonly number[] {
  return part === undefined ? points : itemsOf(points, partIn(part))
}

function slices(points: readonly number[]): number[][] {
  const some: number[][] = []
  for (let at = 0; at < points.length; at += POINTS_A_SLICE) some.push(points.slice(at, at + POINTS_A_SLICE))
  return some
}

/** Every part of the run has read all calls and tried its own points. */
function summary(tried: readonly Tried[]): string {
  const points = tried[0]?.points ?? {}
  const total = (count: (one: Tried) => number) => tried.reduce((sum, one) => sum + count(one), 0)
  const all = Object.values(points).reduce((sum, count) => sum + count, 0)
  const kinds = Object.entries(points).map(([kind, count]) => `${kind} ${count}`)
  return [
    `points: ${all} (${kinds.join(', ')})`,
    `tried: ${total((one) => one.points_tried)}`,
    `points of ${total((one) => one.starts)} starts after a crash: ${total((one) => one.points_of_starts)}`,
    `states tried: ${total((one) => one.states)}, with ${total((one) => one.recovered)} starts`,
    `failures ${total((one) => one.failures.length)}`,
  ].join('; ')
}

function shown({ at, call, variant, wrong }: Failure, again: string): string {
  const lines = wrong.map((one) => (one.length > SHOWN_CHARS ? `${one.slice(0, SHOWN_CHARS)} …` : one))
  return [
    `FAILED  point ${at}, ${variant}: ${call}`,
    ...lines.map((line) => `  ${line}`),
    `  again: ${again} --at ${at} --variant ${variant}`,
  ].join('\n')
}
