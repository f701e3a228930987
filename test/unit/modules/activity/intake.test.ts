import { describe, expect, test } from 'vitest'
import type { ActivityReport } from '../../../../src/contracts/activity/event.ts'
import type { SessionState } from '../../../../src/contracts/activity/session-state.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { createIntake } from '../../../../src/modules/activity/intake.ts'
import type { ActivityBatch, IngestResult } from '../../../../src/modules/activity/types.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'

const AT = '2026-01-31T12:00:00.000Z'
const IDLE: SessionState = {
  state: 'idle',
  what: null,
  waiting_for: null,
  since: AT,
  evidence: { source: 'mod', kind: 'request.ended', at: AT },
  conflict: null,
}
const ADA = { tenant_id: 'local', kind: 'agent', identity: 'ada' } as const

function reportOf(count: number, more: Partial<ActivityReport> = {}): ActivityReport {
  const events = Array.from({ length: count }, (_, index) => ({
    event_id: '01JZZZZZZZZZZZZZZZZZZZZZZZ',
    agent_id: null,
    turn_seq: 1,
    seq: index + 1,
    at: AT,
    source: 'mod' as const,
    kind: 'request.started' as const,
    data: {},
  }))
  return { session_id: 's1', client: 'claude-code', events, ...more }
}

function world(ingest?: (batch: ActivityBatch) => Promise<IngestResult>) {
  const clock = fakeClock()
  const batches: ActivityBatch[] = []
  const states: unknown[] = []
  const hooks: unknown[] = []
  const intake = createIntake({
    activity: {
      ingest(batch) {
        batches.push(batch)
        const { length } = batch.events
        return (
          ingest?.(batch) ??
          Promise.resolve({ accepted: length, duplicates: 0, next_seq: length + 1, changed: null })
        )
      },
      ingestHook: (hook) => {
        hooks.push(hook)
        return Promise.resolve({ accepted: 1, duplicates: 0, next_seq: 2, changed: IDLE })
      },
    },
    clock,
    log: silentLog,
    onState: (session, state) => states.push([session, state]),
  })
  return { intake, clock, batches, states, hooks }
}

const unavailable = () => Promise.reject(new TurnbellError('store_unavailable', { detail: 'full' }))

describe('a report', () => {
  test('is passed on with the persona of the caller', async () => {
    const { intake, batches } = world()
    await expect(intake.report(ADA, reportOf(2))).resolves.toEqual({
      accepted: 2,
      duplicates: 0,
      next_seq: 3,
    })
    expect(batches[0]).toMatchObject({ identity: 'ada', client: 'claude-code', spooled: false, dropped: 0 })
    expect(batches[0]?.events[1]).toMatchObject({ seq: 2, identity: 'ada', session_id: 's1' })
  })

  test('of the operator is about the persona that it names', async () => {
    const { intake, batches } = world()
    const operator = { tenant_id: 'local', kind: 'operator', identity: 'operator' } as const
    await intake.report(operator, reportOf(1, { identity: 'bob' }))
    expect(batches[0]?.identity).toBe('bob')
  })

  test('about another persona, or of a daemon, is rejected', async () => {
    const { intake, batches } = world()
    await expect(intake.report(ADA, reportOf(1, { identity: 'bob' }))).rejects.toMatchObject({
      code: 'identity_mismatch',
    })
    await expect(intake.report({ ...ADA, kind: 'daemon' }, reportOf(1))).rejects.toMatchObject({
      code: 'kind_forbidden',
    })
    expect(batches).toEqual([])
  })

  test('that changes the state is announced', async () => {
    const { intake, states } = world(() =>
      Promise.resolve({ accepted: 1, duplicates: 0, next_seq: 2, changed: IDLE }),
    )
    await intake.report(ADA, reportOf(1))
    expect(states).toEqual([[{ session_id: 's1', identity: 'ada', client: 'claude-code' }, IDLE]])
  })
})

test('a hook is passed on, and a changed state announced', async () => {
  const { intake, states, hooks } = world()
  const hook = { identity: 'ada', client: 'codex', body: { session_id: 's9' } }
  await intake.reportHook(hook)
  expect(hooks).toEqual([hook])
  expect(states).toEqual([[{ session_id: 's9', identity: 'ada', client: 'codex' }, IDLE]])
})

describe('what cannot be stored', () => {
  test('is dropped, and counted in the next report of the session', async () => {
    let is_full = true
    const { intake, batches } = world(({ events }) =>
      is_full
        ? unavailable()
        : Promise.resolve({ accepted: events.length, duplicates: 0, next_seq: 9, changed: null }),
    )
    await expect(intake.report(ADA, reportOf(3))).resolves.toEqual({
      accepted: 0,
      duplicates: 0,
      next_seq: 4,
      dropped: 3,
    })
    is_full = false
    await intake.report(ADA, reportOf(1, { session_id: 's2' }))
    await intake.report(ADA, reportOf(1))
    await intake.report(ADA, reportOf(1))
    expect(batches.map(({ session_id, dropped }) => [session_id, dropped])).toEqual([
      ['s1', 0],
      ['s2', 0],
      ['s1', 3],
      ['s1', 0],
    ])
  })

  test('is refused when it comes from the spool, which tries again', async () => {
    const { intake } = world(unavailable)
    await expect(intake.reportSpooled('ada', reportOf(1))).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })

  test('is dropped when too many events of all callers wait', async () => {
    const { intake } = world(() => new Promise(() => {}))
    const identities = Array.from({ length: 10 }, (_, index) => `p${index}`)
    for (const identity of identities) void intake.report({ ...ADA, identity }, reportOf(500))
    await expect(intake.report(ADA, reportOf(1))).resolves.toMatchObject({ accepted: 0, dropped: 1 })
  })

  test('is dropped above the rate of a caller, until time has passed', async () => {
    const { intake, clock } = world()
    const bucket = (LIMITS.activity_rate_max * LIMITS.activity_rate_ms) / 1_000
    for (let sent = 0; sent < bucket; sent += 500) {
      await expect(intake.report(ADA, reportOf(500))).resolves.toMatchObject({ accepted: 500 })
    }
    await expect(intake.report(ADA, reportOf(1))).resolves.toMatchObject({ accepted: 0, dropped: 1 })
    await expect(intake.report({ ...ADA, identity: 'bob' }, reportOf(1))).resolves.toMatchObject({
      accepted: 1,
    })
    await clock.advance(10)
    await expect(intake.report(ADA, reportOf(10))).resolves.toMatchObject({ accepted: 10 })
  })
})
