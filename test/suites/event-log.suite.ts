/** The promises of every event log, in the order of `ports/event-log.ts`. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { HubEvent } from '../../src/contracts/events.ts'
import type { EventLog } from '../../src/ports/event-log.ts'
import { fakeClock, type FakeClock } from '../support/fakes/fake-clock.ts'

/** Minimum number of events that the opened log keeps. */
export const EVENTS_KEPT = 20

export interface OpenedEventLog {
  log: EventLog
  /** Returns the log after a clean close; the same log for one that is only in memory. */
  afterClose(): Promise<EventLog>
  /** Returns the log after a kill, without a close; the same log for one that is only in memory. */
  afterKill(): Promise<EventLog>
}

export function describeEventLog(name: string, open: (clock: FakeClock) => Promise<OpenedEventLog>): void {
  describe(`event log: ${name}`, () => {
    let clock: FakeClock
    let opened: OpenedEventLog
    let log: EventLog

    beforeEach(async () => {
      clock = fakeClock()
      opened = await open(clock)
      log = opened.log
    })

    const append = (type: string, agent_id: string | null = null) =>
      log.append({ type, agent_id, data: { type } })
    const types = (query: Partial<Parameters<EventLog['read']>[0]> = {}) =>
      log.read({ limit: 100, ...query }).events.map((event) => event.type)

    test('an event gets the next seq and the time', async () => {
      const first = append('signal.pushed', 'ada')
      await clock.advance(5)
      const second = append('peer.joined')
      expect(first).toEqual({
        seq: 1,
        type: 'signal.pushed',
        timestamp: '2026-03-01T12:00:00.000Z',
        agent_id: 'ada',
        data: { type: 'signal.pushed' },
      })
      expect(second).toMatchObject({ seq: 2, timestamp: '2026-03-01T12:00:00.005Z' })
    })

    test('every watcher is called in order before append returns, until it stops watching', () => {
      const seen: string[] = []
      const watcher = (event: HubEvent) => void seen.push(event.type)
      const stop = log.watch(watcher)
      const stopAgain = log.watch(watcher)
      append('a')
      expect(seen).toEqual(['a', 'a'])
      stop()
      stop()
      append('b')
      stopAgain()
      append('c')
      expect(seen).toEqual(['a', 'a', 'b'])
    })

    test('a read returns events oldest first from any position, and where to continue', () => {
      for (const type of ['a', 'b', 'c', 'd']) append(type)
      expect(types()).toEqual(['a', 'b', 'c', 'd'])
      const page = log.read({ since: 1, limit: 2 })
      expect(page).toMatchObject({ events: [{ seq: 2 }, { seq: 3 }], next: 3 })
      expect(log.read({ since: page.next, limit: 2 })).toMatchObject({ events: [{ seq: 4 }], next: 4 })
      expect(log.read({ since: 4, limit: 2 })).toEqual({ events: [], next: 4 })
      expect(log.read({ since: 99, limit: 2 })).toEqual({ events: [], next: 4 })
    })

    test('a page of matching events does not stop at others', () => {
      for (let count = 0; count < 10; count += 1) append(count % 5 === 0 ? 'signal.pushed' : 'other')
      const first = log.read({ type: 'signal.pushed', limit: 1 })
      expect(first).toMatchObject({ events: [{ seq: 1 }], next: 1 })
      const second = log.read({ type: 'signal.pushed', since: first.next, limit: 1 })
      expect(second).toMatchObject({ events: [{ seq: 6 }], next: 6 })
      // No further events match: the next page begins after the last examined event.
      expect(log.read({ type: 'signal.pushed', since: 6, limit: 1 })).toEqual({ events: [], next: 10 })
    })

    test('a read can start at a time', async () => {
      append('before')
      await clock.advance(1000)
      append('at')
      await clock.advance(1000)
      append('after')
      expect(types({ since: '2026-03-01T12:00:00.999Z' })).toEqual(['at', 'after'])
      expect(types({ since: '2026-03-01T12:00:01.000Z' })).toEqual(['after'])
      expect(types({ since: '2026-03-02T00:00:00.000Z' })).toEqual([])
      // The same moments in other notations.
      expect(types({ since: '2026-03-01T12:00:01Z' })).toEqual(['after'])
      expect(types({ since: '2026-03-01T14:00:01.000+02:00' })).toEqual(['after'])
      expect(types({ since: '2026-03-01T07:00:00.999-05:00' })).toEqual(['at', 'after'])
    })

    test('a read filters by persona, by type and by type prefix', () => {
      append('signal.pushed', 'ada')
      append('signal.drained', 'bob')
      append('signals', 'ada')
      append('peer.joined', 'ada')
      expect(types({ agent_id: 'ada' })).toEqual(['signal.pushed', 'signals', 'peer.joined'])
      expect(types({ type: 'signal.' })).toEqual(['signal.pushed', 'signal.drained'])
      expect(types({ type: 'signal' })).toEqual([])
      expect(types({ type: 'signal.', agent_id: 'bob' })).toEqual(['signal.drained'])
    })

    test('a read filters by the name of the caller and by run', () => {
      log.append({ type: 'dispatch', agent_id: 'ada', data: { agent_id: 'reviewer', run_id: 'r1' } })
      log.append({ type: 'result', agent_id: 'ada', data: { agent_id: 'anonymous', run_id: null } })
      expect(types({ agent_id: 'reviewer' })).toEqual(['dispatch'])
      expect(types({ run_id: 'r1' })).toEqual(['dispatch'])
      expect(types({ agent_id: 'ada' })).toEqual(['dispatch', 'result'])
      expect(types({ run_id: 'r1', agent_id: 'bob' })).toEqual([])
    })

    test('the log is bounded: the oldest events are dropped and seqs continue', () => {
      for (let count = 0; count < 20 * EVENTS_KEPT; count += 1) append('a')
      const { events } = log.read({ limit: 100_000 })
      expect(events.length).toBeGreaterThanOrEqual(EVENTS_KEPT)
      expect(events.length).toBeLessThan(4 * EVENTS_KEPT)
      expect(events.at(-1)?.seq).toBe(20 * EVENTS_KEPT)
      expect(append('b').seq).toBe(20 * EVENTS_KEPT + 1)
    })

    test('written events are there when the log is opened after a kill', async () => {
      append('a')
      append('b')
      await log.written()
      log = await opened.afterKill()
      expect(types()).toEqual(['a', 'b'])
      await log.written()
    })

    test('a log continues after a close', async () => {
      for (let count = 0; count < 2 * EVENTS_KEPT; count += 1) append('a', 'ada')
      const before = log.read({ limit: EVENTS_KEPT, since: EVENTS_KEPT }).events
      log = await opened.afterClose()
      expect(log.read({ limit: EVENTS_KEPT, since: EVENTS_KEPT }).events).toEqual(before)
      expect(append('b').seq).toBe(2 * EVENTS_KEPT + 1)
    })
  })
}
