import { openFileEventLog } from '../../src/storage/file/events/event-log.ts'
import { describeEventLog, EVENTS_KEPT } from '../suites/event-log.suite.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

describeEventLog('file', async (clock) => {
  const directory = temporaryDirectory()
  const open = () => openFileEventLog({ directory, clock, events_max: EVENTS_KEPT })
  const log = open()
  return {
    log,
    afterKill: async () => open(),
    async afterClose() {
      await log.close()
      return open()
    },
  }
})
