import { createMemoryEventLog } from '../../src/storage/memory/event-log.ts'
import { describeEventLog, EVENTS_KEPT } from '../suites/event-log.suite.ts'

describeEventLog('memory', async (clock) => {
  const log = createMemoryEventLog(clock, { events_max: EVENTS_KEPT })
  return { log, afterClose: async () => log, afterKill: async () => log }
})
