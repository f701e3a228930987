/**
 * The real Claude Code, in a terminal and headless, with a real hub, a real daemon and a scripted
 * model, without a network. The assertions use what the model was shown: one doorbell per turn, then the
 * drained signals, each once.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  claudeProgram,
  openClaudeWorld,
  type ClaudeWorld,
  type Headless,
} from '../support/clients/claude-world.ts'
import { PERSONA } from '../support/clients/client-world.ts'
import { copiedPlugins } from '../support/clients/copied-plugins.ts'
import { expectOneBellPerTurn, turnsOf } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { BELL, scenesOf } from '../support/clients/scene.ts'
import { describeClient } from '../suites/client.suite.ts'
import { endures } from '../suites/clean-stops.ts'
import { isRungOnceWhileSlow } from '../suites/slow-client.ts'

const DRAIN = 'mcp__plugin_turnbell_hub__signals_pending'

// Reports missing programs at once, instead of an unclear failure in a scene.
beforeAll(() => void claudeProgram())

const open = scenesOf(
  {
    drain: DRAIN,
    shell: (command) => ({ name: 'Bash', input: { command, description: 'wait for the scene' } }),
  },
  openClaudeWorld,
)

/** The process of the last log line. */
const workerOf = (world: ClaudeWorld) => world.workerLog().at(-1)!.pid

interface Session {
  say(text: string): void
  interrupt(): void
  kill(): Promise<unknown>
}

const MANUAL = ['--permission-mode', 'default', '--allowedTools', 'Bash']

type Begin = (world: ClaudeWorld, args?: readonly string[]) => Promise<Session>

const SURFACES: Record<string, Begin> = {
  'in a terminal': async (world, args = []) => {
    const terminal = world.terminal([...MANUAL, ...args])
    await world.turnIs('idle')
    return {
      say: (text) => {
        terminal.type(text)
        terminal.press('Enter')
      },
      interrupt: () => terminal.press('Escape'),
      kill: () => terminal.kill(),
    }
  },
  headless: async (world, args = []) => {
    const headless = world.headless([...MANUAL, ...args])
    await world.turnIs('idle')
    return { ...headless, kill: () => killed(world, headless) }
  },
}

async function killed(world: ClaudeWorld, { exited }: Headless): Promise<unknown> {
  // Written a moment after the end of the turn.
  const pid = await eventually('its own record can be read', () => world.registry()?.pid)
  process.kill(pid, 'SIGKILL')
  return exited
}

/** The ways in which turns are reported and doorbells delivered. */
const WAYS = [
  { where: 'in a terminal', module: true, via: 'module', also: ['a client killed in its turn'] },
  {
    ...{ where: 'in a terminal', module: false, via: 'hooks: configured' },
    always: ['no bell while a tool runs', 'no bell in an interrupted turn'],
  },
  { where: 'headless', module: true, via: 'hooks: headless', always: ['no bell while a tool runs'] },
] as const

for (const { where, module, via, ...behaviours } of WAYS) {
  const beginSession = SURFACES[where] as Begin
  describeClient(`Claude Code ${where}, reached by ${via}`, {
    open: () => open({ module }),
    async begin(world) {
      const session = await beginSession(world)
      await world.isReached(via)
      return session
    },
    ...behaviours,
    dies_with_its_client: true,
    outlives_its_daemon: true,
    interrupt: (_, session) => session.interrupt(),
    rests_after_interrupt: true,
    reset: (_, session) => session.say('/clear'),
    async kill(world, session) {
      // The transcript is written a moment after the screen.
      await eventually('the session can be taken up again', () => world.transcript().includes('Done.'))
      await session.kill()
      await eventually('the surface is gone', async () => !(await world.status()).surface.attached)
    },
    resume: (world, session_id) => beginSession(world, ['--resume', session_id]),
  })
}

const inEitherWay = (begin: Begin) => {
  test('Claude Code continues after its worker was killed', { tags: ['extended'] }, async () => {
    const world = await open()
    await begin(world)
    const before = workerOf(world)
    process.kill(before, 'SIGKILL')
    await eventually('another worker runs', () => workerOf(world) !== before)
    await world.turnIs('idle')
    await world.settled([await world.send('one')])
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('Claude Code is rung again after its worker was killed during a drain', async () => {
    const world = await open()
    await begin(world)
    const before = workerOf(world)
    let drain!: () => void
    const after = new Promise<void>((resolve) => (drain = resolve))
    world.model.next(BELL, { tools: [{ name: DRAIN, input: {} }], after })
    const sent = await world.send('one')
    await world.asked(BELL)
    // The call reaches the worker; the suspended hub does not answer it.
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
    // The client waits for the lost call until its own timeout, reports it to the model and continues.
    expect(turns.map((turn) => turn.bells.length)).toEqual([1, 1])
    expect(turns.map((turn) => turn.drained)).toEqual([[], ['one']])
  })

  test('Claude Code is rung at the end of a turn in which its worker was killed', async () => {
    const world = await open()
    const session = await begin(world)
    const tool = world.longTool()
    world.model.next(/use your tool/, tool.reply)
    session.say('use your tool')
    await world.asked(/use your tool/)
    await world.turnIs('busy')
    const before = workerOf(world)
    process.kill(before, 'SIGKILL')
    await eventually('another worker runs', () => workerOf(world) !== before)
    await world.turnIs('busy')
    const sent = await world.send('one')
    await world.knows(1)
    expect(world.bells()).toEqual([])
    tool.end()
    await world.settled([sent])
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('an aborted Stop hook loses no doorbell', async () => {
    const world = await open()
    const session = await begin(world)
    const tool = world.longTool()
    world.model.next(/use your tool/, tool.reply)
    session.say('use your tool')
    await world.asked(/use your tool/)
    await world.turnIs('busy')
    const sent = await world.send('one')
    await world.knows(1)
    const worker = workerOf(world)
    process.kill(worker, 'SIGSTOP')
    tool.end()
    await world.asked(/^ran$/m)
    await eventually('the client stands at its prompt again', () => world.registry()?.status === 'idle')
    process.kill(worker, 'SIGCONT')
    await world.settled([sent])
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('a turn event forged by the model changes nothing', async () => {
    const world = await open()
    const session = await begin(world)
    world.model.next(/pretend/, {
      tools: [
        { name: 'mcp__plugin_turnbell_hub__turn_event', input: { event: 'Stop', session_id: 'forged' } },
      ],
    })
    const { session_id } = (await world.status()).surface
    session.say('pretend')
    await world.asked(/No such tool|refused|for the client itself/)
    await world.turnIs('idle')
    expect((await world.status()).surface.session_id).toBe(session_id)
    await world.settled([await world.send('one')])
    expectOneBellPerTurn(world.model, ['one'])
  })

  test("a subagent cannot drain the main agent's signals", async () => {
    const world = await open()
    const session = await begin(world)
    const prompt = 'take them'
    const tool = { name: 'Agent', input: { description: 'd', prompt, subagent_type: 'general-purpose' } }
    world.model.next(/ask a helper/, { tools: [tool] })
    world.model.always(/take them/, { tools: [{ name: DRAIN, input: {} }] }, 'sub')
    // A quiet signal, so that no doorbell is sent while the subagent tries.
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
}

for (const [where, begin] of Object.entries(SURFACES))
  describe(`Claude Code ${where}`, { tags: where === 'headless' ? ['extended'] : [] }, () =>
    inEitherWay(begin),
  )

describe('Claude Code in a terminal', () => {
  test("the last message of a subagent is posted to the project's memory, a compaction is not", async () => {
    const world = await open()
    const terminal = world.terminal(MANUAL)
    await world.turnIs('idle')
    const memory = path.join(world.project, '.turnbell')
    fs.mkdirSync(memory)
    const posts = () => {
      const file = path.join(memory, 'blackboard.jsonl')
      return fs.existsSync(file) ? (fs.readFileSync(file, 'utf8').match(/.+\n/g) ?? []) : []
    }
    const input = { description: 'd', prompt: 'look around', subagent_type: 'turnbell:turnbell-aware' }
    world.model.next(/ask a helper/, { tools: [{ name: 'Agent', input }] })
    world.model.always(/look around/, { text: 'Nothing is odd.' }, 'sub')
    terminal.type('ask a helper')
    terminal.press('Enter')
    await eventually('it is told of', () => posts().length > 0)
    const said = 'Subagent turnbell:turnbell-aware finished: Nothing is odd.'
    expect(JSON.parse(posts()[0])).toMatchObject({ entry_type: 'status', tags: ['subagent'], summary: said })
    const helper = world.model.shown.find(({ role }) => role === 'sub')
    expect(helper?.tools).toContain('mcp__plugin_turnbell_hub__decisions')
    await world.turnIs('idle')
    terminal.type('/compact')
    terminal.press('Enter')
    await terminal.shows(/ompacted/)
    await world.turnIs('idle')
    // Hooks are processed in order, so a post of the compaction would be earlier than this.
    world.model.next(/ask another/, { tools: [{ name: 'Agent', input }] })
    terminal.type('ask another')
    terminal.press('Enter')
    const asked = await world.asked(/ask another/)
    expect(asked.fresh).not.toMatch(/PreCompact.*\{\}/)
    await eventually('the other is told of', () => posts().length > 1)
    expect(posts().map((line) => (JSON.parse(line) as { summary: string }).summary)).toEqual([said, said])
  })

  test('signals drained in a turn that is interrupted with a queued prompt are drained again', async () => {
    const world = await open()
    const terminal = world.terminal(MANUAL)
    await world.turnIs('idle')
    const tool = world.longTool()
    world.model.next(BELL, { tools: [{ name: DRAIN, input: {} }, ...(tool.reply.tools ?? [])] })
    const hooks = (name: string) => world.workerLog().filter(({ event }) => event === name).length
    const sent = await world.send('one')
    await eventually('it was drained', () => hooks('PostToolUse') === 1)
    const prompts = hooks('UserPromptSubmit')
    terminal.type('and then this')
    await terminal.shows(/and then this/)
    terminal.press('Enter')
    await eventually('the prompt waits', () => hooks('UserPromptSubmit') > prompts)
    terminal.press('Escape')
    await world.asked(/and then this/)
    await world.settled([sent])
    const turns = turnsOf(world.model)
    expect(turns.map(({ bells }) => bells.length)).toEqual([1, 0, 1])
    expect(turns.at(-1)?.handOuts).toEqual(['one#2'])
  })

  test('a half-typed draft is kept', async () => {
    const world = await open()
    const terminal = world.terminal(MANUAL)
    await world.turnIs('idle')
    terminal.type('a thought not yet finish')
    await terminal.shows(/❯\sa thought not yet finish/)
    await world.settled([await world.send('one')])
    await terminal.shows(/❯\sa thought not yet finish/)
    terminal.type('ed')
    terminal.press('Enter')
    await world.asked(/^a thought not yet finished$/m)
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('Claude Code is not rung during an open permission dialog', async () => {
    const world = await open()
    const terminal = world.terminal(['--permission-mode', 'default'])
    await world.turnIs('idle')
    const command = 'touch asked-for'
    world.model.next(/make a file/, { tools: [{ name: 'Bash', input: { command, description: 'make it' } }] })
    terminal.type('make a file')
    terminal.press('Enter')
    await terminal.shows(/Do you want to proceed/)
    const sent = await Promise.all(['1', '2'].map((payload) => world.send(payload)))
    await world.knows(2)
    expect((await world.status()).surface.turn).toBe('busy')
    expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(false)
    expect(world.bells()).toEqual([])
    await terminal.answers(/Do you want to proceed/, 'Enter')
    await world.settled(sent)
    const turns = expectOneBellPerTurn(world.model, ['1', '2'])
    expect(turns.map((turn) => turn.bells.length)).toEqual([0, 1])
    expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(true)
  })

  test('Claude Code is rung after it was closed and resumed', async () => {
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

  test(
    'Claude Code is rung once while client and model are slow by 30 s',
    { tags: ['extended'] },
    async () => {
      const world = await open()
      world.terminal(MANUAL)
      await world.turnIs('idle')
      const { pid } = await eventually('its own record can be read', () => world.registry())
      await isRungOnceWhileSlow(world, pid)
    },
  )

  test(
    'Claude Code keeps its window through every clean stop of the hub and daemon, and is rung again afterwards',
    { tags: ['extended'] },
    async () => {
      const world = await open()
      const terminal = world.terminal(MANUAL)
      await world.turnIs('idle')
      await world.settled([await world.send('before')])
      await endures(world, {
        works: async (text) => {
          terminal.type(text)
          terminal.press('Enter')
          await terminal.shows(new RegExp(`answer to ${text}`))
        },
        leave: () => terminal.close(),
      })
    },
  )
})

describe('Claude Code whose module is no longer there', () => {
  test('a session whose module is unloaded is rung by its hooks', { tags: ['extended'] }, async () => {
    const world = await open({ module: true })
    const { program, unload } = copiedPlugins()
    const terminal = world.terminalOf([
      process.execPath,
      program,
      'run',
      '--persona',
      PERSONA,
      '--',
      ...MANUAL,
    ])
    await world.isReached('module')
    await world.turnIs('idle')
    await world.settled([await world.send('one')])
    unload()
    await terminal.shows(/turnbell: reloaded/)
    const sent = await Promise.all(['two', 'three'].map((payload) => world.send(payload)))
    await world.settled(sent)
    await world.isReached('hooks: silent')
    await world.settled([await world.send('four')])
    const turns = expectOneBellPerTurn(world.model, ['one', 'two', 'three', 'four'])
    expect(turns.map(({ bells }) => bells.length)).toEqual([1, 1, 1])
  })
})

describe("Claude Code under an organisation's settings", () => {
  const GUARD = 'cc-plugin-sec-default@builtin'
  const FORBIDDEN = { pluginConfigs: { [GUARD]: { options: { allowManagedModsOnly: true } } } }

  test.skipIf(process.getuid?.() !== 0)(
    'a session whose module is forbidden is rung by its hooks',
    async () => {
      const world = await open({ module: true, managed: FORBIDDEN })
      world.terminal(MANUAL)
      await world.turnIs('idle')
      await world.isReached('hooks: never attached')
      await world.settled([await world.send('one')])
      expectOneBellPerTurn(world.model, ['one'])
    },
  )

  test.skipIf(process.getuid?.() !== 0)(
    'a session with another managed setting is rung by its module',
    { tags: ['extended'] },
    async () => {
      const world = await open({ module: true, managed: { strictKnownMarketplaces: [] } })
      world.terminal(MANUAL)
      await world.isReached('module')
      await world.settled([await world.send('one')])
      expectOneBellPerTurn(world.model, ['one'])
    },
  )
})
