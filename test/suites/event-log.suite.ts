/** What every event log promises, in the order of `ports/event-log.ts`. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { HubEvent } from '../../src/contracts/events.ts'
import type { EventLog } from '../../src/ports/event-log.ts'
import { fakeClock, type FakeClock } from '../support/fake-clock.ts'

/** How many events the opened log must at least keep. */
export const EVENTS_KEPT = 20

export interface OpenedEventLog {
  log: EventLog
  /** What is there after a clean close; itself, where nothing survives. */
  afterClose(): Promise<EventLog>
  /** What is there when nobody has closed it; itself, where nothing survives. */
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

    test('every watcher has it before append returns, in order, until it stops watching', () => {
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

    test('reads oldest first, from any position, and says where to go on', () => {
      for (const type of ['a', 'b', 'c', 'd']) append(type)
      expect(types()).toEqual(['a', 'b', 'c', 'd'])
      const page = log.read({ since: 1, limit: 2 })
      expect(page).toMatchObject({ events: [{ seq: 2 }, { seq: 3 }], next: 3 })
      expect(log.read({ since: page.next, limit: 2 })).toMatchObject({ events: [{ seq: 4 }], next: 4 })
      expect(log.read({ since: 4, limit: 2 })).toEqual({ events: [], next: 4 })
      expect(log.read({ since: 99, limit: 2 })).toEqual({ events: [], next: 4 })
    })

    test('a page of matching events is not held up by others', () => {
      for (let count = 0; count < 10; count += 1) append(count % 5 === 0 ? 'signal.pushed' : 'other')
      const first = log.read({ type: 'signal.pushed', limit: 1 })
      expect(first).toMatchObject({ events: [{ seq: 1 }], next: 1 })
      const second = log.read({ type: 'signal.pushed', since: first.next, limit: 1 })
      expect(second).toMatchObject({ events: [{ seq: 6 }], next: 6 })
      // Nothing more now: the next page begins after what was looked through.
      expect(log.read({ type: 'signal.pushed', since: 6, limit: 1 })).toEqual({ events: [], next: 10 })
    })

    test('reads since a time', async () => {
      append('before')
      await clock.advance(1000)
      append('at')
      await clock.advance(1000)
      append('after')
      expect(types({ since: '2026-03-01T12:00:00.999Z' })).toEqual(['at', 'after'])
      expect(types({ since: '2026-03-01T12:00:01.000Z' })).toEqual(['after'])
      expect(types({ since: '2026-03-02T00:00:00.000Z' })).toEqual([])
      // The same moments, as others write them.
      expect(types({ since: '2026-03-01T12:00:01Z' })).toEqual(['after'])
      expect(types({ since: '2026-03-01T14:00:01.000+02:00' })).toEqual(['after'])
      expect(types({ since: '2026-03-01T07:00:00.999-05:00' })).toEqual(['at', 'after'])
    })

    test('reads by persona, by type and by family of types', () => {
      append('signal.pushed', 'ada')
      append('signal.drained', 'bob')
      append('signals', 'ada')
      append('peer.joined', 'ada')
      expect(types({ agent_id: 'ada' })).toEqual(['signal.pushed', 'signals', 'peer.joined'])
      expect(types({ type: 'signal.' })).toEqual(['signal.pushed', 'signal.drained'])
      expect(types({ type: 'signal' })).toEqual([])
      expect(types({ type: 'signal.', agent_id: 'bob' })).toEqual(['signal.drained'])
    })

    test('reads what somebody did under a name of its own, and in a run', () => {
      log.append({ type: 'dispatch', agent_id: 'ada', data: { agent_id: 'reviewer', run_id: 'r1' } })
      log.append({ type: 'result', agent_id: 'ada', data: { agent_id: 'anonymous', run_id: null } })
      expect(types({ agent_id: 'reviewer' })).toEqual(['dispatch'])
      expect(types({ run_id: 'r1' })).toEqual(['dispatch'])
      expect(types({ agent_id: 'ada' })).toEqual(['dispatch', 'result'])
      expect(types({ run_id: 'r1', agent_id: 'bob' })).toEqual([])
    })

    test('is bounded: the oldest go, the newest stay, and seqs go on', () => {
      for (let count = 0; count < 20 * EVENTS_KEPT; count += 1) append('a')
      const { events } = log.read({ limit: 100_000 })
      expect(events.length).toBeGreaterThanOrEqual(EVENTS_KEPT)
      expect(events.length).toBeLessThan(4 * EVENTS_KEPT)
      expect(events.at(-1)?.seq).toBe(20 * EVENTS_KEPT)
      expect(append('b').seq).toBe(20 * EVENTS_KEPT + 1)
    })

    test('what is written is there for who opens the log after a kill', async () => {
      append('a')
      append('b')
      await log.written()
      log = await opened.afterKill()
      expect(types()).toEqual(['a', 'b'])
      await log.written()
    })

    test('goes on where it was closed', async () => {
      for (let count = 0; count < 2 * EVENTS_KEPT; count += 1) append('a', 'ada')
      const before = log.read({ limit: EVENTS_KEPT, since: EVENTS_KEPT }).events
      log = await opened.afterClose()
      expect(log.read({ limit: EVENTS_KEPT, since: EVENTS_KEPT }).events).toEqual(before)
      expect(append('b').seq).toBe(2 * EVENTS_KEPT + 1)
    })
  })
}
