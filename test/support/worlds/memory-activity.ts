/** The module `activity` over a database in memory, without a thread. */
import { createActivity } from '../../../src/modules/activity/service.ts'
import type { Activity } from '../../../src/modules/activity/types.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { openActivityStore } from '../../../src/storage/sqlite/activity/activity-store.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { createRedactor } from '../../../src/system/redaction/redactor.ts'

const redactor = createRedactor()

export async function memoryActivity(clock: Clock): Promise<{ module: Activity; isUsed: () => boolean }> {
  const module = createActivity({
    store: await openActivityStore({ file: ':memory:' }),
    redactor,
    settings: { capture: 'full', deny: [], retention_days: 30, bytes_max: 2 ** 31 },
    clock,
    ids: createIds(clock, systemRandom),
    log: silentLog,
  })
  return { module, isUsed: () => true }
}
