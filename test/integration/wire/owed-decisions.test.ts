import { afterEach, expect, test } from 'vitest'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { liveHub, type LiveHub } from '../../support/worlds/live-hub.ts'
import { troubledRecords } from '../../support/disk/troubled-records.ts'

let hub: LiveHub
afterEach(() => hub.close())

const DECISION = { domain: 'api', scope: 'src/', summary: 'A', context: 'c', rationale: 'r' }
const said = async () => {
  const { entries } = await hub.call<{ entries: { summary: string }[] }>('blackboard', 'recent', {})
  return entries.map(({ summary }) => summary)
}

test('pending outbox items of a decision are delivered by a hub without further decisions, and by its successor', async () => {
  const clock = fakeClock()
  const kept = createMemoryRecordStore()
  let shut = true
  const refused = () => new TurnbellError('store_unavailable', { detail: 'it is full' })
  const records = troubledRecords(kept, (kind) => (shut && kind === 'entry' ? refused() : null))
  hub = await liveHub({ clock, stores: { records, events: createMemoryEventLog(clock) } })
  await hub.call('decisions', 'decide', DECISION)
  await hub.call('decisions', 'decide', { ...DECISION, domain: 'ui', summary: 'B' })
  expect(await said()).toEqual([])
  await hub.close()

  hub = await liveHub({ clock, stores: { records } })
  await clock.advance(LIMITS.outbox_sweep_ms)
  // No request has been made, so no check has run.
  expect(hub.logged.filter(({ level }) => level === 'warn')).toEqual([])
  expect(await said()).toEqual([])
  await clock.advance(LIMITS.outbox_sweep_ms)
  await eventually('that it was tried', () => hub.logged.some(({ level }) => level === 'warn'))
  shut = false
  await clock.advance(LIMITS.outbox_retry_ms + LIMITS.outbox_sweep_ms)
  await eventually('both on the blackboard', async () => (await said()).length === 2)
  expect(await said()).toEqual(['A', 'B'])
})
