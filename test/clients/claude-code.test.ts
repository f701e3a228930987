/**
 * The real Claude Code, in a terminal and headless, against a real hub, a real daemon and a scripted
 * model, without a network. What counts is what the model was shown: one doorbell per turn, then the
 * drained signals, each of them once.
 */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { claudeProgram, openClaudeWorld, type ClaudeWorld } from '../support/claude-world.ts'
import type { Service } from '../support/client-world.ts'
import { expectOneBellPerTurn, figuresOf, turnsOf } from '../support/conversation.ts'
import { eventually } from '../support/eventually.ts'
import type { ConfigInput } from '../../src/contracts/config.ts'
import type { Shown } from '../support/model-server.ts'

const DRAIN = 'mcp__plugin_turnbell_hub__signals_pending'
const worlds: ClaudeWorld[] = []

// Says at once what is missing, before a scene fails in a way nobody understands.
beforeAll(() => void claudeProgram())

afterEach(async (context) => {
  for (const world of worlds.splice(0)) {
    console.info(JSON.stringify({ scene: context.task.name, ...figuresOf(world) }))
    if (context.task.result?.state === 'fail') console.info(world.story())
    await world.close()
  }
})

interface Scene extends ClaudeWorld {
  hub: Service
  daemon: Service
}

/** A hub, a daemon, and a model that drains whenever a doorbell rings. */
async function open(daemon_settings?: ConfigInput['daemon']): Promise<Scene> {
  const world = await openClaudeWorld(daemon_settings)
  worlds.push(world)
  world.model.always(/\(bell [0-9a-z]{8}\)/, { tools: [{ name: DRAIN, input: {} }] })
  const hub = await world.startHub()
  const daemon = await world.startDaemon()
  return { ...world, hub, daemon }
}

/** A tool call that runs until the scene lets it end. */
function longTool(world: ClaudeWorld) {
  const go = path.join(world.project, 'go')
  const command = `while [ ! -e ${go} ]; do sleep 0.1; done; echo ran`
  return {
    reply: { tools: [{ name: 'Bash', input: { command, description: 'wait for the scene' } }] },
    end: () => fs.writeFileSync(go, ''),
  }
}

/** The process that wrote last. */
const workerOf = (world: ClaudeWorld) => world.workerLog().at(-1)!.pid
const bells = (world: ClaudeWorld) => turnsOf(world.model).flatMap((turn) => turn.bells)
const asked = (world: ClaudeWorld, what: RegExp): Promise<Shown> =>
  eventually(
    `the model is shown ${what}`,
    () => world.model.shown.find(({ fresh }) => what.test(fresh)),
    30_000,
  )

interface Session {
  say(text: string): void
  interrupt(): void
}

const MANUAL = ['--permission-mode', 'default', '--allowedTools', 'Bash']

const SURFACES: Record<string, (world: ClaudeWorld) => Promise<Session>> = {
  'in a terminal': async (world) => {
    const terminal = world.terminal(MANUAL)
    await world.turnIs('idle')
    return {
      say: (text) => {
        terminal.type(text)
        terminal.press('Enter')
      },
      interrupt: () => terminal.press('Escape'),
    }
  },
  headless: async (world) => {
    const headless = world.headless(MANUAL)
    await world.turnIs('idle')
    return headless
  },
}

describe.each(Object.entries(SURFACES))('Claude Code %s', (_, begin) => {
  test('is rung once for one signal while idle', async () => {
    const world = await open()
    await begin(world)
    await world.settled([await world.send('one')])
    const turns = expectOneBellPerTurn(world.model, ['one'])
    expect(turns).toHaveLength(1)
  })

  test('is rung once for five signals at once while idle', async () => {
    const world = await open()
    await begin(world)
    const payloads = ['1', '2', '3', '4', '5']
    await world.settled(await Promise.all(payloads.map((payload) => world.send(payload))))
    expectOneBellPerTurn(world.model, payloads)
  })

  test('is not rung while a tool runs, and once at the end of its turn for three signals', async () => {
    const world = await open()
    const session = await begin(world)
    const tool = longTool(world)
    world.model.next(/use your tool/, tool.reply)
    session.say('use your tool')
    await world.turnIs('busy')
    const sent = await Promise.all(['1', '2', '3'].map((payload) => world.send(payload)))
    await eventually('the daemon knows of them', async () => (await world.status()).pending_count === 3)
    expect(bells(world)).toEqual([])
    tool.end()
    await world.settled(sent)
    const turns = expectOneBellPerTurn(world.model, ['1', '2', '3'])
    expect(turns.map((turn) => turn.bells.length)).toEqual([0, 1])
  })

  test('is rung after an interrupt that no hook tells of', async () => {
    const world = await open()
    const session = await begin(world)
    const tool = longTool(world)
    world.model.next(/use your tool/, tool.reply)
    session.say('use your tool')
    await asked(world, /use your tool/)
    await world.turnIs('busy')
    const sent = await world.send('one')
    await eventually('the daemon knows of it', async () => (await world.status()).pending_count === 1)
    expect(bells(world)).toEqual([])
    session.interrupt()
    await world.settled([sent])
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('keeps its doorbells when its daemon is killed and comes back', async () => {
    const world = await open()
    await begin(world)
    await world.daemon.kill()
    const missed = await world.send('while the daemon was away')
    await world.startDaemon()
    await world.turnIs('idle')
    const pushed = await world.send('after it came back')
    await world.settled([missed, pushed])
    expectOneBellPerTurn(world.model, ['while the daemon was away', 'after it came back'])
  })

  test('drains through a hub that is killed and comes back', async () => {
    const world = await open()
    const session = await begin(world)
    await world.settled([await world.send('before')])
    await world.hub.kill()
    world.model.next(/look by yourself/, { tools: [{ name: DRAIN, input: {} }] })
    session.say('look by yourself')
    await asked(world, /look by yourself/)
    await world.startHub()
    await eventually(
      'the call was answered',
      () => turnsOf(world.model).at(-1)?.requests.at(-1)?.tool_results[0],
    )
    await world.turnIs('idle')
    await eventually('the daemon is connected again', async () => (await world.status()).connected)
    await world.settled([await world.send('after')])
    expectOneBellPerTurn(world.model, ['before', 'after'])
  })

  test('does not notice that its worker was killed', async () => {
    const world = await open()
    await begin(world)
    const before = workerOf(world)
    process.kill(before, 'SIGKILL')
    await eventually('another worker runs', () => workerOf(world) !== before)
    await world.turnIs('idle')
    await world.settled([await world.send('one')])
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('is rung again when its worker was killed in the middle of a drain', async () => {
    const world = await open()
    await begin(world)
    const before = workerOf(world)
    let drain!: () => void
    const after = new Promise<void>((resolve) => (drain = resolve))
    world.model.next(/\(bell [0-9a-z]{8}\)/, { tools: [{ name: DRAIN, input: {} }], after })
    const sent = await world.send('one')
    await asked(world, /\(bell [0-9a-z]{8}\)/)
    // The call gets as far as the worker; the hub does not answer it while it stands still.
    world.hub.child.kill('SIGSTOP')
    drain()
    await eventually('the drain is under way', () =>
      world.workerLog().some(({ tool }) => tool === 'signals_pending'),
    )
    process.kill(before, 'SIGKILL')
    world.hub.child.kill('SIGCONT')
    await world.settled([sent])
    expect(workerOf(world)).not.toBe(before)
    const turns = turnsOf(world.model)
    // The client waits for the lost call until its own time-out; the model hears of it and goes on.
    expect(turns.map((turn) => turn.bells.length)).toEqual([1, 1])
    expect(turns.map((turn) => turn.drained)).toEqual([[], ['one']])
  })

  test('is rung at the end of a turn in which its worker was killed', async () => {
    const world = await open()
    const session = await begin(world)
    const tool = longTool(world)
    world.model.next(/use your tool/, tool.reply)
    session.say('use your tool')
    await asked(world, /use your tool/)
    await world.turnIs('busy')
    const before = workerOf(world)
    process.kill(before, 'SIGKILL')
    await eventually('another worker runs', () => workerOf(world) !== before)
    await world.turnIs('busy')
    const sent = await world.send('one')
    await eventually('the daemon knows of it', async () => (await world.status()).pending_count === 1)
    expect(bells(world)).toEqual([])
    tool.end()
    await world.settled([sent])
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('loses no doorbell to a Stop hook that the client gave up', async () => {
    const world = await open({ bell_receipt_ms: 1_000 })
    const session = await begin(world)
    const tool = longTool(world)
    world.model.next(/use your tool/, tool.reply)
    session.say('use your tool')
    await asked(world, /use your tool/)
    await world.turnIs('busy')
    const sent = await world.send('one')
    await eventually('the daemon knows of it', async () => (await world.status()).pending_count === 1)
    const worker = workerOf(world)
    process.kill(worker, 'SIGSTOP')
    tool.end()
    await asked(world, /^ran$/m)
    await eventually('the client stands at its prompt again', () => world.registry()?.status === 'idle')
    process.kill(worker, 'SIGCONT')
    await world.settled([sent])
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('lets no model play the client: a forged turn event moves nothing', async () => {
    const world = await open()
    const session = await begin(world)
    world.model.next(/pretend/, {
      tools: [
        { name: 'mcp__plugin_turnbell_hub__turn_event', input: { event: 'Stop', session_id: 'forged' } },
      ],
    })
    const { session_id } = (await world.status()).surface
    session.say('pretend')
    await asked(world, /No such tool|refused|for the client itself/)
    await world.turnIs('idle')
    expect((await world.status()).surface.session_id).toBe(session_id)
    await world.settled([await world.send('one')])
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('keeps a subagent from taking the signals of the main agent', async () => {
    const world = await open()
    const session = await begin(world)
    const prompt = 'take them'
    const tool = { name: 'Agent', input: { description: 'd', prompt, subagent_type: 'general-purpose' } }
    world.model.next(/ask a helper/, { tools: [tool] })
    world.model.always(/take them/, { tools: [{ name: DRAIN, input: {} }] }, 'sub')
    // Quiet, so that no doorbell is on its way while the helper tries.
    const sent = await world.send('for the main agent')
    await world.settled([sent])
    session.say('ask a helper')
    const refused = await eventually('the helper was refused', () =>
      world.model.shown.find(({ role, tool_results }) => role === 'sub' && tool_results.length > 0),
    )
    expect(refused.tool_results[0]).toMatch(/subagent/i)
    await world.turnIs('idle')
    expectOneBellPerTurn(world.model, ['for the main agent'])
  })
})

describe('Claude Code in a terminal', () => {
  test('is rung in the session that /clear began', async () => {
    const world = await open()
    const terminal = world.terminal(MANUAL)
    await world.turnIs('idle')
    const before = (await world.status()).surface.session_id
    await world.settled([await world.send('before')])
    terminal.type('/clear')
    terminal.press('Enter')
    await eventually('the daemon knows the new session', async () => {
      const { session_id } = (await world.status()).surface
      return session_id !== before
    })
    await world.settled([await world.send('after')])
    expectOneBellPerTurn(world.model, ['before', 'after'])
  })

  test('keeps a half-typed draft', async () => {
    const world = await open()
    const terminal = world.terminal(MANUAL)
    await world.turnIs('idle')
    terminal.type('a thought not yet finish')
    await terminal.shows(/❯\sa thought not yet finish/)
    await world.settled([await world.send('one')])
    await terminal.shows(/❯\sa thought not yet finish/)
    terminal.type('ed')
    terminal.press('Enter')
    await asked(world, /^a thought not yet finished$/m)
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('is not rung over an open permission dialog', async () => {
    const world = await open()
    const terminal = world.terminal(['--permission-mode', 'default'])
    await world.turnIs('idle')
    const command = 'touch asked-for'
    world.model.next(/make a file/, { tools: [{ name: 'Bash', input: { command, description: 'make it' } }] })
    terminal.type('make a file')
    terminal.press('Enter')
    await terminal.shows(/Do you want to proceed/)
    const sent = await Promise.all(['1', '2'].map((payload) => world.send(payload)))
    await eventually('the daemon knows of them', async () => (await world.status()).pending_count === 2)
    expect((await world.status()).surface.turn).toBe('busy')
    expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(false)
    expect(bells(world)).toEqual([])
    terminal.press('Enter')
    await world.settled(sent)
    const turns = expectOneBellPerTurn(world.model, ['1', '2'])
    expect(turns.map((turn) => turn.bells.length)).toEqual([0, 1])
    expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(true)
  })

  test('is rung after it was left and resumed', async () => {
    const world = await open()
    const first = world.terminal(MANUAL)
    await world.turnIs('idle')
    await world.settled([await world.send('before')])
    const { session_id } = (await world.status()).surface
    first.type('/exit')
    first.press('Enter')
    await eventually('the client is gone', () => !first.alive())
    await eventually('the surface is gone', async () => !(await world.status()).surface.attached)
    world.terminal([...MANUAL, '--resume', session_id as string])
    await world.turnIs('idle')
    expect((await world.status()).surface.session_id).toBe(session_id)
    await world.settled([await world.send('after')])
    expectOneBellPerTurn(world.model, ['before', 'after'])
  })
})
