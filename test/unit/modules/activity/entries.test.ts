import { beforeEach, describe, expect, test } from 'vitest'
import { createActivity } from '../../../../src/modules/activity/service.ts'
import type { Activity } from '../../../../src/modules/activity/types.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { openActivityStore } from '../../../../src/storage/sqlite/activity/activity-store.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { createRedactor } from '../../../../src/system/redaction/redactor.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'

const PAGE = { limit: 50 }
const SESSION = { session_id: 'nightly', project: '/home/ada/parser', identity: 'ada' }
let activity: Activity

beforeEach(async () => {
  const clock = fakeClock()
  activity = createActivity({
    store: await openActivityStore({ file: ':memory:' }),
    redactor: createRedactor(),
    settings: { capture: 'full', deny: [], retention_days: 30, bytes_max: 2 ** 31 },
    clock,
    ids: createIds(clock, systemRandom),
    log: silentLog,
  })
})

const log = (input: object) => activity.logAction({ ...SESSION, tool_name: 'pytest', ...input })

describe('an entry', () => {
  test('creates its session and its project', async () => {
    await expect(log({ action_id: 'a1', output: 'ok', duration_ms: 5 })).resolves.toEqual({
      action_id: 'nightly.a1',
    })
    expect(await activity.session({ session_id: 'nightly' })).toMatchObject({
      ...{ identity: 'ada', client: 'program', total_success: 1 },
    })
    expect(await activity.project({ path: '/home/ada/parser' })).toMatchObject({ actions: 1 })
    expect((await activity.actions(PAGE)).items).toMatchObject([
      { action_id: 'nightly.a1', tool_name: 'pytest', status: 'completed', output: 'ok', duration_ms: 5 },
    ])
  })

  test('with an error is a failed call, without its secrets', async () => {
    await log({ error: 'password=hunter2hunter2', exit_code: 1 })
    expect((await activity.actions(PAGE)).items).toMatchObject([
      { status: 'failed', error: 'password=[redacted]', exit_code: 1 },
    ])
  })

  test('is an action of the subagent that it names', async () => {
    const subtask = { ...SESSION, agent_id: 'shard-1', agent_type: 'runner', status: 'running' as const }
    await activity.putRequest({ ...SESSION, status: 'running' })
    await expect(activity.putSubtask(subtask)).resolves.toEqual({
      subtask_id: 'nightly.shard-1',
    })
    await log({ agent_id: 'shard-1', status: 'running' })
    expect((await activity.actions(PAGE)).items).toMatchObject([
      { subtask_id: 'nightly.shard-1', request_id: 'nightly.1', status: 'running' },
    ])
    await activity.putSubtask({ ...subtask, status: 'completed', result: 'green' })
    expect((await activity.subtasks(PAGE)).items).toMatchObject([{ status: 'completed', result: 'green' }])
  })

  test('of a request begins it, and ends the newest one', async () => {
    const put = (input: object) => activity.putRequest({ ...SESSION, status: 'running', ...input })
    await expect(put({ prompt: 'run all tests' })).resolves.toEqual({ request_id: 'nightly.1' })
    await expect(put({ status: 'failed', error: 'no space' })).resolves.toEqual({ request_id: 'nightly.1' })
    await expect(put({})).resolves.toEqual({ request_id: 'nightly.2' })
    expect((await activity.requests(PAGE)).items).toMatchObject([
      { request_id: 'nightly.2', status: 'running' },
      { request_id: 'nightly.1', status: 'failed', prompt: 'run all tests', error: 'no space' },
    ])
  })

  test('of a wave has its number', async () => {
    await activity.putRequest({ ...SESSION, status: 'running' })
    const wave = {
      session_id: 'nightly',
      request_id: 'nightly.1',
      wave_number: 2,
      status: 'completed' as const,
    }
    await expect(activity.putTask(wave)).resolves.toEqual({
      task_id: 'nightly.1.w2',
    })
    expect((await activity.tasks(PAGE)).items).toMatchObject([{ wave_number: 2, status: 'completed' }])
    await expect(activity.putTask({ ...wave, session_id: 'unknown' })).rejects.toMatchObject({
      code: 'activity_unknown',
    })
  })

  test('without a persona belongs to the operator', async () => {
    await activity.logAction({ session_id: 'nightly', tool_name: 'pytest' })
    expect(await activity.session({ session_id: 'nightly' })).toMatchObject({
      ...{ identity: 'operator', project_id: null },
    })
  })

  test('is rejected in a session that a shim reports', async () => {
    const event = {
      ...{ event_id: '01JZZZZZZZZZZZZZZZZZZZZZZZ', agent_id: null, turn_seq: 0, seq: 1 },
      ...{
        at: '2026-01-01T00:00:00.000Z',
        source: 'mod' as const,
        kind: 'session.started' as const,
        data: {},
      },
    }
    const of = { session_id: 'nightly', identity: 'ada', client: 'claude-code' }
    const numbers = { numbered_by_hub: false, spooled: false, dropped: 0 }
    await activity.ingest({ ...of, ...numbers, events: [{ ...event, ...of }] })
    await expect(log({})).rejects.toMatchObject({ code: 'session_reported' })
  })
})

describe('a session without a shim', () => {
  const hook = (name: string, more: object = {}) =>
    activity.ingestHook({
      ...{ identity: 'ada', client: 'codex' },
      body: { session_id: 'nightly', hook_event_name: name, turn_id: 't1', ...more },
    })

  test('takes hooks and entries under one numbering', async () => {
    await Promise.all([hook('UserPromptSubmit', { prompt: 'go' }), log({ action_id: 'a1' }), hook('Stop')])
    expect(await activity.completeness({ session_id: 'nightly' })).toMatchObject({ received: 4, missing: [] })
  })

  test('whose shim begins to report starts with the numbers of the shim', async () => {
    await hook('UserPromptSubmit', { prompt: 'go' })
    const of = { session_id: 'nightly', identity: 'ada', client: 'codex' }
    const event = {
      ...{ event_id: '01JZZZZZZZZZZZZZZZZZZZZZZZ', agent_id: null, turn_seq: 1, seq: 1 },
      ...{ at: '2026-01-01T00:00:00.000Z', source: 'app_server' as const, kind: 'session.started' as const },
      ...{ data: {}, ...of },
    }
    const numbers = { numbered_by_hub: false, spooled: false, dropped: 0 }
    await expect(activity.ingest({ ...of, ...numbers, events: [event] })).resolves.toMatchObject({
      ...{ accepted: 1, duplicates: 0, next_seq: 2 },
    })
    await expect(hook('Stop')).resolves.toBeNull()
    expect(await activity.completeness({ session_id: 'nightly' })).toMatchObject({ received: 1, missing: [] })
  })
})
