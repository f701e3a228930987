import { expect, test } from 'vitest'
import { createMemoryEventLog } from '../../src/storage/memory/event-log.ts'
import { describeEventLog, EVENTS_KEPT } from '../suites/event-log.suite.ts'
import { fakeClock } from '../support/fakes/fake-clock.ts'

describeEventLog('memory', async (clock) => {
  const log = createMemoryEventLog(clock, { events_max: EVENTS_KEPT })
  return { log, afterClose: async () => log, afterKill: async () => log }
})

test('large events are forgotten before there are as many as small ones may be', () => {
  const log = createMemoryEventLog(fakeClock(), { events_max: 1_000, bytes_max: 10_000 })
  for (let n = 0; n < 500; n++)
    log.append({ type: 'large', agent_id: null, data: { text: 'x'.repeat(1_000) } })
  const { events, next } = log.read({ limit: 1_000 })
  expect(events.length).toBeGreaterThanOrEqual(10)
  expect(events.length).toBeLessThanOrEqual(20)
  expect([events.at(-1)?.seq, next]).toEqual([500, 500])
})
