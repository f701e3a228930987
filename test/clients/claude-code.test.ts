/**
 * The real Claude Code, in a terminal and headless, against a real hub, a real daemon and a scripted
 * model, without a network. What counts is what the model was shown: one doorbell per turn, then the
 * drained signals, each of them once.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { claudeProgram, openClaudeWorld, type ClaudeWorld, type Headless } from '../support/claude-world.ts'
import { expectOneBellPerTurn, turnsOf } from '../support/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { BELL, scenesOf } from '../support/scene.ts'
import { describeClient } from '../suites/client.suite.ts'
import { endures } from '../suites/clean-stops.ts'
import { isRungOnceWhileSlow } from '../suites/slow-client.ts'

const DRAIN = 'mcp__plugin_turnbell_hub__signals_pending'

// Says at once what is missing, before a scene fails in a way nobody understands.
beforeAll(() => void claudeProgram())

const open = scenesOf(
  {
    drain: DRAIN,
    shell: (command) => ({ name: 'Bash', input: { command, description: 'wait for the scene' } }),
  },
  openClaudeWorld,
)

/** The process that wrote last. */
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
  // It is written a moment after the turn's end, and not at once.
  const pid = await eventually('its own record can be read', () => world.registry()?.pid)
  process.kill(pid, 'SIGKILL')
  return exited
}

for (const [where, begin] of Object.entries(SURFACES))
  describeClient(`Claude Code ${where}`, {
    open,
    begin,
    ...(where === 'headless'
      ? { always: ['no bell while a tool runs'] as const }
      : { also: ['a client killed in its turn'] as const }),
    dies_with_its_client: true,
    outlives_its_daemon: true,
    interrupt: (_, session) => session.interrupt(),
    rests_after_interrupt: true,
    reset: (_, session) => session.say('/clear'),
    async kill(world, session) {
      // It writes down what was said a moment after it showed it.
      await eventually('the session can be taken up again', () => world.transcript().includes('Done.'))
      await session.kill()
      await eventually('the surface is gone', async () => !(await world.status()).surface.attached)
    },
    resume: (world, session_id) => begin(world, ['--resume', session_id]),
  })

const inEitherWay = (begin: Begin) => {
  test('does not notice that its worker was killed', { tags: ['extended'] }, async () => {
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
    world.model.next(BELL, { tools: [{ name: DRAIN, input: {} }], after })
    const sent = await world.send('one')
    await world.asked(BELL)
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

  test('loses no doorbell to a Stop hook that the client gave up', async () => {
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
    await world.asked(/No such tool|refused|for the client itself/)
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
}

for (const [where, begin] of Object.entries(SURFACES))
  describe(`Claude Code ${where}`, { tags: where === 'headless' ? ['extended'] : [] }, () =>
    inEitherWay(begin),
  )

describe('Claude Code in a terminal', () => {
  test('leaves in the memory of its project what a subagent said last, and nothing of a compaction', async () => {
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
    // Hooks are taken up in their order: what the compaction left would come before this.
    world.model.next(/ask another/, { tools: [{ name: 'Agent', input }] })
    terminal.type('ask another')
    terminal.press('Enter')
    const asked = await world.asked(/ask another/)
    expect(asked.fresh).not.toMatch(/PreCompact.*\{\}/)
    await eventually('the other is told of', () => posts().length > 1)
    expect(posts().map((line) => (JSON.parse(line) as { summary: string }).summary)).toEqual([said, said])
  })

  test('takes again what it drained in a turn that is interrupted with a prompt behind it', async () => {
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
    await world.asked(/^a thought not yet finished$/m)
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

  test('is rung once while client and model are slow by 30 s', { tags: ['extended'] }, async () => {
    const world = await open()
    world.terminal(MANUAL)
    await world.turnIs('idle')
    const { pid } = await eventually('its own record can be read', () => world.registry())
    await isRungOnceWhileSlow(world, pid)
  })

  test(
    'keeps its window through every clean stop, and is rung again afterwards',
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
