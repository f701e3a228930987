/** What the hub stores of the work of a real Claude Code: from its module, from hooks, and while the hub is away. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { claudeProgram, openClaudeWorld, type ClaudeWorld } from '../support/clients/claude-world.ts'
import { scenesOf, type Scene } from '../support/clients/scene.ts'
import { eventually } from '../support/eventually.ts'
import type {
  ActionActivity,
  Completeness,
  RequestActivity,
  SessionActivity,
  SubtaskActivity,
} from '../../src/contracts/activity/views.ts'
import { SPOOL_FILE } from '../../src/contracts/spool/spool.ts'

beforeAll(() => void claudeProgram())

const open = scenesOf(
  {
    drain: 'mcp__plugin_turnbell_hub__signals_pending',
    shell: (command) => ({ name: 'Bash', input: { command, description: 'wait for the scene' } }),
  },
  openClaudeWorld,
)

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'do it' } })

function activityOf(world: Scene<ClaudeWorld>) {
  /** Oldest first. */
  const list = async <Item>(action: string) =>
    (await world.call<{ items: Item[] }>('activity', action, {})).items.toReversed()
  return {
    sessions: () => list<SessionActivity>('sessions'),
    requests: () => list<RequestActivity>('requests'),
    actions: () => list<ActionActivity>('actions'),
    subtasks: () => list<SubtaskActivity>('subtasks'),
    completeness: () => world.call<Completeness>('activity', 'completeness', {}),
    /** Resolves when this number of requests has ended. */
    ended: (count: number) =>
      eventually(`${count} requests ended`, async () => {
        const ended = (await list<RequestActivity>('requests')).filter(({ ended_at }) => ended_at !== null)
        return ended.length >= count && ended
      }),
    waits: (what: string | null) =>
      eventually(`the session waits for ${what}`, async () => {
        const [session] = await list<SessionActivity>('sessions')
        return session?.state.waiting_for === what && session
      }),
  }
}

test('the hub stores prompts, tool calls, subagents, waits and interrupts of a session with the module', async () => {
  const world = await open({ module: true })
  const stored = activityOf(world)
  const terminal = world.terminal(['--permission-mode', 'default', '--allowedTools', 'Agent'])
  await world.turnIs('idle')
  await world.isReached('module')
  const say = (text: string) => {
    terminal.type(text)
    terminal.press('Enter')
  }

  const secret = `ghp_${'a1B2'.repeat(9)}`
  world.model.next(/run two/, { tools: [bash(`echo ${secret}`), bash('false')] })
  say('run two')
  await stored.ended(1)
  expect(await stored.requests()).toMatchObject([
    { prompt: 'run two', prompt_type: 'person', status: 'completed', turn_seq: 1 },
  ])
  const [echo, failed] = await stored.actions()
  expect(echo).toMatchObject({ tool_name: 'Bash', status: 'completed', output: '[redacted]' })
  expect(echo?.input).toMatchObject({ command: 'echo [redacted]' })
  expect(failed).toMatchObject({ tool_name: 'Bash', status: 'failed', exit_code: 1 })

  world.model.next(/make a file/, { tools: [bash('touch first')] })
  say('make a file')
  await terminal.shows(/Do you want to proceed/)
  await stored.waits('permission')
  await terminal.answers(/Do you want to proceed/, 'Escape')
  await stored.waits(null)
  await stored.ended(2)
  expect((await stored.actions())[2]).toMatchObject({ tool_name: 'Bash', status: 'denied' })

  const input = { description: 'a small task', prompt: 'look around', subagent_type: 'general-purpose' }
  world.model.next(/ask a helper/, { tools: [{ name: 'Agent', input }] })
  world.model.always(/look around/, { tools: [bash('echo found')] }, 'sub')
  say('ask a helper')
  const subtask = await eventually('the subagent ended', async () =>
    (await stored.subtasks()).find(({ ended_at }) => ended_at !== null),
  )
  expect(subtask).toMatchObject({ agent_type: 'general-purpose', description: 'a small task' })
  const of_subagent = (await stored.actions()).filter(({ subtask_id }) => subtask_id !== null)
  expect(of_subagent).toMatchObject([{ input: { command: 'echo found' }, output: 'found' }])
  await world.turnIs('idle')

  const { reply } = world.longTool()
  world.model.next(/work long/, reply)
  say('work long')
  await world.turnIs('busy')
  await eventually('the tool runs', async () =>
    (await stored.actions()).some(({ status }) => status === 'running'),
  )
  terminal.press('Escape')
  const interrupted = await eventually('the turn is interrupted', async () =>
    (await stored.requests()).find(({ status }) => status === 'interrupted'),
  )
  expect(interrupted).toMatchObject({ prompt: 'work long' })

  say('/exit')
  const ended = await eventually('the session ended', async () =>
    (await stored.sessions()).find(({ ended_at }) => ended_at !== null),
  )
  expect(ended).toMatchObject({ client: 'claude-code', identity: 'ada', state: { state: 'ended' } })
  expect(ended.usage.input_tokens).toBeGreaterThan(0)
  expect(await stored.completeness()).toMatchObject({ missing: [], dropped: 0 })
})

test('nothing is missing after the hub was away and the worker was killed', async () => {
  const world = await open({ module: true })
  const stored = activityOf(world)
  const terminal = world.terminal()
  await world.turnIs('idle')
  await world.isReached('module')
  const turn = async (text: string) => {
    const before = world.model.shown.length
    terminal.type(text)
    terminal.press('Enter')
    await eventually('the model answers', () => world.model.shown.length > before)
    await world.turnIs('idle')
  }
  await turn('one')
  await stored.ended(1)

  await world.hub.kill()
  await turn('two')
  await turn('three')
  const spool = path.join(world.directory, 'turnbell', 'spool', SPOOL_FILE)
  await eventually('both turns are spooled', () => {
    const spooled = fs.readFileSync(spool, 'utf8')
    return spooled.split('"request.ended"').length === 3
  })
  const pids = () => new Set(world.workerLog().map(({ pid }) => pid))
  const [pid = 0] = pids()
  process.kill(pid, 'SIGKILL')
  await eventually('a worker replaced it', () => pids().size === 2)
  await world.startHub()
  // A replaced worker attaches to the daemon when the hub has released the drains of the one before it.
  await world.isReached('module')
  await turn('four')
  const ended = await stored.ended(4)
  expect(ended.map(({ prompt, turn_seq }) => [prompt, turn_seq])).toEqual([
    ['one', 1],
    ['two', 2],
    ['three', 3],
    ['four', 4],
  ])
  const { missing, spooled } = await stored.completeness()
  expect(missing).toEqual([])
  expect(spooled).toBeGreaterThan(0)
  expect(await stored.sessions()).toHaveLength(1)
})

test('without the module, hooks show prompts and the ends of turns', async () => {
  const world = await open({ module: false })
  const stored = activityOf(world)
  const terminal = world.terminal()
  await world.turnIs('idle')
  world.model.next(/run one/, { tools: [bash('echo hi')] })
  terminal.type('run one')
  terminal.press('Enter')
  await stored.ended(1)
  await world.send('hello')
  const requests = await stored.ended(2)
  expect(requests).toMatchObject([
    { prompt: 'run one', prompt_type: 'person', status: 'completed' },
    { prompt_type: 'doorbell', status: 'completed' },
  ])
  expect(await stored.actions()).toMatchObject([{ tool_name: 'mcp__plugin_turnbell_hub__signals_pending' }])
  expect(await stored.sessions()).toHaveLength(1)
  expect(await stored.completeness()).toMatchObject({ missing: [], dropped: 0 })
})
