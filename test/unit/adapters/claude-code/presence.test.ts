/** Event orders as the real Claude Code 2.1.332 reported them, without those that presence ignores. */
import { describe, expect, test } from 'vitest'
import {
  eventsDropped,
  presenceAfter,
  presenceOf,
  startPresence,
  type TrackedPresence,
} from '../../../../adapters/claude-code/presence.ts'
import { NumberedEvent, type ModEvent } from '../../../../adapters/claude-code/mod/messages.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { Presence } from '../../../../src/contracts/presence.ts'

const NOON = Date.parse('2026-01-31T12:00:00.000Z')
const at = (second: number) => new Date(NOON + second * 1_000).toISOString()

/** Applies events that are a second apart; an event `session` changes the session of the following ones. */
function after(events: readonly ModEvent[], from = startPresence({ session_id: 's1' })): TrackedPresence {
  let session_id = from.session_id
  return events.reduce((state, event, index) => {
    if (event.kind === 'session') session_id = event.session_id
    const numbered = NumberedEvent.parse({ ...event, seq: index + 1, at: NOON + index * 1_000 })
    return presenceAfter(state, numbered, { session_id, past: false })
  }, from)
}
const shown = (...events: ModEvent[]): Presence => Presence.parse(presenceOf(after(events)))

const began = (turn: string, agent?: string): ModEvent => ({
  kind: 'turn_started',
  turn,
  ...(agent && { agent }),
})
const over = (turn: string, reason = 'answer', agent?: string): ModEvent => ({
  ...{ kind: 'turn_ended', turn, reason },
  ...(agent && { agent }),
})
const asks = (call: string, agent?: string, tool = 'Bash', why = 'needs approval'): ModEvent => ({
  ...{ kind: 'waiting_started', call, tool, why },
  ...(agent && { agent }),
})
const answered = (call: string): ModEvent => ({ kind: 'waiting_ended', call })
const toolOver = (call: string): ModEvent => ({ kind: 'tool_ended', call, ms: 5 })
const spawned = (agent: string, parent?: string): ModEvent => ({
  ...{ kind: 'agent_started', agent, type: 'general-purpose', task: `task of ${agent}` },
  ...(parent && { parent }),
})
const reported = (agent: string, status = 'completed'): ModEvent => ({ kind: 'agent_ended', agent, status })
const agentsOf = ({ agents }: Presence) => agents.map(({ agent }) => agent)

describe('waiting for the person', () => {
  test('an open permission dialog is shown with its tool, reason and time', () => {
    expect(shown(began('t1'), asks('c1')).waiting).toEqual([
      { for: 'permission', tool: 'Bash', why: 'needs approval', agent: null, since: at(1) },
    ])
  })

  test.each([
    ['AskUserQuestion', 'question'],
    ['ExitPlanMode', 'plan'],
    ['toString', 'permission'],
  ])('the tool %s asks for a %s', (tool, asked) => {
    expect(shown(began('t1'), asks('c1', undefined, tool)).waiting[0]?.for).toBe(asked)
  })

  test.each<[string, ModEvent[]]>([
    ['allowed', [answered('c1')]],
    ['denied with Esc', [answered('c1'), toolOver('c1'), over('t1')]],
    ['answered, which was not reported', [toolOver('c1')]],
    ['closed with its turn, whose end was reported', [over('t1')]],
    ['closed with its turn, whose end was not reported', [began('t2')]],
  ])('a dialog that was %s is no longer shown', (_, events) => {
    expect(shown(began('t1'), asks('c1'), ...events).waiting).toEqual([])
  })

  test('two dialogs of a turn are shown, the oldest first', () => {
    const tools = shown(began('t1'), asks('c1'), asks('c2', undefined, 'Write')).waiting.map(
      ({ tool }) => tool,
    )
    expect(tools).toEqual(['Bash', 'Write'])
  })

  test('the late end of an interrupted turn does not end what the next one waits for', () => {
    expect(shown(began('t1'), began('t2'), asks('c2'), over('t1', 'aborted')).waiting).toHaveLength(1)
  })

  test('a subagent waits while the main agent begins and ends turns', () => {
    const events = [began('t1'), spawned('a1'), over('t1'), asks('c1', 'a1'), began('t2'), over('t2')]
    expect(shown(...events).waiting).toMatchObject([{ agent: 'a1' }])
    expect(shown(...events, over('t9', 'aborted', 'a1')).waiting).toEqual([])
    expect(shown(...events, reported('a1', 'stopped')).waiting).toEqual([])
  })
})

describe('subagents', () => {
  const NESTED = [
    ...[began('t1'), began('ta', 'a1'), spawned('a1'), over('t1')],
    ...[began('tb', 'a2'), spawned('a2', 'a1'), over('ta', 'answer', 'a1')],
  ]

  test('a subagent is shown until its report, also between its turns', () => {
    expect(shown(...NESTED).agents).toEqual([
      { agent: 'a1', parent: null, type: 'general-purpose', task: 'task of a1', since: at(2) },
      { agent: 'a2', parent: 'a1', type: 'general-purpose', task: 'task of a2', since: at(5) },
    ])
    const continued = [
      ...NESTED,
      over('tb', 'answer', 'a2'),
      reported('a2'),
      began('tc', 'a1'),
      spawned('a1'),
    ]
    expect(shown(...continued).agents).toMatchObject([{ agent: 'a1', since: at(2) }])
    expect(agentsOf(shown(...continued, over('tc', 'answer', 'a1'), reported('a1')))).toEqual([])
  })

  test('a killed subagent is no longer shown', () => {
    expect(agentsOf(shown(spawned('a1'), over('ta', 'aborted', 'a1'), reported('a1', 'stopped')))).toEqual([])
  })

  test('a subagent outlives /clear, as in the client', () => {
    const cleared = [spawned('a1'), { kind: 'session', session_id: 's2' } as const]
    expect(agentsOf(shown(...cleared))).toEqual(['a1'])
    expect(agentsOf(shown(...cleared, reported('a1')))).toEqual([])
  })
})

describe('the conversation', () => {
  const measured = {
    kind: 'measured',
    tokens: 100,
    window: 1_000_000,
    cost_usd: 0.0024000000000000002,
  } as const

  test('tokens, window and cost are those of the last measure, and another session has none', () => {
    expect(shown(measured)).toMatchObject({ tokens: 100, window: 1_000_000, cost_usd: 0.0024 })
    expect(shown(measured, { kind: 'measured', tokens: 200 })).toMatchObject({
      tokens: 200,
      cost_usd: 0.0024,
    })
    expect(shown(measured, { kind: 'session', session_id: 's2' })).toMatchObject({
      tokens: null,
      cost_usd: null,
    })
  })

  const compacting = { kind: 'compacting', trigger: 'manual' } as const
  const compacted = { kind: 'compacted', before: 975_021, after: 2_931 } as const

  test('a compaction is shown while it runs, and then its sizes', () => {
    expect(shown(measured, compacting)).toMatchObject({ compacting_since: at(1), last_compaction: null })
    expect(shown(measured, compacting, compacted)).toMatchObject({
      compacting_since: null,
      tokens: 2_931,
      last_compaction: { at: at(2), before: 975_021, after: 2_931, restored: null },
    })
  })

  test('a compaction that was interrupted with Esc compacted nothing', () => {
    const events = [compacting, { kind: 'stopped' } as const, { kind: 'compacted' } as const]
    expect(shown(...events)).toMatchObject({ compacting_since: null, last_compaction: null })
  })

  test.each<[string, ModEvent]>([
    ['begins', began('t1')],
    ['ends', over('t1')],
  ])('a compaction whose end was not reported is over when a turn %s', (_, event) => {
    expect(shown(compacting, event).compacting_since).toBeNull()
  })

  test('the compaction of a subagent is not that of the conversation', () => {
    expect(shown({ ...compacting, agent: 'a1' }).compacting_since).toBeNull()
  })

  test.each([true, false])('the proof of a restore belongs to the last compaction (found: %j)', (found) => {
    const proven = [compacting, compacted, { kind: 'restored', found } as const]
    expect(shown(...proven).last_compaction?.restored).toBe(found)
    expect(shown(...proven, compacting, compacted).last_compaction?.restored).toBeNull()
    expect(shown({ kind: 'restored', found }).last_compaction).toBeNull()
    expect(shown(...proven, { kind: 'session', session_id: 's2' }).last_compaction).toBeNull()
  })
})

describe('bounds', () => {
  test('the reported presence is valid and fits a line, whatever the client reports', () => {
    const long = '\u001b[2J"\\\ud800\u202e\n😀'.repeat(40)
    const events = Array.from({ length: 40 }, (_, n): ModEvent[] => [
      { kind: 'agent_started', agent: `${n}${long}`, parent: `${n}${long}`, type: long, task: long },
      { kind: 'waiting_started', call: `c${n}`, tool: long, why: long, agent: `${n}${long}` },
    ]).flat()
    const state = shown(...events, { kind: 'measured', cost_usd: -1, tokens: 0 })
    expect([state.agents.length, state.waiting.length, state.cost_usd]).toEqual([
      LIMITS.presence_agents_max,
      LIMITS.presence_waiting_max,
      0,
    ])
    const line = JSON.stringify(state)
    expect(Buffer.byteLength(line)).toBeLessThan(LIMITS.line_bytes_max - 4_096)
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]|\\ud|\\u00|\\n/)
  })

  test('what waits for its end is dropped with the events that the module dropped', () => {
    const before = after([
      ...[asks('c1'), spawned('a1'), { kind: 'compacting', trigger: 'auto' } as const],
      { kind: 'measured', tokens: 5 },
    ])
    expect(presenceOf(eventsDropped(before))).toMatchObject({
      ...{ waiting: [], agents: [], compacting_since: null },
      tokens: 5,
    })
  })
})
