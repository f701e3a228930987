/** The command: records, tries every point, and says what was found. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { explore, type Failure, type Tried } from './explore.ts'
import { placeForFiles, recordStory } from './recorded.ts'
import { readStory } from './story.ts'

const FLAGS = {
  seed: { type: 'string', default: '1' },
  points: { type: 'string', default: 'all' },
  torn: { type: 'string', default: '2' },
  starts: { type: 'string', default: '8' },
  at: { type: 'string' },
  variant: { type: 'string' },
  from: { type: 'string' },
} as const

const SHOWN_FAILURES = 20
const SHOWN_CHARS = 400

/** `program`: the bundle of `recorded-process.ts`. */
export async function main(argv: string[], program: string): Promise<void> {
  const { values } = parseArgs({ args: argv, options: FLAGS })
  const seed = Number(values.seed)
  const directory = values.from ?? fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-crash-story-'))
  const root = values.from === undefined ? placeForFiles() : readStory(values.from).root
  try {
    const story =
      values.from === undefined ? await recordStory(program, directory, root) : readStory(values.from)
    fs.mkdirSync(root, { recursive: true, mode: 0o700 })
    const { at, variant } = values
    const calls = story.trace.calls.length
    const tried = await explore(story, {
      ...{ seed, torn: Number(values.torn) },
      wanted: at === undefined ? spread(calls, values.points, seed) : (one) => one === Number(at),
      starts: {
        ...{ program, trace: path.join(directory, 'start.jsonl') },
        wanted: at === undefined ? spread(calls, values.starts, seed) : (one) => one === Number(at),
      },
      ...(variant === undefined ? {} : { only: variant }),
    })
    console.log(summary(tried))
    for (const failure of tried.failures.slice(0, SHOWN_FAILURES))
      console.log(shown(failure, directory, seed))
    if (tried.failures.length > 0) process.exitCode = 1
    else if (values.from === undefined) fs.rmSync(directory, { recursive: true })
  } finally {
    fs.rmSync(root, { recursive: true, force: true })
  }
}

/** Evenly, beginning at a place of the seed's. */
function spread(calls: number, wanted: string, seed: number): (at: number) => boolean {
  if (wanted === 'all') return () => true
  const every = Math.floor(calls / Number(wanted))
  return (at) => Number(wanted) > 0 && at % every === seed % every
}

function summary({ points, starts, points_of_starts, states, different, failures }: Tried): string {
  const sum = Object.values(points).reduce((total, count) => total + count, 0)
  const kinds = Object.entries(points).map(([kind, count]) => `${kind} ${count}`)
  return [
    `points: ${sum} (${kinds.join(', ')})`,
    `points of ${starts} starts after a crash: ${points_of_starts}`,
    `states tried: ${states}, of them different ${different}`,
    `failures ${failures.length}`,
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
