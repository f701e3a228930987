/** The additional time of a tool call in the real Claude Code, for each way in which turnbell can receive its events. */
import { VERSION } from '../../src/system/version.ts'
import { claudeProgram, openClaudeWorld, type ClaudeWorld } from '../../test/support/clients/claude-world.ts'
import { eventually } from '../../test/support/eventually.ts'
import { clientVersion, missingRequirement } from '../claude-client.ts'
import { removedAtEnd } from '../processes.ts'
import { figure, interleave, leftOut, median, short, type Figure } from '../report/figures.ts'

const ROUNDS = 5
const CALLS = 40
const TURN_MAX_MS = 120_000
const CALL = { name: 'Bash', input: { command: 'true', description: 'do nothing' } }

/** The hooks of a user that report every tool call to the worker, like the module does. */
const REPORTING_HOOKS = JSON.stringify({
  hooks: Object.fromEntries(
    ['PreToolUse', 'PostToolUse'].map((event) => [event, [{ hooks: [hook(event)] }]]),
  ),
})

interface Variant {
  what: string
  /** Whether the plugin uses its module; null without the plugin. */
  module: boolean | null
  settings?: string
  /** The events of `EVENTS` that the worker must receive, once for each call. */
  received: string[]
}

/** Events in the worker's log: of the module, and of hooks. */
const EVENTS = ['tool_started', 'tool_ended', 'PreToolUse', 'PostToolUse', 'PostToolBatch']

/** The plugin itself has a hook for the end of each batch of calls. */
const VARIANTS = {
  none: { what: 'no plugin', module: null, received: [] },
  module: {
    ...{ what: 'plugin with its module', module: true },
    received: ['tool_started', 'tool_ended', 'PostToolBatch'],
  },
  off: { what: 'plugin with `claude_code.module: false`', module: false, received: ['PostToolBatch'] },
  hooks: {
    what: 'plugin with `claude_code.module: false`, and `mcp_tool` hooks before and after every call',
    ...{ module: false, settings: REPORTING_HOOKS },
    received: ['PreToolUse', 'PostToolUse', 'PostToolBatch'],
  },
} satisfies Record<string, Variant>

const NAMES = {
  module: 'claude-events-module',
  off: 'claude-events-off',
  hooks: 'claude-events-hooks',
} as const
/** Milliseconds per tool call. */
type Round = Record<keyof typeof VARIANTS, number>

export async function claudeEvents(): Promise<Figure[]> {
  const missing = missingRequirement()
  if (missing !== null) return Object.values(NAMES).map((name) => leftOut(name, 'ms', null, missing))
  // The first run reads the client's program from the disk.
  await timeOfCall(VARIANTS.module)
  const rounds = await interleave<Round>(ROUNDS, {
    none: () => timeOfCall(VARIANTS.none),
    module: () => timeOfCall(VARIANTS.module),
    off: () => timeOfCall(VARIANTS.off),
    hooks: () => timeOfCall(VARIANTS.hooks),
  })
  return (['module', 'off', 'hooks'] as const).map((name) => figureOf(name, rounds))
}

function figureOf(name: keyof typeof NAMES, rounds: readonly Round[]): Figure {
  const pairs = rounds.map((round) => ({ value: round[name], limit: round.none }))
  const added = pairs.map(({ value, limit }) => value - limit)
  const [lowest, highest] = [Math.min(...added), Math.max(...added)].map(short)
  return figure(NAMES[name], 'ms', null, pairs, ({ value, limit }) => [
    `time from one request of the model to the next in a turn of ${CALLS} calls of Bash \`true\`, median: ${VARIANTS[name].what}`,
    `limit: ${VARIANTS.none.what}`,
    `adds ${short(value - limit)} ms a call, median of the rounds ${short(median(added))}, ${lowest} to ${highest}`,
    `Claude Code ${clientVersion()}, turnbell ${VERSION}, node ${process.version}`,
  ])
}

/** Runs one turn with `CALLS` tool calls in a new world. Returns the median time per call in milliseconds. */
async function timeOfCall(variant: Variant): Promise<number> {
  const world = await openClaudeWorld({ module: variant.module === true })
  const ended = removedAtEnd(() => world.kill())
  try {
    await world.startHub()
    await world.startDaemon()
    await world.connected()
    await runTurn(world, variant)
    if (variant.module !== null) await checkReceived(world, variant)
    return median(gaps(world))
  } catch (error) {
    throw new Error(`${variant.what}: ${(error as Error).message}\n${world.story()}`, { cause: error })
  } finally {
    await world.close()
    ended()
  }
}

/** Runs a session in a terminal, where the module can attach, and one turn after the session is reached. */
async function runTurn(world: ClaudeWorld, { module, settings }: Variant): Promise<void> {
  let asked = 0
  world.model.always(/(?:)/, () => (++asked <= CALLS ? { tools: [CALL] } : { text: 'Done.' }))
  const args = [
    ...['--permission-mode', 'default', '--allowedTools', 'Bash'],
    ...(settings === undefined ? [] : ['--settings', settings]),
  ]
  const terminal = module === null ? world.terminalOf([claudeProgram(), ...args]) : world.terminal(args)
  if (module !== null) {
    await world.turnIs('idle')
    await world.isReached(module ? 'module' : 'hooks: configured')
  }
  await terminal.shows(/❯/)
  terminal.type('Call the tool.')
  await terminal.shows(/❯\sCall the tool\./)
  terminal.press('Enter')
  await eventually('the turn has made its calls', () => asked > CALLS, TURN_MAX_MS)
}

/** Returns the times between the model's requests. The first is left out, because the client prepares its shell in it. */
function gaps(world: ClaudeWorld): number[] {
  const times = world.model.shown.filter(({ role }) => role === 'main').map(({ at }) => at)
  if (times.length !== CALLS + 1) throw new Error(`${times.length - 1} calls instead of ${CALLS}`)
  return times
    .slice(1)
    .map((at, index) => at - (times[index] as number))
    .slice(1)
}

async function checkReceived(world: ClaudeWorld, { received }: Variant): Promise<void> {
  const expected = EVENTS.map((event) => (received.includes(event) ? CALLS : 0)).join()
  await eventually(`the worker has received ${EVENTS.join()}: ${expected}`, () => {
    const logged = world.workerLog().map(({ event }) => event)
    const counts = EVENTS.map((event) => logged.filter((each) => each === event).length).join()
    return counts === expected ? true : Promise.reject(new Error(counts))
  })
}

function hook(event: string): object {
  return {
    ...{ type: 'mcp_tool', server: 'plugin:turnbell:hub', tool: 'turn_event', timeout: 5 },
    input: {
      event,
      session_id: '${session_id}',
      agent_id: '${agent_id}',
      prompt_id: '${prompt_id}',
      tool_name: '${tool_name}',
      tool_use_id: '${tool_use_id}',
    },
  }
}
