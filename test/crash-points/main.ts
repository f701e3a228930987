/** The command: records, tries every point, and says what was found. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Failure, Tried } from './explore.ts'
import { placeForFiles, recordStory } from './recorded.ts'
import type { Outcome, Plan } from './slice.ts'
import { readStory } from './story.ts'

export interface Wanted {
  seed: number
  /** All, where it is left out. */
  points?: number
  torn: number
  starts: number
  /** Only this point, with this state, of the story recorded there. */
  at?: number
  variant?: string
  from?: string
}

/** The bundles of `recorded-process.ts` and `slice.ts`. */
export interface Programs {
  recorded: string
  slice: string
}

const POINTS_A_SLICE = 60
const SHOWN_FAILURES = 20
const SHOWN_CHARS = 400

export async function main(values: Wanted, programs: Programs): Promise<void> {
  const { seed } = values
  const directory = values.from ?? fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-crash-story-'))
  const root = values.from === undefined ? placeForFiles() : readStory(values.from).root
  try {
    if (values.from === undefined) await recordStory(programs.recorded, directory, root)
    fs.mkdirSync(root, { recursive: true, mode: 0o700 })
    const calls = readStory(directory).trace.calls.length
    const [points, starts] =
      values.at === undefined
        ? [spread(calls, values.points, seed), spread(calls, values.starts, seed)]
        : [[values.at], [values.at]]
    const { variant: only } = values
    const common = {
      ...{ program: programs.recorded, seed, torn: values.torn },
      ...(only === undefined ? {} : { only }),
    }
    const plans: Plan[] = slices(points).map((some) => ({ ...common, points: some, starts: [] }))
    for (const one of starts) plans.push({ ...common, points: [], starts: [one] })
    const tried: Tried[] = []
    // One after the other: all of them build their files in the place in which they were recorded.
    for (const plan of plans) tried.push(await explored(programs.slice, directory, plan))
    const failures = tried.flatMap((one) => one.failures)
    console.log(summary(tried))
    for (const failure of failures.slice(0, SHOWN_FAILURES)) console.log(shown(failure, directory, seed))
    if (failures.length > 0) process.exitCode = 1
    else if (values.from === undefined) fs.rmSync(directory, { recursive: true })
  } finally {
    fs.rmSync(root, { recursive: true, force: true })
  }
}

async function explored(program: string, directory: string, plan: Plan): Promise<Tried> {
  const child = fork(program, [directory, JSON.stringify(plan)])
  const exited = once(child, 'exit').then(([code, os_signal]) => {
    throw new Error(`a part of the run ended (${String(code ?? os_signal)})`)
  })
  const [outcome] = (await Promise.race([once(child, 'message'), exited])) as [Outcome]
  await exited.catch(() => undefined)
  return outcome
}

/** Evenly, beginning at a place of the seed's. */
function spread(calls: number, wanted: number | undefined, seed: number): number[] {
  const all = Array.from({ length: calls }, (_, index) => index + 1)
  if (wanted === undefined) return all
  if (wanted === 0) return []
  const every = Math.max(1, Math.floor(calls / wanted))
  return all.filter((at) => at % every === seed % every)
}

function slices(points: readonly number[]): number[][] {
  const some: number[][] = []
  for (let at = 0; at < points.length; at += POINTS_A_SLICE) some.push(points.slice(at, at + POINTS_A_SLICE))
  return some
}

/** Every part of the run has seen all calls, and tried its own. */
function summary(tried: readonly Tried[]): string {
  const points = tried[0]?.points ?? {}
  const total = (count: (one: Tried) => number) => tried.reduce((sum, one) => sum + count(one), 0)
  const all = Object.values(points).reduce((sum, count) => sum + count, 0)
  const kinds = Object.entries(points).map(([kind, count]) => `${kind} ${count}`)
  return [
    `points: ${all} (${kinds.join(', ')})`,
    `tried: ${total((one) => one.points_tried)}`,
    `points of ${total((one) => one.starts)} starts after a crash: ${total((one) => one.points_of_starts)}`,
    `states tried: ${total((one) => one.states)}, of them different ${total((one) => one.different)}`,
    `failures ${total((one) => one.failures.length)}`,
  ].join('; ')
}

function shown({ at, call, variant, wrong }: Failure, directory: string, seed: number): string {
  const again = `node test/crash-points/run.mjs --from ${directory} --seed ${seed} --at ${at} --variant ${variant}`
  const lines = wrong.map((one) => (one.length > SHOWN_CHARS ? `${one.slice(0, SHOWN_CHARS)} …` : one))
  return [
    `FAILED  point ${at}, ${variant}: ${call}`,
    ...lines.map((line) => `  ${line}`),
    `  again: ${again}`,
  ].join('\n')
}
