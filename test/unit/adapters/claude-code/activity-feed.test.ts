/** Tests what is recorded of a Claude Code session, from its module and from hooks. */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  createActivityFeed,
  type ActivityFeed,
} from '../../../../adapters/claude-code/activity/activity-feed.ts'
import type { Captured } from '../../../../adapters/activity/captured.ts'
import { NumberedEvent, type ModEvent } from '../../../../adapters/claude-code/mod/messages.ts'
import { ReportedEvent } from '../../../../src/contracts/activity/event.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { HELLO } from '../../../support/fakes/fake-module.ts'
import { turnEvent } from '../../../support/turn-events.ts'

type Recorded = Captured & {
  session_id: string
  turn_seq: number
  agent_id: string | undefined
  at: string | undefined
}

let events: Recorded[]
let missed: [string, number][]
let known: string[]
let feed: ActivityFeed

function open(respawned = false): ActivityFeed {
  const turns = new Map<string, number>()
  return createActivityFeed({
    log: {
      record(fact, { session_id, turn_seq, agent_id, at, source }) {
        const last = (turns.get(session_id) ?? 0) + (fact.kind === 'request.started' ? 1 : 0)
        turns.set(session_id, last)
        const event = { ...fact, session_id, agent_id, at, turn_seq: turn_seq ?? last }
        events.push(event)
        const id = '01KJMHHR00AAAAAAAAAAAAAAAA'
        const times = { at: at ?? '2026-03-01T12:00:00.000Z', seq: 1, event_id: id }
        ReportedEvent.parse({ ...event, agent_id: agent_id ?? null, source, ...times })
        return event.turn_seq
      },
      missed: (session_id, count) => void missed.push([session_id, count]),
      isKnown: (session_id) => known.includes(session_id),
    },
    project: '/projects/a',
    pid: 7,
    pid_started: 'boot:1',
    respawned,
  })
}

beforeEach(() => {
  events = []
  missed = []
  known = []
  feed = open()
})

let seq = 0
function reports(...reported: ModEvent[]): void {
  for (const event of reported) {
    const whole = NumberedEvent.parse({ ...event, seq: ++seq, at: 1_772_366_400_000 })
    if (event.kind === 'session') session_id = event.session_id
    feed.modEvent(whole, { session_id, past: false })
  }
}
let session_id = 'session-1'
function attach(hello: Partial<typeof HELLO> = {}): void {
  session_id = 'session-1'
  feed.modAttached({ ...HELLO, cwd: '/projects/b', ...hello })
}
const kinds = () => events.map(({ kind }) => kind)
const dataOf = (kind: Captured['kind']) =>
  events.filter((event) => event.kind === kind).map(({ data }) => data)

describe('with the module', () => {
  test('a session begins with its project and process, once', () => {
    attach()
    attach()
    expect(events).toMatchObject([
      {
        kind: 'session.started',
        session_id: 'session-1',
        data: { project: '/projects/b', pid: 7, pid_started: 'boot:1' },
      },
    ])
  })

  test('a replaced worker does not repeat the begin of a session that it knows', () => {
    known = ['session-1']
    feed = open(true)
    attach()
    expect(events).toEqual([])
    reports({ kind: 'session', session_id: 'session-2', reason: 'clear' })
    expect(kinds()).toEqual(['session.ended', 'session.started'])
    events = []
    feed = open(false)
    attach()
    expect(kinds()).toEqual(['session.started'])
  })

  test('a turn is a request with its prompt, end and usage', () => {
    attach()
    const usage = { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5, model: 'm', x: 'y' }
    reports(
      { kind: 'prompt', origin: 'composer' },
      { kind: 'turn_started', turn: 't1', content: 'Fix it' },
      { kind: 'turn_ended', turn: 't1', reason: 'answer', usage },
    )
    expect(events.slice(1)).toMatchObject([
      {
        kind: 'request.started',
        at: '2026-03-01T12:00:00.000Z',
        data: { request_id: 't1', prompt: 'Fix it', prompt_type: 'person' },
        turn_seq: 1,
      },
      {
        kind: 'usage',
        data: { usage_id: 't1', model: 'm', input_tokens: 3, output_tokens: 4, cache_read_tokens: 5 },
      },
      {
        kind: 'request.ended',
        data: { request_id: 't1', status: 'completed', reason: 'answer' },
        turn_seq: 1,
      },
    ])
  })

  test.each<[string, ModEvent[], object]>([
    ['a doorbell', [{ kind: 'turn_started', turn: 't', bell: true }], { prompt_type: 'doorbell' }],
    [
      'another session',
      [
        { kind: 'prompt', origin: 'peer' },
        { kind: 'turn_started', turn: 't' },
      ],
      { prompt_type: 'peer' },
    ],
    [
      'a task',
      [
        { kind: 'prompt', origin: 'task-notification' },
        { kind: 'turn_started', turn: 't' },
      ],
      { prompt_type: 'task' },
    ],
  ])('the prompt of a turn may come from %s', (_, reported, expected) => {
    attach()
    reports(...reported)
    expect(dataOf('request.started')).toMatchObject([expected])
  })

  test('a prompt that was typed into a turn does not name the next one', () => {
    attach()
    reports(
      { kind: 'prompt', origin: 'composer', during: 't1' },
      { kind: 'turn_started', turn: 't2', content: '!ls' },
    )
    expect(dataOf('request.started')).toEqual([{ request_id: 't2', prompt: '!ls' }])
  })

  test.each([
    ['aborted', 'interrupted'],
    ['error', 'failed'],
    ['refusal', 'failed'],
  ] as const)('a turn that ended with %s is %s', (reason, status) => {
    attach()
    reports({ kind: 'turn_started', turn: 't1' }, { kind: 'turn_ended', turn: 't1', reason })
    expect(dataOf('request.ended')).toEqual([{ request_id: 't1', status, reason }])
  })

  test('an interrupted turn that ends after the begin of the next one keeps its number', () => {
    attach()
    reports(
      { kind: 'turn_started', turn: 't1' },
      { kind: 'turn_started', turn: 't2' },
      { kind: 'turn_ended', turn: 't1', reason: 'aborted' },
      { kind: 'turn_ended', turn: 't2', reason: 'answer' },
    )
    expect(events.slice(1).map(({ kind, turn_seq }) => [kind, turn_seq])).toEqual([
      ['request.started', 1],
      ['request.started', 2],
      ['request.ended', 1],
      ['request.ended', 2],
    ])
  })

  test('a turn whose begin an earlier worker recorded is ended by this one', () => {
    attach({ turn: 't1', busy: true })
    reports({ kind: 'turn_ended', turn: 't1', reason: 'answer' })
    expect(dataOf('request.ended')).toEqual([{ request_id: 't1', status: 'completed', reason: 'answer' }])
  })

  test('tool calls are actions with input, output, errors and refusals', () => {
    attach()
    reports(
      { kind: 'tool_started', call: 'c1', tool: 'Bash', content: '{"command":"ls"}' },
      { kind: 'tool_ended', call: 'c1', ms: 5.4, content: 'a.ts' },
      { kind: 'tool_started', call: 'c2', tool: 'Bash' },
      { kind: 'tool_ended', call: 'c2', ms: 1, failed: true, content: 'Exit code 2\nno' },
      { kind: 'tool_started', call: 'c3', tool: 'Write' },
      { kind: 'tool_ended', call: 'c3', ms: 1, failed: true, denied: true },
      { kind: 'tool_ended', call: 'unknown', ms: -1 },
    )
    expect(events.slice(1).map(({ kind, data }) => [kind, data])).toEqual([
      ['action.started', { action_id: 'c1', tool: 'Bash', input: { command: 'ls' } }],
      ['action.ended', { action_id: 'c1', tool: 'Bash', duration_ms: 5, output: 'a.ts' }],
      ['action.started', { action_id: 'c2', tool: 'Bash' }],
      [
        'action.failed',
        { action_id: 'c2', tool: 'Bash', duration_ms: 1, error: 'Exit code 2\nno', exit_code: 2 },
      ],
      ['action.started', { action_id: 'c3', tool: 'Write' }],
      ['action.failed', { action_id: 'c3', tool: 'Write', duration_ms: 1, denied: true }],
      ['action.ended', { action_id: 'unknown', duration_ms: 0 }],
    ])
  })

  test('a cut input keeps size and digest', () => {
    attach()
    const content = { text: '{"command":"l', bytes: 900_000, sha256: '0'.repeat(64) }
    reports({ kind: 'tool_started', call: 'c1', tool: 'Bash', content })
    expect(dataOf('action.started')).toEqual([{ action_id: 'c1', tool: 'Bash', input: content }])
  })

  test('events of a subagent belong to the request that started it, also those of its own subagents', () => {
    attach()
    reports(
      { kind: 'turn_started', turn: 't1' },
      { kind: 'agent_started', agent: 'a1', type: 'Explore', task: 'look' },
      { kind: 'turn_ended', turn: 't1', reason: 'answer' },
      { kind: 'turn_started', turn: 't2' },
      { kind: 'agent_started', agent: 'a2', parent: 'a1' },
      { kind: 'tool_started', call: 'c1', tool: 'Bash', agent: 'a2' },
      { kind: 'tool_ended', call: 'c1', ms: 1 },
      { kind: 'turn_started', turn: 's1', agent: 'a2' },
      { kind: 'turn_ended', turn: 's1', agent: 'a2', reason: 'answer', usage: { input_tokens: 1 } },
      { kind: 'agent_ended', agent: 'a2', status: 'completed', content: 'Done.' },
      { kind: 'agent_ended', agent: 'a1', status: 'killed' },
    )
    const of_agents = events.filter(({ kind }) => /^(subtask|action|usage)/.test(kind))
    expect(of_agents.map(({ kind, agent_id, turn_seq, data }) => [kind, agent_id, turn_seq, data])).toEqual([
      ['subtask.started', undefined, 1, { subtask_id: 'a1', agent_type: 'Explore', description: 'look' }],
      ['subtask.started', 'a1', 1, { subtask_id: 'a2', parent_id: 'a1' }],
      ['action.started', 'a2', 1, { action_id: 'c1', tool: 'Bash' }],
      ['action.ended', 'a2', 1, { action_id: 'c1', tool: 'Bash', duration_ms: 1 }],
      ['usage', 'a2', 1, { usage_id: 's1', input_tokens: 1 }],
      ['subtask.ended', 'a1', 1, { subtask_id: 'a2', status: 'completed', result: 'Done.' }],
      ['subtask.ended', undefined, 1, { subtask_id: 'a1', status: 'interrupted' }],
    ])
    expect(kinds().filter((kind) => kind === 'request.started')).toHaveLength(2)
  })

  test.each([
    ['Bash', 'permission'],
    ['AskUserQuestion', 'question'],
    ['ExitPlanMode', 'plan'],
  ])('a dialog about %s waits for a %s', (tool, what) => {
    attach()
    reports(
      { kind: 'waiting_started', call: 'c1', tool, why: 'because', agent: 'a1' },
      { kind: 'waiting_ended', call: 'c1' },
    )
    expect(events.slice(1)).toMatchObject([
      { kind: 'waiting.started', agent_id: 'a1', data: { waiting_id: 'c1', for: what, what: tool } },
      { kind: 'waiting.ended', agent_id: 'a1', data: { waiting_id: 'c1' } },
    ])
  })

  test('compactions of the main agent and measures are recorded', () => {
    attach()
    reports(
      { kind: 'compacting', trigger: 'auto' },
      { kind: 'compacted', before: 90, after: 9 },
      { kind: 'compacting', trigger: 'auto', agent: 'a1' },
      { kind: 'measured', tokens: 5, window: 10, cost_usd: 0.5 },
      { kind: 'measured', tokens: undefined, window: undefined, cost_usd: undefined },
    )
    expect(events.slice(1).map(({ kind, data }) => [kind, data])).toEqual([
      ['compaction.started', { trigger: 'auto' }],
      ['compaction.ended', { tokens_before: 90, tokens_after: 9 }],
      ['usage', { usage_id: 'session', context_tokens: 5, context_window: 10, cost_usd: 0.5 }],
    ])
  })

  test('a cleared session ends, and its conversation continues in the next one', () => {
    attach()
    reports({ kind: 'session', session_id: 'session-2', reason: 'clear' }, { kind: 'ended', reason: 'other' })
    expect(events.slice(1)).toMatchObject([
      { kind: 'session.ended', session_id: 'session-1', data: { reason: 'clear' } },
      {
        kind: 'session.started',
        session_id: 'session-2',
        data: { reason: 'clear', continues: 'session-1', project: '/projects/a' },
      },
      { kind: 'session.ended', session_id: 'session-2', data: { reason: 'other' } },
    ])
  })

  test('a resumed session does not continue the one before it', () => {
    attach()
    reports({ kind: 'session', session_id: 'session-2', reason: 'resume' })
    expect(dataOf('session.started')[1]).toEqual({
      ...{ project: '/projects/a', reason: 'resume' },
      ...{ pid: 7, pid_started: 'boot:1' },
    })
  })

  test('dropped events of the module are missing in the session', () => {
    feed.modDropped(3)
    attach()
    feed.modDropped(4)
    expect(missed).toEqual([['session-1', 4]])
  })

  test('long words are cut to what a report may contain, and an impossible time is left out', () => {
    attach()
    const long = 'x'.repeat(512)
    reports({ kind: 'turn_started', turn: long }, { kind: 'turn_ended', turn: long, reason: long })
    expect(dataOf('request.ended')).toMatchObject([{ request_id: 'x'.repeat(256), reason: 'x'.repeat(256) }])
    const far = NumberedEvent.parse({ kind: 'ended', seq: ++seq, at: 8_640_000_000_000_000 })
    feed.modEvent(far, { session_id, past: false })
    expect(events.at(-1)).toMatchObject({ kind: 'session.ended', at: undefined })
  })

  test('hooks and the registry record nothing', () => {
    attach()
    feed.hookFired(turnEvent('UserPromptSubmit', { prompt: 'hi' }))
    feed.continuedWith(doorbell())
    feed.interrupted()
    expect(kinds()).toEqual(['session.started'])
  })
})

describe('without the module', () => {
  const fired = (event: string, fields: Parameters<typeof turnEvent>[1] = {}) =>
    feed.hookFired(turnEvent(event, fields))

  test('prompts, ends of turns and own tool calls are recorded', () => {
    fired('UserPromptSubmit', { prompt: 'Fix it', prompt_id: 'p1' })
    const call = { prompt_id: 'p1', tool_name: 'mcp__plugin_turnbell_hub__signals', tool_use_id: 'c1' }
    fired('PreToolUse', call)
    fired('PostToolUse', call)
    fired('PostToolBatch', { prompt_id: 'p1' })
    fired('UserPromptSubmit', { prompt: 'and this', prompt_id: 'p1' })
    fired('Stop', { prompt_id: 'p1' })
    const action = { action_id: 'c1', tool: call.tool_name }
    expect(events.map(({ kind, data }) => [kind, data])).toEqual([
      ['session.started', { project: '/projects/a', pid: 7, pid_started: 'boot:1' }],
      ['request.started', { request_id: 'p1', prompt: 'Fix it', prompt_type: 'person' }],
      ['action.started', action],
      ['action.ended', action],
      ['request.ended', { request_id: 'p1', status: 'completed' }],
    ])
  })

  test('a doorbell and a finished task are no prompts of a person', () => {
    fired('UserPromptSubmit', { prompt: doorbell().text, prompt_id: 'p1' })
    fired('Stop')
    fired('UserPromptSubmit', { prompt: '<task-notification>\n', prompt_id: 'p2' })
    fired('Stop')
    feed.continuedWith(doorbell())
    expect(dataOf('request.started').map((data) => 'prompt_type' in data && data.prompt_type)).toEqual([
      'doorbell',
      'task',
      'doorbell',
    ])
  })

  test('an interrupted turn ends when the registry, the next turn or the prompt shows it', () => {
    fired('UserPromptSubmit', { prompt: 'a', prompt_id: 'p1' })
    feed.interrupted()
    fired('UserPromptSubmit', { prompt: 'b', prompt_id: 'p2' })
    fired('UserPromptSubmit', { prompt: 'c', prompt_id: 'p3' })
    fired('PostToolBatch', { prompt_id: 'p4' })
    fired('Notification', { notification_type: 'idle_prompt' })
    fired('Notification', { notification_type: 'idle_prompt' })
    expect(dataOf('request.ended')).toEqual(
      ['p1', 'p2', 'p3', 'p4'].map((request_id) => ({ request_id, status: 'interrupted' })),
    )
    expect(dataOf('request.started')).toHaveLength(4)
  })

  test('a turn that failed is recorded as such', () => {
    fired('UserPromptSubmit', { prompt: 'a', prompt_id: 'p1' })
    fired('StopFailure', { prompt_id: 'p1' })
    expect(dataOf('request.ended')).toEqual([{ request_id: 'p1', status: 'failed' }])
  })

  test('a permission request waits until another hook of the agent', () => {
    fired('PermissionRequest', { prompt_id: 'p1', tool_name: 'Bash' })
    fired('Notification', { prompt_id: 'p1', notification_type: 'permission_prompt' })
    expect(kinds().slice(2)).toEqual(['waiting.started'])
    fired('PostToolBatch', { prompt_id: 'p1' })
    fired('PermissionRequest', { prompt_id: 'p1', tool_name: 'AskUserQuestion' })
    fired('Stop', { prompt_id: 'p1' })
    expect(events.slice(2).map(({ kind, data }) => [kind, data])).toEqual([
      ['waiting.started', { waiting_id: 'permission-1', for: 'permission', what: 'Bash' }],
      ['waiting.ended', { waiting_id: 'permission-1' }],
      ['waiting.started', { waiting_id: 'permission-2', for: 'question', what: 'AskUserQuestion' }],
      ['waiting.ended', { waiting_id: 'permission-2' }],
      ['request.ended', { request_id: 'p1', status: 'completed' }],
    ])
  })

  test('hooks of a subagent record its own calls and no turns', () => {
    const call = { agent_id: 'a1', tool_name: 'mcp__plugin_turnbell_hub__context', tool_use_id: 'c1' }
    fired('PreToolUse', call)
    fired('PostToolBatch', { agent_id: 'a1', prompt_id: 'p9' })
    fired('Stop', { agent_id: 'a1' })
    expect(events.slice(1)).toMatchObject([{ kind: 'action.started', agent_id: 'a1' }])
  })

  test('a cleared session ends before the next one begins', () => {
    fired('SessionStart', { source: 'compact' })
    fired('SessionEnd', { reason: 'clear' })
    fired('SessionStart', { source: 'clear', session_id: 'session-2' })
    expect(events.map(({ kind, session_id: of, data }) => [kind, of, data])).toMatchObject([
      ['session.started', 'session-1', {}],
      ['session.ended', 'session-1', { reason: 'clear' }],
      ['session.started', 'session-2', { reason: 'clear' }],
    ])
  })

  test('a turn that the module began is ended by a hook when the module is gone, and the other way round', () => {
    attach()
    reports({ kind: 'turn_started', turn: 't1' })
    feed.modLost()
    fired('PostToolBatch', { prompt_id: 'p1' })
    fired('Stop', { prompt_id: 'p1' })
    fired('UserPromptSubmit', { prompt: 'b', prompt_id: 'p2' })
    attach({ turn: 't2', busy: true })
    reports({ kind: 'turn_ended', turn: 't2', reason: 'answer' })
    fired('Stop', { prompt_id: 'p2' })
    expect(dataOf('request.started')).toHaveLength(2)
    expect(dataOf('request.ended')).toMatchObject([
      { request_id: 't1', status: 'completed' },
      { request_id: 'p2', status: 'completed' },
    ])
  })

  test('a turn that ended while no module was there ends when a module finds the prompt', () => {
    fired('UserPromptSubmit', { prompt: 'a', prompt_id: 'p1' })
    attach({ busy: false })
    expect(dataOf('request.ended')).toEqual([{ request_id: 'p1', status: 'completed' }])
  })
})
