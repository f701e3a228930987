import { afterEach, beforeEach, expect, test } from 'vitest'
import { createActivity } from '../../../../src/modules/activity/service.ts'
import type { Activity } from '../../../../src/modules/activity/types.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { openActivityStore } from '../../../../src/storage/sqlite/activity/activity-store.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { createRedactor } from '../../../../src/system/redaction/redactor.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { EPOCH, eventsOf, type Step } from './situations.ts'

const redactor = createRedactor()
let activity: Activity
beforeEach(async () => {
  const clock = fakeClock(EPOCH + 100_000)
  activity = createActivity({
    store: await openActivityStore({ file: ':memory:' }),
    ...{ redactor, clock, ids: createIds(clock, systemRandom), log: silentLog },
    settings: { capture: 'full', deny: [], retention_days: 30, bytes_max: 2 ** 31 },
  })
})
afterEach(() => activity.close())

const ID = 'session-1'
const turn = (at: number, prompt: string): Step[] => [
  { at, kind: 'session.started', data: { project: '/home/ada/work' } },
  { at: at + 1, kind: 'request.started', data: { prompt } },
  { at: at + 2, kind: 'request.ended', data: { status: 'completed' } },
]
const IMPORTED: Step[] = [...turn(0, 'first'), { at: 3, kind: 'session.ended', data: { reason: 'import' } }]

function ingest(steps: readonly Step[], source: 'import' | 'mod', identity: string, after = 0) {
  const events = eventsOf({ steps, source: 'mod' }).flatMap(({ event }) =>
    event === null ? [] : [{ ...event, source, identity, seq: event.seq + after }],
  )
  const batch = { session_id: ID, identity, client: 'claude-code', events }
  return activity.ingest({ ...batch, numbered_by_hub: false, spooled: false, dropped: 0 })
}
const prompts = async () =>
  (await activity.requests({ session_id: ID, limit: 50 })).items
    .map(({ turn_seq, prompt }) => [turn_seq, prompt])
    .toReversed()

test('an imported session that its client continues belongs to the persona, and its turns follow the imported ones', async () => {
  await ingest(IMPORTED, 'import', 'operator')
  // The shim asks for the next number.
  expect(await ingest([], 'mod', 'ada')).toMatchObject({ accepted: 0, next_seq: 5 })
  expect(await activity.session({ session_id: ID })).toMatchObject({ identity: 'operator' })

  await ingest(turn(10, 'second'), 'mod', 'ada', 4)
  expect(await activity.session({ session_id: ID })).toMatchObject({
    identity: 'ada',
    state: { state: 'idle', evidence: { source: 'mod' } },
  })
  expect(await prompts()).toEqual([
    [1, 'first'],
    [2, 'second'],
  ])
  expect(await activity.completeness({ session_id: ID })).toMatchObject({ received: 7, missing: [] })
})

test('a session that a client has reported is not taken over by another persona', async () => {
  await ingest(turn(0, 'own'), 'mod', 'ada')
  await expect(ingest(turn(10, 'other'), 'mod', 'bob', 3)).rejects.toMatchObject({
    code: 'identity_mismatch',
  })
  await expect(ingest(IMPORTED, 'import', 'operator')).rejects.toMatchObject({ code: 'identity_mismatch' })
})

test('an import continues its own session under the same persona only', async () => {
  await ingest(IMPORTED, 'import', 'operator')
  await expect(ingest(turn(10, 'x'), 'import', 'ada', 4)).rejects.toMatchObject({ code: 'identity_mismatch' })
  expect(await ingest(IMPORTED, 'import', 'operator')).toMatchObject({ accepted: 0, duplicates: 4 })
})

test('hooks of an imported session are stored after it, for the persona that reports them', async () => {
  await ingest(IMPORTED, 'import', 'operator')
  const body = {
    session_id: ID,
    hook_event_name: 'UserPromptSubmit',
    prompt: 'by hook',
    cwd: '/home/ada/work',
  }
  await activity.ingestHook({ identity: 'ada', client: 'claude-code', body })
  expect(await activity.session({ session_id: ID })).toMatchObject({ identity: 'ada' })
  expect(await prompts()).toEqual([
    [1, 'first'],
    [2, 'by hook'],
  ])
})
