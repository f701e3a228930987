import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ACTIVITY_DATA,
  ReportedEvent,
  type ActivityEvent,
  type ActivityKind,
} from '../../../../src/contracts/activity/event.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { applyEvent, processEnded, stateOf } from '../../../../src/modules/activity/session-state.ts'
import type { StateTrack } from '../../../../src/modules/activity/state-track.ts'
import { EPOCH, eventsOf, SITUATIONS, timeOf, type Situation } from './situations.ts'

const stored = (track: StateTrack): StateTrack => JSON.parse(JSON.stringify(track)) as StateTrack

/** Applies the events that arrive up to a time, with the track stored after each. */
function trackAt(situation: Situation, at: number): StateTrack {
  let track: StateTrack | null = null
  for (const { arrives, at: time, event } of eventsOf(situation)) {
    if (arrives > at) break
    track = event === null ? track && processEnded(track, time) : applyEvent(track, event)
    track &&= stored(track)
  }
  if (track === null) throw new Error('no event')
  return track
}

describe('the state of a session', () => {
  test.each(SITUATIONS)('is true: $name', (situation) => {
    for (const expected of situation.expected) {
      const { state, what, waiting_for, since, evidence, conflict } = stateOf(
        trackAt(situation, expected.at),
        EPOCH + 1_000 * expected.at,
      )
      const found = {
        at: expected.at,
        ...{ state, what, waiting_for },
        evidence: evidence.kind === null ? evidence.source : `${evidence.source} ${evidence.kind}`,
        conflict: conflict !== null,
      }
      const { since: expectedSince, ...rest } = expected
      expect(found).toEqual(rest)
      if (expectedSince !== undefined) expect(since).toBe(timeOf(expectedSince))
    }
  })

  test('the situations are valid events', () => {
    expect(SITUATIONS.length).toBeGreaterThan(24)
    for (const situation of SITUATIONS)
      for (const { event } of eventsOf(situation))
        if (event !== null) expect(ReportedEvent.safeParse(event).error).toBeUndefined()
  })

  test('a person ends a session without a conflict, and its next prompt opens it again', () => {
    const [start, prompt, next] = eventsOf({
      source: 'hook',
      steps: [
        { at: 0, kind: 'session.started', data: {} },
        { at: 1, kind: 'request.started', data: {} },
        { at: 9, kind: 'request.started', data: {} },
      ],
    }).map(({ event }) => event as ActivityEvent)
    let track = applyEvent(applyEvent(null, start as ActivityEvent), prompt as ActivityEvent)
    track = processEnded(track, timeOf(5), 'person')
    expect(stateOf(track, EPOCH + 6_000)).toMatchObject({
      state: 'ended',
      conflict: null,
      evidence: { source: 'person', kind: null, at: timeOf(5) },
    })
    expect(stateOf(applyEvent(track, next as ActivityEvent), EPOCH + 9_000).state).toBe('working')
  })
})

// --- any events

const kinds = Object.keys(ACTIVITY_DATA) as ActivityKind[]
const id = fc.constantFrom('a', 'b', 'c')
const anyEvent: fc.Arbitrary<ActivityEvent> = fc
  .record({
    kind: fc.constantFrom(...kinds),
    seq: fc.integer({ min: 1, max: 30 }),
    turn_seq: fc.integer({ min: 0, max: 4 }),
    agent_id: fc.option(id),
    at: fc.integer({ min: 0, max: 400 }).map(timeOf),
    data: fc.record({
      action_id: id,
      subtask_id: id,
      waiting_id: id,
      usage_id: id,
      tool: fc.constantFrom('Bash', 'Agent', 'Skill'),
      for: fc.constantFrom('permission', 'question', 'plan', 'rate_limit', 'peer'),
      until: fc.option(fc.integer({ min: 0, max: 400 }).map(timeOf), { nil: undefined }),
      status: fc.constantFrom('completed', 'interrupted', 'failed'),
      reason: fc.constantFrom('startup', 'resume', 'clear', 'compact'),
      pid: fc.constantFrom(1, 2),
      what: id,
      trigger: fc.constantFrom('auto', 'manual'),
    }),
  })
  .map(
    (fields) =>
      ({
        ...fields,
        event_id: '0'.repeat(26),
        client: 'claude-code',
        identity: 'ada',
        session_id: 's',
        source: 'hook',
      }) as unknown as ActivityEvent,
  )

const RAISED: ReadonlySet<string> = new Set(['working', 'waiting', 'compacting'])

describe('any events in any order', () => {
  test('a late event never raises the state, and the track remains JSON', () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent, { maxLength: 40 }),
        fc.integer({ min: 0, max: 500 }),
        (events, seconds) => {
          let track: StateTrack | null = null
          const now = EPOCH + 1_000 * seconds
          for (const event of events) {
            const before: StateTrack | null = track
            const text = JSON.stringify(before)
            track = applyEvent(before, event)
            if (JSON.stringify(before) !== text) throw new Error('the track before was changed')
            if (!isDeepStrictEqual(stored(track), track)) throw new Error('not JSON')
            if (before === null || event.seq > before.seq) continue
            const [was, is] = [stateOf(before, now).state, stateOf(track, now).state]
            if (RAISED.has(is) && !RAISED.has(was)) throw new Error(`${was} became ${is}`)
          }
        },
      ),
      { numRuns: 150 },
    )
  })

  test('an ended process stays ended, whichever of its events arrive later', () => {
    const [start] = eventsOf({
      source: 'hook',
      steps: [{ at: 0, kind: 'session.started', data: { pid: 1 } }],
    })
    const ofProcess = fc.array(
      anyEvent.filter(({ kind, data }) => kind !== 'session.ended' && (data as { pid: number }).pid === 1),
    )
    fc.assert(
      fc.property(ofProcess, ofProcess, (first, rest) => {
        let track = applyEvent(null, start?.event as ActivityEvent)
        for (const event of first) track = applyEvent(track, event)
        track = processEnded(track, timeOf(400))
        for (const event of rest) track = applyEvent(track, event)
        expect(stateOf(track, EPOCH + 500_000).state).toBe('ended')
      }),
    )
  })

  test('the lists of a track are bounded', () => {
    let track: StateTrack | null = null
    const count = LIMITS.activity_tracked_max + 10
    const steps = Array.from({ length: count }, (_, index) => [
      { at: 2, kind: 'action.started' as const, data: { action_id: `t${index}`, tool: 'Bash' } },
      { at: 2, kind: 'subtask.started' as const, data: { subtask_id: `a${index}` } },
      { at: 2, kind: 'waiting.started' as const, data: { waiting_id: `w${index}`, for: 'peer' } },
    ]).flat()
    for (const { event } of eventsOf({ source: 'hook', steps }))
      if (event !== null) track = applyEvent(track, event)
    for (const list of ['tools', 'waits', 'subtasks'] as const)
      expect(track?.[list]).toHaveLength(LIMITS.activity_tracked_max)
    expect(track?.tools.at(-1)?.id).toBe(`t${count - 1}`)
    expect(stateOf(track as unknown as StateTrack, EPOCH).what?.length ?? 0).toBeLessThanOrEqual(256)
  })
})
