/** The real Claude Code with a broken inbox, without permission prompts, and with background subagents. */
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type ClaudeOptions,
  claudeProgram,
  type ClaudeWorld,
  inboxIs,
  openClaudeWorld,
} from '../support/clients/claude-world.ts'
import { PERSONA } from '../support/clients/client-world.ts'
import { expectOneBellPerTurn, turnsOf } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { HELD_INBOX, holdInbox } from '../support/clients/held-inbox.ts'
import { BIN } from '../support/processes/processes.ts'
import { scenesOf } from '../support/clients/scene.ts'
import { processAlive } from '../../src/system/process/process-info.ts'

beforeAll(() => void claudeProgram())

const DRAIN = 'mcp__plugin_turnbell_hub__signals_pending'
const open = scenesOf(
  {
    drain: DRAIN,
    shell: (command) => ({ name: 'Bash', input: { command, description: 'wait for the scene' } }),
  },
  // The module uses none of these paths.
  (options: ClaudeOptions = {}) => openClaudeWorld({ module: false, ...options }),
)
const MANUAL = ['--permission-mode', 'default', '--allowedTools', 'Bash']
/** A plain `claude` with the plugin, as in its settings. */
const plain = () => [
  claudeProgram(),
  '--plugin-dir',
  path.join(path.dirname(BIN), 'adapters/claude-code'),
  ...MANUAL,
]
const BYPASS = ['--permission-mode', 'bypassPermissions']

const said = (world: ClaudeWorld) => world.workerLog().map(({ msg }) => msg)
const shownTo = (world: ClaudeWorld) => world.model.shown.map(({ fresh }) => fresh).join('\n')
/** The waiter shells of all sessions of this home. */
function waiters(world: ClaudeWorld): number[] {
  const folder = path.join(world.directory, 'turnbell/run')
  return fs
    .readdirSync(folder)
    .filter((name) => name.endsWith('.waiter'))
    .map((name) => Number(fs.readFileSync(path.join(folder, name), 'utf8')))
    .filter((pid) => processAlive(pid) && isAtPipe(pid))
}

/** Excludes waiters that are starting or checking the previous waiter. */
function isAtPipe(pid: number): boolean {
  try {
    const asleep = /^State:\s+S/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))
    return asleep && fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8') === ''
  } catch {
    return false
  }
}

describe('Claude Code in a terminal, without an inbox,', () => {
  test('Claude Code without an inbox is woken by its waiter repeatedly', { tags: ['extended'] }, async () => {
    const world = await open({ env: inboxIs(null) })
    world.terminal(MANUAL)
    await world.turnIs('idle')
    await world.settled([await world.send('one')])
    await eventually('another waits', () => waiters(world).length === 1)
    await world.settled(await Promise.all(['2', '3'].map((payload) => world.send(payload))))
    expectOneBellPerTurn(world.model, ['one', '2', '3'])
    expect(shownTo(world)).not.toContain('Another Claude session')
  })

  test(
    'Claude Code without an inbox is woken by its waiter in a connected project',
    { tags: ['extended'] },
    async () => {
      const world = await open({ env: { ...inboxIs(null), TURNBELL_CONNECTED_PERSONA: PERSONA } })
      world.terminalOf(plain())
      await world.turnIs('idle')
      await world.settled([await world.send('one')])
      await world.settled([await world.send('two')])
      expectOneBellPerTurn(world.model, ['one', 'two'])
      expect(shownTo(world)).not.toContain('Another Claude session')
    },
  )

  test('Claude Code without an inbox is woken in the session after /clear, and keeps a draft', async () => {
    const world = await open({ env: inboxIs(null) })
    const terminal = world.terminal(MANUAL)
    await world.turnIs('idle')
    const before = (await world.status()).surface.session_id
    await world.settled([await world.send('before')])
    terminal.type('/clear')
    terminal.press('Enter')
    await eventually('the daemon knows the new session', async () => {
      return ![before, null].includes((await world.status()).surface.session_id)
    })
    terminal.type('a thought not yet finish')
    await terminal.shows(/❯\sa thought not yet finish/)
    await world.settled([await world.send('after')])
    await terminal.shows(/❯\sa thought not yet finish/)
    expectOneBellPerTurn(world.model, ['before', 'after'])
  })

  test('Claude Code without an inbox leaves no waiter when it is killed or exits', async () => {
    const world = await open()
    const first = world.terminal(MANUAL)
    await world.turnIs('idle')
    await eventually('one waits', () => waiters(world).length === 1)
    const { host_pid } = world.workerLog().at(-1) as unknown as { host_pid: number }
    process.kill(host_pid, 'SIGKILL')
    await eventually('the client is gone', () => !first.alive())
    await eventually('nothing waits', () => waiters(world).length === 0)
    const run = path.join(world.directory, 'turnbell/run')
    await eventually('nothing is left of it', () => fs.readdirSync(run).join() === 'local')
  })

  test('the waiter does not delay the exit of a run with one prompt', async () => {
    const world = await open()
    const child = world.run(['-p', 'say something'], { stdio: 'ignore' })
    const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
    expect(code).toBe(0)
    expect(waiters(world)).toEqual([])
  })
})

const extendedIf = (extended: boolean) => ({ tags: extended ? ['extended'] : [] })

describe.each([
  ['in a terminal', false],
  ['headless', true],
])('Claude Code %s', (_, headless) => {
  const begin = async (world: ClaudeWorld, args: readonly string[]) => {
    if (headless) world.headless(args)
    else world.terminal(args)
    await world.turnIs('idle')
  }

  test('Claude Code in bypassPermissions is rung', { tags: ['extended'] }, async () => {
    const world = await open()
    await begin(world, BYPASS)
    await world.settled([await world.send('one')])
    await world.settled(await Promise.all(['2', '3'].map((payload) => world.send(payload))))
    expectOneBellPerTurn(world.model, ['one', '2', '3'])
  })

  test(
    'Claude Code is rung while a background subagent works, which cannot drain',
    extendedIf(headless),
    async () => {
      const world = await open()
      const input = {
        description: 'd',
        prompt: 'take them',
        subagent_type: 'general-purpose',
        run_in_background: true,
      }
      world.model.next(/ask a helper/, { tools: [{ name: 'Agent', input }] })
      let goOn!: () => void
      const after = new Promise<void>((resolve) => (goOn = resolve))
      world.model.always(/take them/, { tools: [{ name: DRAIN, input: {} }], after }, 'sub')
      const session = headless ? world.headless(MANUAL) : null
      const terminal = headless ? null : world.terminal(MANUAL)
      await world.turnIs('idle')
      session?.say('ask a helper')
      terminal?.type('ask a helper')
      terminal?.press('Enter')
      await eventually('the helper works', () => world.model.shown.find(({ role }) => role === 'sub'), 30_000)
      await world.turnIs('idle')
      await world.settled([await world.send('for the main agent')])
      goOn()
      const refused = await eventually('the helper was refused', () =>
        world.model.shown.find(({ role, tool_results }) => role === 'sub' && tool_results.length > 0),
      )
      expect(refused.tool_results[0]).toMatch(/subagent/i)
      await world.asked(/task-notification/)
      await world.turnIs('idle')
      const turns = turnsOf(world.model)
      expect(turns.flatMap(({ drained }) => drained)).toEqual(['for the main agent'])
      expect(turns.flatMap(({ bells }) => bells)).toHaveLength(1)
    },
  )
})

test('Claude Code started by its own name before its daemon is rung when the daemon runs', async () => {
  // As with its settings: without a path of the worker's program and without a started daemon.
  const world = await open({ env: { TURNBELL_PERSONA: PERSONA } })
  await world.daemon.kill('SIGTERM')
  world.terminalOf(plain())
  await eventually('its worker runs', () => said(world).includes('worker started'))
  await world.startDaemon()
  await world.turnIs('idle')
  await world.connected()
  await world.settled([await world.send('one')])
  expectOneBellPerTurn(world.model, ['one'])
})

describe('an inbox that swallows every doorbell', () => {
  const SWALLOWS = { env: inboxIs('swallows.sock') }
  /** Reads everything and ignores it. */
  async function swallowAt(world: ClaudeWorld): Promise<string[]> {
    const taken: string[] = []
    const server = net.createServer((connection) => {
      connection.on('data', (chunk) => taken.push(chunk.toString()))
    })
    await new Promise<void>((resolve) => server.listen(path.join(world.directory, 'swallows.sock'), resolve))
    world.onClose(() => void server.close())
    return taken
  }

  test('a swallowing inbox loses one doorbell, and the next is delivered by the waiter', async () => {
    const world = await open(SWALLOWS)
    const taken = await swallowAt(world)
    world.terminal(MANUAL)
    await world.turnIs('idle')
    await eventually('one waits', () => waiters(world).length === 1)
    await world.settled([await world.send('one')])
    await eventually('another waits', () => waiters(world).length === 1)
    await world.settled([await world.send('two')])
    expectOneBellPerTurn(world.model, ['one', 'two'])
    expect(taken.join('').match(/\(bell /g)).toHaveLength(1)
    expect(world.workerLog()).toContainEqual(expect.objectContaining({ path: 'inbox', next: 'pipe' }))
  })

  test(
    'a swallowing inbox loses one doorbell, and the next is a prompt on stdin in a headless session',
    { tags: ['extended'] },
    async () => {
      const persona = { headless: true, project: '../project' }
      const world = await open({ ...SWALLOWS, persona })
      const taken = await swallowAt(world)
      await world.turnIs('idle')
      await world.settled([await world.send('one')])
      await world.settled([await world.send('two')])
      expectOneBellPerTurn(world.model, ['one', 'two'])
      expect(taken.join('').match(/\(bell /g)).toHaveLength(1)
    },
  )
})

describe.each([
  ['in a terminal', false],
  ['headless', true],
])('Claude Code %s, whose user begins a turn before it has read a doorbell,', (_, headless) => {
  /** A doorbell is posted; then the user begins a turn, and a second signal waits for its end. */
  async function turnBeforeBell() {
    const world = await open({ env: inboxIs(HELD_INBOX) })
    const inbox = await holdInbox(world)
    let answer!: () => void
    const after = new Promise<void>((resolve) => (answer = resolve))
    world.model.next(/hello there/, { text: 'Hello.', after })
    const session = headless ? world.headless(MANUAL) : null
    const terminal = headless ? null : world.terminal(MANUAL)
    await world.turnIs('idle')
    const first = await world.send('one')
    await inbox.posted()
    session?.say('hello there')
    terminal?.type('hello there')
    terminal?.press('Enter')
    await world.asked(/hello there/)
    const second = await world.send('two')
    await world.knows(2)
    return { world, inbox, answer, sent: [first, second] }
  }

  test(
    'Claude Code is shown no second doorbell while the first is in its queue',
    extendedIf(headless),
    async () => {
      const { world, inbox, answer, sent } = await turnBeforeBell()
      await inbox.passOn()
      answer()
      await world.settled(sent)
      const turns = expectOneBellPerTurn(world.model, ['one', 'two'])
      expect(turns.map(({ bells }) => bells.length)).toEqual([0, 1])
    },
  )

  test(
    'Claude Code is shown no second doorbell while it has not read the first',
    extendedIf(headless),
    async () => {
      const { world, inbox, answer, sent } = await turnBeforeBell()
      answer()
      await eventually('its turn has ended', () => world.workerLog().some(({ event }) => event === 'Stop'))
      await world.turnIs('idle')
      await inbox.passOn()
      await world.settled(sent)
      const turns = expectOneBellPerTurn(world.model, ['one', 'two'])
      expect(turns.map(({ bells }) => bells.length)).toEqual([0, 1])
    },
  )
})
