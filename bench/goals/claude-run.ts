/** The time that `turnbell run` adds to a Claude Code that runs one prompt and exits. */
import { once } from 'node:events'
import { VERSION } from '../../src/system/version.ts'
import { claudeProgram, openClaudeWorld, type ClaudeWorld } from '../../test/support/clients/claude-world.ts'
import { clientVersion, missingRequirement } from '../claude-client.ts'
import { removedAtEnd } from '../processes.ts'
import { figure, interleave, leftOut, median, short, type Figure } from '../report/figures.ts'

const ROUNDS = 9
const ARGS = ['-p', 'hello']

/** Milliseconds. */
interface Run {
  /** From the start of the command to its exit. */
  whole: number
  /** From the model's only request to the exit. */
  exit: number
}

type Round = Record<'alone' | 'run', Run>

const WHAT = {
  exit: 'from the request of the model to the exit',
  whole: 'from the start of the command to the exit',
} as const

export async function claudeRun(): Promise<Figure[]> {
  const missing = missingRequirement()
  if (missing !== null) return [leftOut('claude-run-exit', 'ms', null, missing)]
  const world = await openClaudeWorld()
  const ended = removedAtEnd(() => world.kill())
  try {
    await world.startHub()
    await world.startDaemon()
    await world.connected()
    // The first run reads the client's program from the disk.
    await oneRun(world, true)
    const rounds = await interleave<Round>(ROUNDS, {
      alone: () => oneRun(world, false),
      run: () => oneRun(world, true),
    })
    return [figureOf('exit', rounds), figureOf('whole', rounds)]
  } finally {
    await world.close()
    ended()
  }
}

function figureOf(part: keyof typeof WHAT, rounds: readonly Round[]): Figure {
  const pairs = rounds.map(({ alone, run }) => ({ value: run[part], limit: alone[part] }))
  const added = pairs.map(({ value, limit }) => value - limit)
  const [lowest, highest] = [Math.min(...added), Math.max(...added)].map(short)
  return figure(`claude-run-${part}`, 'ms', null, pairs, ({ value, limit }) => [
    `\`turnbell run -- claude -p hello\`, ${WHAT[part]}`,
    'limit: `claude -p hello`',
    `adds ${short(value - limit)} ms, median of the rounds ${short(median(added))}, ${lowest} to ${highest}`,
    `Claude Code ${clientVersion()}, turnbell ${VERSION}, node ${process.version}`,
  ])
}

async function oneRun(world: ClaudeWorld, by_turnbell: boolean): Promise<Run> {
  world.model.shown.splice(0)
  const started = performance.now()
  const options = { stdio: 'ignore' } as const
  const child = by_turnbell ? world.run(ARGS, options) : world.spawn([claudeProgram(), ...ARGS], options)
  const [code] = (await once(child, 'exit')) as [number | null]
  const exited = performance.now()
  const asked = world.model.shown.filter(({ role }) => role === 'main').at(-1)
  if (code !== 0 || asked === undefined) throw new Error(`exit code ${code}\n${world.story()}`)
  return { whole: exited - started, exit: exited - asked.at }
}
