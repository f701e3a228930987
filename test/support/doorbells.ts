/** Creates doorbells for tests, each with its own id. */
import { doorbellText, type Doorbell } from '../../src/contracts/doorbell.ts'
import { systemClock } from '../../src/system/clock.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'

const ids = createIds(systemClock, systemRandom)

export function doorbell(more: Partial<Doorbell> = {}): Doorbell {
  const bell = {
    doorbell_id: ids.next(),
    identity: 'ada',
    pending_count: 1,
    signal_id: ids.next(),
    from: 'bob',
    intent: 'review.request',
    priority: 3,
    reason: 'signal' as const,
    ...more,
  }
  return { ...bell, text: doorbellText(bell) }
}
