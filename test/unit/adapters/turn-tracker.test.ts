/** The turn of a session, tracked from captured hooks of the real client. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseRegistryRecord, RegistryRecord, TurnEvent } from '../../../adapters/claude-code/turn-events.ts'
import {
  stopAnswered,
  stopPending,
  bellContinued,
  bellPosted,
  foundBusy,
  hookFired,
  registryBlocksRing,
  registryRead,
  settle,
  settleDeadline,
  startTracking,
  type TrackedTurn,
  wasInterrupted,
} from '../../../adapters/claude-code/turn-tracker.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { doorbell } from '../../support/doorbells.ts'
import { turnEvent } from '../../support/turn-events.ts'

const FIXTURES = path.resolve(import.meta.dirname, '../../fixtures/claude-code/2.1.329')
const T0 = 1_000_000
const captured = (event: string) =>
  TurnEvent.parse(JSON.parse(fs.readFileSync(path.join(FIXTURES, 'hook-calls', `${event}.json`), 'utf8')))
const registry = (status: RegistryRecord['status'], sessionId?: string): RegistryRecord => ({
  status,
  ...(sessionId === undefined ? {} : { sessionId }),
})

/** A session at its prompt. */
function idleSession(now = T0): TrackedTurn {
  return settle(registryRead(startTracking('s1', T0), registry('idle', 's1'), now), now + 10_000)
}

describe('the captured hooks', () => {
  test.each([
    ['UserPromptSubmit', 'busy'],
    ['PreToolUse', 'busy'],
    ['PostToolUse', 'busy'],
    ['PermissionRequest', 'busy'],
    ['Notification', 'busy'],
    ['Stop', 'idle'],
    ['StopFailure', 'idle'],
  ] as const)('%s leaves the turn %s', (event, turn) => {
    const before =
      turn === 'busy' ? idleSession() : hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0)
    const after = hookFired(before, captured(event), T0)
    expect(after.turn).toBe(turn)
    expect(after.session_id).toBe(captured(event).session_id)
  })

  test('the end of a subagent does not change the turn', () => {
    const busy = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0)
    expect(hookFired(busy, captured('SubagentStop'), T0)).toBe(busy)
  })

  test('a compaction does not change the turn', () => {
    const busy = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0)
    expect(hookFired(busy, captured('SessionStart'), T0).turn).toBe('busy')
  })

  test('the end of a session does not change the session id', () => {
    expect(hookFired(idleSession(), captured('SessionEnd'), T0).session_id).toBe('s1')
  })

  test('the captured registry of an idle session is parsed', () => {
    const record = JSON.parse(
      fs.readFileSync(path.join(FIXTURES, 'session-registry.json'), 'utf8'),
    ) as unknown
    expect(RegistryRecord.parse(record)).toMatchObject({
      status: 'idle',
      sessionId: expect.any(String) as string,
    })
  })

  test('an unknown registry status is null', () => {
    expect(RegistryRecord.parse({ status: 'pondering' }).status).toBeNull()
  })

  test('an unknown hook changes nothing', () => {
    const state = idleSession()
    expect(hookFired(state, turnEvent('SomethingNew'), T0)).toBe(state)
  })
})

describe('turns', () => {
  test('a prompt typed during a turn begins no new turn', () => {
    const first = hookFired(idleSession(), turnEvent('UserPromptSubmit', { prompt: 'one' }), T0)
    const second = hookFired(first, turnEvent('UserPromptSubmit', { prompt: 'two' }), T0 + 5)
    expect(second.turn_seq).toBe(first.turn_seq)
  })

  test('a prompt after an unconfirmed interrupt begins a new turn', () => {
    const first = registryRead(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      registry('busy'),
      T0 + 20,
    )
    const at_prompt = registryRead(first, registry('idle'), T0 + 5_000)
    expect(wasInterrupted(at_prompt)).toBe(true)
    const second = hookFired(at_prompt, turnEvent('UserPromptSubmit'), T0 + 5_100)
    expect(second).toMatchObject({ turn: 'busy', turn_seq: first.turn_seq + 1 })
    expect(wasInterrupted(second)).toBe(false)
  })

  test('a hook with another prompt id begins a new turn, even without a prompt hook', () => {
    const prompt_id = 'first'
    const first = hookFired(idleSession(), turnEvent('UserPromptSubmit', { prompt_id }), T0)
    const queued = hookFired(first, turnEvent('UserPromptSubmit', { prompt_id, prompt: 'queued' }), T0 + 5)
    expect(queued.turn_seq).toBe(first.turn_seq)
    const second = hookFired(queued, turnEvent('PostToolBatch', { prompt_id: 'second' }), T0 + 10)
    expect(second).toMatchObject({ turn: 'busy', turn_seq: first.turn_seq + 1 })
    const over = hookFired(second, turnEvent('Stop', { prompt_id: 'second' }), T0 + 15)
    expect(over).toMatchObject({ turn: 'idle', turn_seq: second.turn_seq })
    const third = hookFired(over, turnEvent('UserPromptSubmit', { prompt_id: 'third' }), T0 + 20)
    expect(third.turn_seq).toBe(over.turn_seq + 1)
  })

  test('a turn first seen in the registry gets its id from its first hook and counts once', () => {
    const over = hookFired(
      hookFired(idleSession(), turnEvent('UserPromptSubmit', { prompt_id: 'first' }), T0),
      turnEvent('Stop', { prompt_id: 'first' }),
      T0,
    )
    const at = T0 + LIMITS.claude_registry_lag_ms
    const begun = settle(registryRead(over, registry('busy'), T0), at)
    expect(begun.turn).toBe('busy')
    const named = hookFired(begun, turnEvent('PreToolUse', { prompt_id: 'second' }), at + 5)
    expect(named).toMatchObject({ turn: 'busy', turn_seq: begun.turn_seq, prompt_id: 'second' })
  })

  test('a doorbell in a Stop response begins one turn under any prompt id', () => {
    const { doorbell_id } = doorbell()
    const first = hookFired(idleSession(), turnEvent('UserPromptSubmit', { prompt_id: 'first' }), T0)
    const over = hookFired(first, turnEvent('Stop', { prompt_id: 'first' }), T0)
    const continued = bellContinued(over, doorbell_id, T0)
    const seen = hookFired(continued, turnEvent('PreToolUse', { prompt_id: 'second' }), T0)
    expect(seen).toMatchObject({ turn_seq: continued.turn_seq, seen_doorbell_id: doorbell_id })
  })

  test('a prompt right after the first begins no new turn before the registry has followed', () => {
    const first = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0 + 60_000)
    expect(wasInterrupted(first)).toBe(false)
    expect(hookFired(first, turnEvent('UserPromptSubmit'), T0 + 60_010).turn_seq).toBe(first.turn_seq)
  })

  test('turn numbers start with the time, so they never decrease after a restart', () => {
    const first = startTracking('s1', T0)
    const later = [1, 2, 3].reduce(
      (state) => hookFired(hookFired(state, turnEvent('UserPromptSubmit'), T0), turnEvent('Stop'), T0),
      first,
    )
    expect(startTracking('s1', 0, T0 + 1_000).turn_seq).toBeGreaterThan(later.turn_seq)
  })

  test('/clear ends the turn and changes the session id', () => {
    const busy = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0)
    const cleared = hookFired(busy, turnEvent('SessionStart', { source: 'clear', session_id: 's2' }), T0)
    expect(cleared).toMatchObject({ turn: 'idle', session_id: 's2', turn_seq: busy.turn_seq })
  })

  test('an idle_prompt notification ends the turn without a registry', () => {
    const busy = hookFired(startTracking('s1', T0), turnEvent('UserPromptSubmit'), T0)
    expect(hookFired(busy, turnEvent('Notification', { notification_type: 'idle_prompt' }), T0).turn).toBe(
      'idle',
    )
  })

  test('an unrelated notification changes nothing', () => {
    const state = idleSession()
    expect(hookFired(state, turnEvent('Notification', { notification_type: 'auth_success' }), T0)).toBe(state)
  })
})

describe('the registry', () => {
  test('an interrupt is detected when the registry has shown the prompt for a while', () => {
    const busy = registryRead(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      registry('busy'),
      T0 + 10,
    )
    const at_prompt = registryRead(busy, registry('idle'), T0 + 5_000)
    expect(at_prompt.turn).toBe('busy')
    expect(settleDeadline(at_prompt)).toBe(T0 + 5_000 + LIMITS.claude_settle_ms)
    expect(settle(at_prompt, T0 + 5_000 + LIMITS.claude_settle_ms - 1).turn).toBe('busy')
    expect(settle(at_prompt, T0 + 5_000 + LIMITS.claude_settle_ms).turn).toBe('idle')
  })

  test('a prompt that another hook rejected ends after the settle time', () => {
    const busy = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0 + 60_000)
    expect(settleDeadline(busy)).toBe(T0 + 60_000 + LIMITS.claude_settle_ms)
  })

  test('a registry with a background shell counts as the prompt', () => {
    const state = registryRead(startTracking('s1', T0), registry('shell'), T0)
    expect(settle(state, T0 + LIMITS.claude_registry_lag_ms).turn).toBe('idle')
  })

  test('a worker restarted during a turn detects it from the registry', () => {
    const state = registryRead(startTracking('s1', T0), registry('busy'), T0)
    expect(settle(state, T0 + LIMITS.claude_registry_lag_ms)).toMatchObject({
      turn: 'busy',
      turn_seq: T0 + 1,
    })
  })

  test('a turn without a hook is detected from the registry', () => {
    const state = registryRead(idleSession(), registry('busy'), T0 + 60_000)
    const after = settle(state, T0 + 60_000 + LIMITS.claude_registry_lag_ms)
    expect(after).toMatchObject({ turn: 'busy', turn_seq: state.turn_seq + 1 })
  })

  test('an open dialog in the registry blocks a ring at once', () => {
    const state = registryRead(idleSession(), registry('waiting'), T0 + 60_000)
    expect(registryBlocksRing(state)).toBe(true)
    expect(foundBusy(state, T0 + 60_000).turn).toBe('busy')
  })

  test('a registry that still shows busy just after a Stop is ignored', () => {
    const busy = registryRead(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      registry('busy'),
      T0,
    )
    const stopped = hookFired(busy, turnEvent('Stop'), T0 + 9_000)
    expect(settle(stopped, T0 + 9_000 + LIMITS.claude_registry_lag_ms - 1).turn).toBe('idle')
    const caught_up = registryRead(stopped, registry('idle'), T0 + 9_050)
    expect(settleDeadline(caught_up)).toBeNull()
  })

  test('the registry is ignored while subagents work in the background', () => {
    const tasks = JSON.stringify([{ id: 'a1', type: 'subagent', status: 'running' }])
    const busy = registryRead(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      registry('busy'),
      T0,
    )
    const stopped = hookFired(busy, turnEvent('Stop', { background_tasks: tasks }), T0 + 9_000)
    expect(registryBlocksRing(stopped)).toBe(false)
    expect(settle(stopped, T0 + 60_000).turn).toBe('idle')
  })

  const stoppedWith = (...tasks: object[]) => {
    const busy = registryRead(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      registry('busy'),
      T0,
    )
    return hookFired(busy, turnEvent('Stop', { background_tasks: JSON.stringify(tasks) }), T0 + 9_000)
  }

  test.each([
    [[{ type: 'shell', status: 'running' }]],
    [[{ type: 'shell', status: 'running' }, { type: 'monitor' }]],
  ])('the registry is used while only %j runs in the background', (tasks) => {
    const stopped = stoppedWith(...tasks)
    expect(registryBlocksRing(stopped)).toBe(true)
    expect(settle(stopped, T0 + 9_000 + LIMITS.claude_registry_lag_ms)).toMatchObject({
      turn: 'busy',
      turn_seq: stopped.turn_seq + 1,
    })
  })

  test.each([
    [[{ type: 'shell' }, { type: 'subagent' }]],
    [[{ type: 'workflow' }]],
    [[{ type: 'something new' }]],
    [[{ status: 'running' }]],
  ])('the registry is ignored while %j runs in the background', (tasks) => {
    expect(registryBlocksRing(stoppedWith(...tasks))).toBe(false)
  })

  test('the registry is ignored while a Stop response is pending, and used again afterwards', () => {
    const asked = stopPending(stoppedWith())
    expect(settleDeadline(asked)).toBeNull()
    expect(registryRead(asked, registry('busy', 's2'), T0 + 20_000).turn).toBe('idle')
    const answered = stopAnswered(asked, T0 + 20_000)
    expect(settleDeadline(answered)).toBe(T0 + 20_000 + LIMITS.claude_registry_lag_ms)
  })

  test('a turn that began during a pending Stop keeps its start time', () => {
    const begun = hookFired(stopPending(stoppedWith()), turnEvent('UserPromptSubmit'), T0 + 9_500)
    expect(stopAnswered(begun, T0 + 20_000)).toMatchObject({ turn: 'busy', turn_since_ms: T0 + 9_500 })
  })

  test('reading the registry never ends a turn, because unseen drains are released first', () => {
    const at_prompt = registryRead(stillBusy(), registry('idle'), T0 + 5_000)
    const read = registryRead(at_prompt, registry('idle', 's2'), T0 + 60_000)
    expect(read.turn).toBe('busy')
    expect(settleDeadline(read)).toBe(T0 + 5_000 + LIMITS.claude_settle_ms)
  })
  const stillBusy = () =>
    registryRead(hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0), registry('busy'), T0)

  test.each(['', '{"sessionId":"s1","sta', '[]'])(
    'a partly written registry file %j is undefined',
    (text) => {
      expect(parseRegistryRecord(text)).toBeUndefined()
    },
  )

  test('a missing registry file is null', () => {
    expect(parseRegistryRecord(null)).toBeNull()
    expect(parseRegistryRecord('{"status":"waiting"}')).toEqual({ status: 'waiting' })
  })

  test('a session id is taken from the registry only if it has changed there', () => {
    const resumed = registryRead(idleSession(), registry('idle', 's2'), T0 + 20_000)
    expect(resumed.session_id).toBe('s2')
    const by_hook = hookFired(resumed, turnEvent('UserPromptSubmit', { session_id: 's3' }), T0 + 21_000)
    expect(registryRead(by_hook, registry('busy', 's2'), T0 + 21_050).session_id).toBe('s3')
  })

  test('a missing registry changes nothing', () => {
    const busy = hookFired(startTracking('s1', T0), turnEvent('UserPromptSubmit'), T0)
    expect(settleDeadline(registryRead(busy, null, T0))).toBeNull()
  })
})

describe('receipts', () => {
  test('the short id of a doorbell in a prompt is the receipt', () => {
    const bell = doorbell()
    const state = bellPosted(idleSession(), bell.doorbell_id)
    const seen = hookFired(state, turnEvent('UserPromptSubmit', { prompt: bell.text }), T0)
    expect(seen.seen_doorbell_id).toBe(bell.doorbell_id)
  })

  test('a prompt with another short id is not a receipt', () => {
    const state = bellPosted(idleSession(), doorbell().doorbell_id)
    const prompt = `what does ${doorbell().text} mean?`
    expect(hookFired(state, turnEvent('UserPromptSubmit', { prompt }), T0).seen_doorbell_id).toBeNull()
  })

  test('a doorbell that arrives during a turn is seen in it', () => {
    const bell = doorbell()
    const busy = hookFired(bellPosted(idleSession(), bell.doorbell_id), turnEvent('UserPromptSubmit'), T0)
    const seen = hookFired(busy, turnEvent('UserPromptSubmit', { prompt: bell.text }), T0)
    expect(seen).toMatchObject({ seen_doorbell_id: bell.doorbell_id, turn_seq: busy.turn_seq })
  })

  test('a doorbell in a Stop response is seen with the next hook', () => {
    const bell = doorbell()
    const stopped = hookFired(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      turnEvent('Stop'),
      T0,
    )
    const on = bellContinued(stopped, bell.doorbell_id, T0)
    expect(on).toMatchObject({ turn: 'busy', turn_seq: stopped.turn_seq + 1, seen_doorbell_id: null })
    expect(hookFired(on, turnEvent('PreToolUse'), T0).seen_doorbell_id).toBe(bell.doorbell_id)
    expect(hookFired(on, turnEvent('Stop'), T0).seen_doorbell_id).toBe(bell.doorbell_id)
  })

  test('a doorbell in a Stop response that was not read is never seen', () => {
    const bell = doorbell()
    const stopped = hookFired(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      turnEvent('Stop'),
      T0,
    )
    const on = registryRead(bellContinued(stopped, bell.doorbell_id, T0), registry('idle'), T0 + 10)
    const idle = settle(on, T0 + 60_000)
    expect(idle.turn).toBe('idle')
    const next = hookFired(idle, turnEvent('UserPromptSubmit', { prompt: 'hello' }), T0 + 61_000)
    expect(hookFired(next, turnEvent('Stop'), T0 + 62_000).seen_doorbell_id).toBeNull()
  })
})

test('in any sequence of events turns increase by one and a deadline changes the turn', () => {
  const bell = doorbell()
  const step = fc.oneof(
    fc
      .constantFrom(
        'UserPromptSubmit',
        'PreToolUse',
        'PostToolUse',
        'Stop',
        'StopFailure',
        'PermissionRequest',
      )
      .map((event) => (state: TrackedTurn, now: number) => hookFired(state, turnEvent(event), now)),
    fc
      .constantFrom('idle', 'busy', 'waiting', 'shell', null)
      .map((status) => (state: TrackedTurn, now: number) => registryRead(state, registry(status), now)),
    fc.constant((state: TrackedTurn, now: number) => settle(state, now)),
    fc.constant((state: TrackedTurn) => bellPosted(state, bell.doorbell_id)),
    fc.constant((state: TrackedTurn) => stopPending(state)),
    fc.constant((state: TrackedTurn, now: number) => stopAnswered(state, now)),
    fc.constant((state: TrackedTurn, now: number) => bellContinued(state, bell.doorbell_id, now)),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(step, fc.integer({ min: 0, max: 4_000 })), { maxLength: 40 }), (steps) => {
      let state = startTracking('s1', T0)
      let now = T0
      for (const [advance, waited] of steps) {
        now += waited
        const next = advance(state, now)
        const begun = next.turn === 'busy' && (state.turn !== 'busy' || next.turn_seq > state.turn_seq)
        expect(next.turn_seq).toBe(state.turn_seq + (begun ? 1 : 0))
        const at = settleDeadline(next)
        if (at !== null) expect(settle(next, Math.max(at, now)).turn).not.toBe(next.turn)
        state = next
      }
    }),
  )
})
