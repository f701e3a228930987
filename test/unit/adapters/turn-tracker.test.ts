/** Where a session's turn stands, told from what the real client was seen to send. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { recordIn, RegistryRecord, TurnEvent } from '../../../adapters/claude-code/turn-events.ts'
import {
  askAnswered,
  bellAsked,
  bellContinued,
  bellPosted,
  foundBusy,
  hookFired,
  registryForbids,
  registryRead,
  settled,
  settlesAt,
  startTracking,
  type TrackedTurn,
  wasInterrupted,
} from '../../../adapters/claude-code/turn-tracker.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
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
  return settled(registryRead(startTracking('s1', T0), registry('idle', 's1'), now), now + 10_000)
}

describe('the hooks that the client sends', () => {
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

  test('the end of a subagent says nothing about the turn', () => {
    const busy = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0)
    expect(hookFired(busy, captured('SubagentStop'), T0)).toBe(busy)
  })

  test('a compaction leaves the turn as it was', () => {
    const busy = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0)
    expect(hookFired(busy, captured('SessionStart'), T0).turn).toBe('busy')
  })

  test('the end of a session is the concern of the session that begins', () => {
    expect(hookFired(idleSession(), captured('SessionEnd'), T0).session_id).toBe('s1')
  })

  test('the registry of an idle session is understood', () => {
    const record = JSON.parse(
      fs.readFileSync(path.join(FIXTURES, 'session-registry.json'), 'utf8'),
    ) as unknown
    expect(RegistryRecord.parse(record)).toMatchObject({
      status: 'idle',
      sessionId: expect.any(String) as string,
    })
  })

  test('a status that a later client invents is no status', () => {
    expect(RegistryRecord.parse({ status: 'pondering' }).status).toBeNull()
  })

  test('an event that nobody knows changes nothing', () => {
    const state = idleSession()
    expect(hookFired(state, turnEvent('SomethingNew'), T0)).toBe(state)
  })
})

describe('turns', () => {
  test('a prompt that is typed during a turn begins no other', () => {
    const first = hookFired(idleSession(), turnEvent('UserPromptSubmit', { prompt: 'one' }), T0)
    const second = hookFired(first, turnEvent('UserPromptSubmit', { prompt: 'two' }), T0 + 5)
    expect(second.turn_seq).toBe(first.turn_seq)
  })

  test('a prompt after an interrupt that was not yet believed begins another', () => {
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

  test('a turn of another name begins another, also where no prompt of its own was told', () => {
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

  test('a turn that the registry told of first is named by its first hook, and is one', () => {
    const over = hookFired(
      hookFired(idleSession(), turnEvent('UserPromptSubmit', { prompt_id: 'first' }), T0),
      turnEvent('Stop', { prompt_id: 'first' }),
      T0,
    )
    const at = T0 + LIMITS.claude_registry_lag_ms
    const begun = settled(registryRead(over, registry('busy'), T0), at)
    expect(begun.turn).toBe('busy')
    const named = hookFired(begun, turnEvent('PreToolUse', { prompt_id: 'second' }), at + 5)
    expect(named).toMatchObject({ turn: 'busy', turn_seq: begun.turn_seq, prompt_id: 'second' })
  })

  test('a bell in the answer to a Stop begins one turn, whatever that is named', () => {
    const { doorbell_id } = doorbell()
    const first = hookFired(idleSession(), turnEvent('UserPromptSubmit', { prompt_id: 'first' }), T0)
    const over = hookFired(first, turnEvent('Stop', { prompt_id: 'first' }), T0)
    const continued = bellContinued(over, doorbell_id, T0)
    const seen = hookFired(continued, turnEvent('PreToolUse', { prompt_id: 'second' }), T0)
    expect(seen).toMatchObject({ turn_seq: continued.turn_seq, seen_doorbell_id: doorbell_id })
  })

  test('a prompt right after the first, before the registry followed, begins no other', () => {
    const first = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0 + 60_000)
    expect(wasInterrupted(first)).toBe(false)
    expect(hookFired(first, turnEvent('UserPromptSubmit'), T0 + 60_010).turn_seq).toBe(first.turn_seq)
  })

  test('begin with the time, so that a worker that comes back never counts backwards', () => {
    const first = startTracking('s1', T0)
    const later = [1, 2, 3].reduce(
      (state) => hookFired(hookFired(state, turnEvent('UserPromptSubmit'), T0), turnEvent('Stop'), T0),
      first,
    )
    expect(startTracking('s1', 0, T0 + 1_000).turn_seq).toBeGreaterThan(later.turn_seq)
  })

  test('/clear ends what was, under another session', () => {
    const busy = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0)
    const cleared = hookFired(busy, turnEvent('SessionStart', { source: 'clear', session_id: 's2' }), T0)
    expect(cleared).toMatchObject({ turn: 'idle', session_id: 's2', turn_seq: busy.turn_seq })
  })

  test('a minute at the prompt is idle, even without a registry', () => {
    const busy = hookFired(startTracking('s1', T0), turnEvent('UserPromptSubmit'), T0)
    expect(hookFired(busy, turnEvent('Notification', { notification_type: 'idle_prompt' }), T0).turn).toBe(
      'idle',
    )
  })

  test('another notification changes nothing', () => {
    const state = idleSession()
    expect(hookFired(state, turnEvent('Notification', { notification_type: 'auth_success' }), T0)).toBe(state)
  })
})

describe('the registry fills the gaps of the hooks', () => {
  test('an interrupt is believed once the prompt has stood for a while', () => {
    const busy = registryRead(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      registry('busy'),
      T0 + 10,
    )
    const at_prompt = registryRead(busy, registry('idle'), T0 + 5_000)
    expect(at_prompt.turn).toBe('busy')
    expect(settlesAt(at_prompt)).toBe(T0 + 5_000 + LIMITS.claude_settle_ms)
    expect(settled(at_prompt, T0 + 5_000 + LIMITS.claude_settle_ms - 1).turn).toBe('busy')
    expect(settled(at_prompt, T0 + 5_000 + LIMITS.claude_settle_ms).turn).toBe('idle')
  })

  test('a prompt that another hook refused leaves the session idle again', () => {
    const busy = hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0 + 60_000)
    expect(settlesAt(busy)).toBe(T0 + 60_000 + LIMITS.claude_settle_ms)
  })

  test('a background shell counts as the prompt', () => {
    const state = registryRead(startTracking('s1', T0), registry('shell'), T0)
    expect(settled(state, T0 + LIMITS.claude_registry_lag_ms).turn).toBe('idle')
  })

  test('a worker that came back in the middle of a turn sees it', () => {
    const state = registryRead(startTracking('s1', T0), registry('busy'), T0)
    expect(settled(state, T0 + LIMITS.claude_registry_lag_ms)).toMatchObject({
      turn: 'busy',
      turn_seq: T0 + 1,
    })
  })

  test('a turn that no hook announced is a turn', () => {
    const state = registryRead(idleSession(), registry('busy'), T0 + 60_000)
    const after = settled(state, T0 + 60_000 + LIMITS.claude_registry_lag_ms)
    expect(after).toMatchObject({ turn: 'busy', turn_seq: state.turn_seq + 1 })
  })

  test('an open dialog forbids a ring at once', () => {
    const state = registryRead(idleSession(), registry('waiting'), T0 + 60_000)
    expect(registryForbids(state)).toBe(true)
    expect(foundBusy(state, T0 + 60_000).turn).toBe('busy')
  })

  test('just after a Stop it lags behind, and is not believed yet', () => {
    const busy = registryRead(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      registry('busy'),
      T0,
    )
    const stopped = hookFired(busy, turnEvent('Stop'), T0 + 9_000)
    expect(settled(stopped, T0 + 9_000 + LIMITS.claude_registry_lag_ms - 1).turn).toBe('idle')
    const caught_up = registryRead(stopped, registry('idle'), T0 + 9_050)
    expect(settlesAt(caught_up)).toBeNull()
  })

  test('says nothing about the main agent while subagents work in the background', () => {
    const tasks = JSON.stringify([{ id: 'a1', type: 'subagent', status: 'running' }])
    const busy = registryRead(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      registry('busy'),
      T0,
    )
    const stopped = hookFired(busy, turnEvent('Stop', { background_tasks: tasks }), T0 + 9_000)
    expect(registryForbids(stopped)).toBe(false)
    expect(settled(stopped, T0 + 60_000).turn).toBe('idle')
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
  ])('is believed while nothing but %j runs in the background: with that it shows a prompt', (tasks) => {
    const stopped = stoppedWith(...tasks)
    expect(registryForbids(stopped)).toBe(true)
    expect(settled(stopped, T0 + 9_000 + LIMITS.claude_registry_lag_ms)).toMatchObject({
      turn: 'busy',
      turn_seq: stopped.turn_seq + 1,
    })
  })

  test.each([
    [[{ type: 'shell' }, { type: 'subagent' }]],
    [[{ type: 'workflow' }]],
    [[{ type: 'something new' }]],
    [[{ status: 'running' }]],
  ])('says nothing about the main agent while %j runs in the background', (tasks) => {
    expect(registryForbids(stoppedWith(...tasks))).toBe(false)
  })

  test('is not believed while the answer to a Stop is waited for, and anew once it is there', () => {
    const asked = bellAsked(stoppedWith())
    expect(settlesAt(asked)).toBeNull()
    expect(registryRead(asked, registry('busy', 's2'), T0 + 20_000).turn).toBe('idle')
    const answered = askAnswered(asked, T0 + 20_000)
    expect(settlesAt(answered)).toBe(T0 + 20_000 + LIMITS.claude_registry_lag_ms)
  })

  test('a turn that began meanwhile keeps the time of its begin when the answer is there', () => {
    const begun = hookFired(bellAsked(stoppedWith()), turnEvent('UserPromptSubmit'), T0 + 9_500)
    expect(askAnswered(begun, T0 + 20_000)).toMatchObject({ turn: 'busy', turn_since_ms: T0 + 9_500 })
  })

  test('never ends a turn by being read: what the agent was not shown goes back first', () => {
    const at_prompt = registryRead(stillBusy(), registry('idle'), T0 + 5_000)
    const read = registryRead(at_prompt, registry('idle', 's2'), T0 + 60_000)
    expect(read.turn).toBe('busy')
    expect(settlesAt(read)).toBe(T0 + 5_000 + LIMITS.claude_settle_ms)
  })
  const stillBusy = () =>
    registryRead(hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0), registry('busy'), T0)

  test.each(['', '{"sessionId":"s1","sta', '[]'])('a file that is caught as %j says nothing', (text) => {
    expect(recordIn(text)).toBeUndefined()
  })

  test('a file that is gone says that there is none', () => {
    expect(recordIn(null)).toBeNull()
    expect(recordIn('{"status":"waiting"}')).toEqual({ status: 'waiting' })
  })

  test('a session id is taken over when it changes there, not when it is old news', () => {
    const resumed = registryRead(idleSession(), registry('idle', 's2'), T0 + 20_000)
    expect(resumed.session_id).toBe('s2')
    const by_hook = hookFired(resumed, turnEvent('UserPromptSubmit', { session_id: 's3' }), T0 + 21_000)
    expect(registryRead(by_hook, registry('busy', 's2'), T0 + 21_050).session_id).toBe('s3')
  })

  test('one that is missing changes nothing', () => {
    const busy = hookFired(startTracking('s1', T0), turnEvent('UserPromptSubmit'), T0)
    expect(settlesAt(registryRead(busy, null, T0))).toBeNull()
  })
})

describe('receipts', () => {
  test('the short id in a prompt is the receipt', () => {
    const bell = doorbell()
    const state = bellPosted(idleSession(), bell.doorbell_id)
    const seen = hookFired(state, turnEvent('UserPromptSubmit', { prompt: bell.text }), T0)
    expect(seen.seen_doorbell_id).toBe(bell.doorbell_id)
  })

  test('another prompt is none', () => {
    const state = bellPosted(idleSession(), doorbell().doorbell_id)
    const prompt = `what does ${doorbell().text} mean?`
    expect(hookFired(state, turnEvent('UserPromptSubmit', { prompt }), T0).seen_doorbell_id).toBeNull()
  })

  test('a bell that came in the middle of a turn is seen in it', () => {
    const bell = doorbell()
    const busy = hookFired(bellPosted(idleSession(), bell.doorbell_id), turnEvent('UserPromptSubmit'), T0)
    const seen = hookFired(busy, turnEvent('UserPromptSubmit', { prompt: bell.text }), T0)
    expect(seen).toMatchObject({ seen_doorbell_id: bell.doorbell_id, turn_seq: busy.turn_seq })
  })

  test('an answered Stop is seen by what the agent does next', () => {
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

  test('an answered Stop that nobody read is never seen', () => {
    const bell = doorbell()
    const stopped = hookFired(
      hookFired(idleSession(), turnEvent('UserPromptSubmit'), T0),
      turnEvent('Stop'),
      T0,
    )
    const on = registryRead(bellContinued(stopped, bell.doorbell_id, T0), registry('idle'), T0 + 10)
    const idle = settled(on, T0 + 60_000)
    expect(idle.turn).toBe('idle')
    const next = hookFired(idle, turnEvent('UserPromptSubmit', { prompt: 'hello' }), T0 + 61_000)
    expect(hookFired(next, turnEvent('Stop'), T0 + 62_000).seen_doorbell_id).toBeNull()
  })
})

test('whatever happens, turns are counted one by one and a deadline always changes something', () => {
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
    fc.constant((state: TrackedTurn, now: number) => settled(state, now)),
    fc.constant((state: TrackedTurn) => bellPosted(state, bell.doorbell_id)),
    fc.constant((state: TrackedTurn) => bellAsked(state)),
    fc.constant((state: TrackedTurn, now: number) => askAnswered(state, now)),
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
        const at = settlesAt(next)
        if (at !== null) expect(settled(next, Math.max(at, now)).turn).not.toBe(next.turn)
        state = next
      }
    }),
  )
})
