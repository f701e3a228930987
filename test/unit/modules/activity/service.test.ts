import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ActivityEvent } from '../../../../src/contracts/activity/event.ts'
import {
  ActiveAgents,
  ActivityStats,
  CleanupStats,
  Completeness,
  Hierarchy,
  Kpis,
  SessionActivity,
} from '../../../../src/contracts/activity/views.ts'
import { createActivity, type ActivitySettings } from '../../../../src/modules/activity/service.ts'
import type { Activity } from '../../../../src/modules/activity/types.ts'
import type { ActivityStore } from '../../../../src/ports/activity-store.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { openActivityStore } from '../../../../src/storage/sqlite/activity/activity-store.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { createRedactor } from '../../../../src/system/redaction/redactor.ts'
import { fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { EPOCH, eventsOf, SITUATIONS, timeOf, type Step } from './situations.ts'

const redactor = createRedactor()
let clock: FakeClock
let store: ActivityStore
let activity: Activity

const open = (settings: Partial<ActivitySettings> = {}) =>
  createActivity({
    store,
    redactor,
    settings: { capture: 'full', deny: [], retention_days: 30, bytes_max: 2 ** 31, ...settings },
    clock,
    ids: createIds(clock, systemRandom),
    log: silentLog,
  })

beforeEach(async () => {
  clock = fakeClock(EPOCH + 100_000)
  store = await openActivityStore({ file: ':memory:' })
  activity = open()
})
afterEach(() => activity.close())

const PROJECT = '/home/ada/work'
const PAGE = { limit: 50 }
const started = (data: object = {}): Step => ({
  at: 0,
  kind: 'session.started',
  data: { project: PROJECT, pid: 7, ...data },
})
const prompt = (at: number, more: object = {}): Step => ({
  at,
  kind: 'request.started',
  data: { prompt: 'Go.', ...more },
})
const stop = (at: number, status = 'completed'): Step => ({ at, kind: 'request.ended', data: { status } })
const tool = (
  at: number,
  action_id: string,
  name = 'Bash',
  input?: object,
  more: Partial<Step> = {},
): Step => ({
  ...{ at, kind: 'action.started', data: { action_id, tool: name, input } },
  ...more,
})
const done = (at: number, action_id: string, more: object = {}, step: Partial<Step> = {}): Step => ({
  ...{ at, kind: 'action.ended', data: { action_id, ...more } },
  ...step,
})
const agent = (at: number, subtask_id: string): Step => ({
  at,
  kind: 'subtask.started',
  data: { subtask_id, agent_type: 'explorer', description: 'Look around.' },
})
const agentDone = (at: number, subtask_id: string, status = 'completed'): Step => ({
  at,
  kind: 'subtask.ended',
  data: { subtask_id, status, result: 'Done.' },
})
const eventsIn = (steps: readonly Step[], session_id = 'session-1'): ActivityEvent[] =>
  eventsOf({ steps, source: 'hook' }).flatMap(({ event }) =>
    event === null ? [] : [{ ...event, session_id }],
  )

function ingest(
  events: readonly ActivityEvent[],
  more: { identity?: string; spooled?: boolean; dropped?: number } = {},
) {
  const session_id = events[0]?.session_id ?? 'session-1'
  return activity.ingest({
    ...{
      session_id,
      identity: 'ada',
      client: 'claude-code',
      numbered_by_hub: false,
      spooled: false,
      dropped: 0,
      ...more,
    },
    events,
  })
}
const take = (steps: readonly Step[], session_id?: string) => ingest(eventsIn(steps, session_id))
const session = () => activity.session({ session_id: 'session-1' })
const actions = async () => (await activity.actions({ ...PAGE })).items
const texts = async () =>
  JSON.stringify([
    await store.session('session-1'),
    await activity.requests({ ...PAGE }),
    await activity.subtasks({ ...PAGE }),
    await actions(),
  ])

describe('taken events', () => {
  test('each number counts once, in any order', async () => {
    const events = eventsIn([started(), prompt(1), tool(2, 't1'), done(3, 't1'), stop(4)])
    const [first, second, third] = [events.slice(3), events.slice(0, 2), events]
    expect(await ingest(first)).toMatchObject({ accepted: 2, duplicates: 0, next_seq: 6 })
    expect(await activity.completeness({ session_id: 'session-1' })).toMatchObject({
      received: 2,
      missing: [[1, 3]],
    })
    expect(await ingest([...second, ...second])).toMatchObject({ accepted: 2, duplicates: 2, next_seq: 6 })
    expect(await ingest(third)).toMatchObject({ accepted: 1, duplicates: 4, next_seq: 6 })
    expect(await ingest(third)).toEqual({ accepted: 0, duplicates: 5, next_seq: 6, changed: null })
    const complete = await activity.completeness({ session_id: 'session-1' })
    expect(complete).toEqual(Completeness.parse(complete))
    expect(complete).toMatchObject({ received: 5, missing: [], spooled: 0, dropped: 0 })
    expect(await session()).toMatchObject({ total_tools_used: 1, total_success: 1, state: { state: 'idle' } })
  })

  test('parallel reports of a session are stored one after the other', async () => {
    const events = eventsIn([
      started(),
      prompt(1),
      ...Array.from({ length: 20 }, (_, at) => tool(2, `t${at}`)),
      stop(4),
    ])
    await Promise.all([...events, ...events].map((event) => ingest([event])))
    expect(await activity.completeness({})).toMatchObject({ received: 23, missing: [] })
    expect(await session()).toMatchObject({ total_tools_used: 20 })
    expect((await activity.projects({ ...PAGE })).items).toHaveLength(1)
  })

  test('the state survives a restart', async () => {
    const events = eventsIn([started(), prompt(1), tool(2, 't1'), stop(4)])
    await ingest(events.slice(0, 3))
    const before = await session()
    activity = open()
    expect(await session()).toEqual(before)
    expect(await ingest(events)).toMatchObject({ accepted: 1, duplicates: 3, changed: { state: 'idle' } })
  })

  test('a change of the state is returned once', async () => {
    const events = eventsIn([
      started(),
      prompt(1),
      tool(2, 't1'),
      { at: 3, kind: 'usage', data: { usage_id: 'u' } },
      stop(4),
    ])
    const changes = []
    for (const event of events) changes.push((await ingest([event])).changed?.state ?? null)
    expect(changes).toEqual(['idle', 'working', 'working', null, 'idle'])
  })

  test('a session of another persona is refused', async () => {
    await take([started()])
    await expect(ingest(eventsIn([started(), prompt(1)]), { identity: 'bob' })).rejects.toMatchObject({
      code: 'identity_mismatch',
    })
  })

  test('spooled and dropped events are counted', async () => {
    const events = eventsIn([started(), prompt(1), stop(2)])
    await ingest(events.slice(0, 2), { spooled: true })
    await ingest(events.slice(2), { dropped: 4 })
    await ingest(events, { dropped: 1 })
    expect(await activity.completeness({ session_id: 'session-1' })).toMatchObject({
      ...{ received: 3, spooled: 2, dropped: 5, silent_since: timeOf(2) },
    })
  })

  test('a time in the future counts as now', async () => {
    await take([started(), { ...prompt(DAY_SECONDS) }])
    expect((await session()).state.evidence.at).toBe(timeOf(100))
  })
  const DAY_SECONDS = 86_400

  test('a failed write is repeated without a gap', async () => {
    const events = eventsIn([started(), prompt(1), stop(2)])
    await ingest(events.slice(0, 1))
    const working = { ...store }
    store.write = () => Promise.reject(new Error('disk full'))
    await expect(ingest(events.slice(1))).rejects.toThrow('disk full')
    Object.assign(store, working)
    expect(await ingest(events.slice(1))).toMatchObject({ accepted: 2, duplicates: 0 })
  })
})

describe('stored rows', () => {
  test('the tree has requests, waves, subagents and calls', async () => {
    await take([
      ...[started(), prompt(1), tool(2, 't1', 'Agent', { subagent_type: 'explorer' })],
      ...[agent(3, 'a1'), agent(3, 'a2'), tool(4, 't2', 'Read', { file_path: '/x' }, { agent: 'a1' })],
      ...[
        done(5, 't2', { duration_ms: 12 }, { agent: 'a1' }),
        agentDone(6, 'a1'),
        agentDone(7, 'a2', 'failed'),
      ],
      ...[
        done(8, 't1'),
        agent(9, 'a3'),
        agentDone(10, 'a3'),
        tool(11, 't3', 'Skill', { skill: 'review' }),
        stop(12),
      ],
      ...[prompt(20), tool(21, 't4', 'mcp__turnbell__signals'), done(22, 't4'), stop(23)],
    ])
    const tree = await activity.hierarchy({ path: PROJECT, limit: 20 })
    expect(tree).toEqual(Hierarchy.parse(tree))
    expect(tree).toMatchObject({
      project: { path: PROJECT, name: 'work', sessions: 1, requests: 2, actions: 4 },
      sessions: [
        {
          session_id: 'session-1',
          requests: [
            {
              request_id: 'session-1.1',
              status: 'completed',
              actions: [
                { action_id: 'session-1.t1', tool_name: 'explorer', tool_type: 'agent', status: 'completed' },
                { action_id: 'session-1.t3', tool_name: 'review', tool_type: 'skill', status: 'completed' },
              ],
              tasks: [
                {
                  ...{ task_id: 'session-1.1.w1', wave_number: 1, status: 'failed' },
                  subtasks: [
                    {
                      ...{ subtask_id: 'session-1.a1', agent_type: 'explorer', status: 'completed' },
                      actions: [{ action_id: 'session-1.t2', tool_name: 'Read', duration_ms: 12 }],
                    },
                    { subtask_id: 'session-1.a2', status: 'failed', actions: [] },
                  ],
                },
                { task_id: 'session-1.1.w2', wave_number: 2, subtasks: [{ subtask_id: 'session-1.a3' }] },
              ],
            },
            { request_id: 'session-1.2', actions: [{ tool_type: 'mcp' }], tasks: [] },
          ],
        },
      ],
      truncated: false,
    })
    expect(await actions()).toContainEqual(
      expect.objectContaining({ action_id: 'session-1.t2', file_paths: ['/x'], subtask_id: 'session-1.a1' }),
    )
  })

  test('an end without its beginning, and the beginning later', async () => {
    const events = eventsIn([
      ...[started(), prompt(1), agent(2, 'a1'), tool(3, 't1', 'Edit', { file_path: '/x' }, { agent: 'a1' })],
      ...[done(5, 't1', { duration_ms: 1_500 }, { agent: 'a1' }), agentDone(6, 'a1')],
    ])
    await ingest(events.slice(4))
    expect(await actions()).toMatchObject([
      { status: 'completed', started_at: timeOf(3.5), tool_name: 'unknown' },
    ])
    await ingest(events.slice(0, 4))
    expect(await actions()).toMatchObject([
      {
        status: 'completed',
        started_at: timeOf(3),
        ended_at: timeOf(5),
        tool_name: 'Edit',
        file_paths: ['/x'],
      },
    ])
    const { items } = await activity.subtasks({ ...PAGE })
    expect(items).toMatchObject([
      { subtask_id: 'session-1.a1', task_id: 'session-1.1.w1', agent_type: 'explorer', status: 'completed' },
    ])
  })

  test('an ended session leaves nothing running', async () => {
    await take([started(), prompt(1), tool(2, 't1'), agent(3, 'a1')])
    await activity.openProcesses({})
    const ended = await activity.processesEnded({ session_ids: ['session-1', 'unknown'] })
    expect(ended).toMatchObject([
      { session_id: 'session-1', state: { state: 'ended', evidence: { source: 'process' } } },
    ])
    expect(await activity.processesEnded({ session_ids: ['session-1'] })).toEqual([])
    expect((await actions()).map(({ status }) => status)).toEqual(['failed'])
    const lists = [
      activity.requests({ ...PAGE }),
      activity.tasks({ ...PAGE }),
      activity.subtasks({ ...PAGE }),
    ]
    for (const { items } of await Promise.all(lists))
      expect(items).toMatchObject([{ status: 'interrupted', ended_at: timeOf(100) }])
    expect(await session()).toMatchObject({
      ended_at: timeOf(100),
      state: { state: 'ended', evidence: { source: 'process', kind: null } },
    })
    expect(await activity.openProcesses({})).toEqual([])
  })

  test('a turn without an end is interrupted by the next one', async () => {
    await take([started(), prompt(1), tool(2, 't1'), prompt(9), stop(10)])
    const { items } = await activity.requests({ ...PAGE })
    expect(items.map(({ status }) => status)).toEqual(['completed', 'interrupted'])
    expect((await actions()).map(({ status }) => status)).toEqual(['failed'])
  })

  test('an end among missing events is not guessed, but stored when it arrives', async () => {
    const events = eventsIn([started(), prompt(1), tool(2, 't1'), done(3, 't1'), stop(4), prompt(9)])
    await ingest([...events.slice(0, 3), ...events.slice(5)])
    const statuses = async () => {
      const { items } = await activity.requests({ ...PAGE })
      return [items.map(({ status }) => status), (await actions()).map(({ status }) => status)]
    }
    expect(await statuses()).toEqual([['running', 'running'], ['running']])
    await ingest(events.slice(3, 5), { spooled: true })
    expect(await statuses()).toEqual([['running', 'completed'], ['completed']])
  })

  test('a prompt that is typed during a turn does not replace the prompt of the turn', async () => {
    await take([started(), prompt(1), { ...prompt(2, { prompt: 'Faster.' }), turn: 1 }, stop(3)])
    expect((await activity.requests({ ...PAGE })).items).toMatchObject([{ prompt: 'Go.', turn_seq: 1 }])
  })

  test('the last figures of a model request count, and the cost is null without a report', async () => {
    const usage = (
      at: number,
      usage_id: string,
      output_tokens: number,
      more: object = {},
      step: Partial<Step> = {},
    ) => ({
      ...{ at, kind: 'usage' as const, data: { usage_id, output_tokens, ...more } },
      ...step,
    })
    await take([
      ...[
        started({ model: 'small' }),
        prompt(1),
        usage(2, 'm1', 1),
        usage(3, 'm1', 40, { context_tokens: 900 }),
      ],
      usage(4, 'm2', 2, { model: 'tiny', context_tokens: 5 }, { agent: 'a1' }),
    ])
    expect(await session()).toMatchObject({
      usage: { output_tokens: 42, cost_usd: null },
      ...{ context_tokens: 900, model: 'small' },
    })
  })

  test('each situation can be stored, and its state is the same with the stored track', async () => {
    for (const [index, situation] of SITUATIONS.entries()) {
      const session_id = `situation-${index}`
      const events = eventsOf(situation).flatMap(({ event }) =>
        event === null ? [] : [{ ...event, session_id }],
      )
      // In the order of their arrival, so some are late.
      const middle = Math.ceil(events.length / 2)
      for (const part of [events.slice(0, middle), events.slice(middle)])
        if (part.length > 0) await ingest(part)
    }
    const listed = await activity.sessions({ limit: 200 })
    expect(listed.items).toHaveLength(SITUATIONS.length)
    for (const item of listed.items) expect(SessionActivity.parse(item)).toEqual(item)
    const active = await activity.active({})
    expect(ActiveAgents.parse(active)).toEqual(active)
    const total = Object.values(active.totals).reduce((a, b) => a + b, 0)
    expect(total).toBe(active.items.length)
    expect(active.totals.ended).toBe(0)
  })
})

describe('secrets and settings', () => {
  const SECRET = 'hunter2secret99'
  const KEY = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'
  const planted = [
    started(),
    prompt(1, { prompt: `My password is password=${SECRET}` }),
    tool(2, 't1', 'Bash', {
      ...{ command: `curl -H "Authorization: Bearer ${KEY}"`, file_path: `/tmp/${KEY}` },
      ...{ env: { list: [`FOO_TOKEN=${SECRET}`], DB_PASSWORD: SECRET } },
    }),
    done(3, 't1', { output: `token: "${SECRET}" and ${KEY}` }),
    tool(4, 't2'),
    { at: 5, kind: 'action.failed' as const, data: { action_id: 't2', error: `secret=${SECRET}` } },
    {
      at: 6,
      kind: 'waiting.started' as const,
      data: { waiting_id: 'w', for: 'question', what: `Use ${KEY}?` },
    },
    { at: 7, kind: 'subtask.started' as const, data: { subtask_id: 'a1', description: `With ${KEY}` } },
    {
      at: 8,
      kind: 'subtask.ended' as const,
      data: { subtask_id: 'a1', result: { text: KEY, bytes: 9, sha256: 'a'.repeat(64) } },
    },
    { at: 9, kind: 'request.ended' as const, data: { status: 'failed', error: `{"api_key": "${SECRET}"}` } },
  ]

  test('no secret is stored', async () => {
    await take(planted)
    const stored = await texts()
    expect(stored).not.toContain(SECRET)
    expect(stored).not.toContain(KEY)
    expect(stored.match(/\[redacted\]/g)?.length).toBeGreaterThan(8)
    expect(stored).toContain('My password is')
  })

  test('with capture facts no text is stored', async () => {
    activity = open({ capture: 'facts' })
    await take([
      ...planted,
      prompt(20),
      tool(21, 't3', 'Agent', { subagent_type: 'explorer', prompt: 'Go.' }),
    ])
    const stored = await texts()
    for (const text of ['My password is', 'curl', 'and ', 'With', 'Use', 'Go.', '[redacted]"}'])
      expect(stored).not.toContain(text)
    expect(await actions()).toMatchObject([{ tool_name: 'explorer', input: null }, { tool_name: 'Bash' }, {}])
    expect((await session()).state).toMatchObject({ state: 'working', what: 'explorer' })
  })

  test('with capture off nothing is stored', async () => {
    activity = open({ capture: 'off' })
    expect(await take(planted)).toEqual({ accepted: 0, duplicates: 0, next_seq: 11, changed: null })
    expect((await activity.sessions({ ...PAGE })).items).toEqual([])
  })

  test('a denied path or tool leaves only the fact of the call', async () => {
    activity = open({ deny: ['**/.env', 'mcp__bank__*', '/home/ada/work/private'] })
    const events = eventsIn([
      ...[started(), prompt(1)],
      ...[tool(2, 't1', 'Read', { file_path: `${PROJECT}/.env` }), done(3, 't1', { output: 'HIDDEN' })],
      ...[tool(4, 't2', 'mcp__bank__pay', { sum: 'HIDDEN' }), done(5, 't2', { output: 'HIDDEN' })],
      ...[tool(6, 't3', 'Bash', { command: 'cat ./private/HIDDEN' }), done(7, 't3', { output: 'HIDDEN' })],
      ...[tool(8, 't4', 'Bash', { command: 'ls' }), done(9, 't4', { output: 'SHOWN' })],
      done(10, 't5', { output: 'HIDDEN', tool: 'Read' }),
    ])
    for (const event of events) await ingest([event])
    const stored = await texts()
    expect(stored).not.toContain('HIDDEN')
    expect(stored).not.toContain('.env')
    expect(stored).toContain('SHOWN')
    expect((await actions()).map(({ tool_name, status }) => `${tool_name} ${status}`)).toEqual(
      ['Read', 'Bash', 'Bash', 'mcp__bank__pay', 'Read'].map((name) => `${name} completed`),
    )
  })

  test('nothing of a denied project is stored, also after a restart', async () => {
    const deny = [PROJECT]
    activity = open({ deny })
    const events = eventsIn([started(), prompt(1), stop(2), prompt(3)])
    expect(await ingest(events.slice(0, 1))).toMatchObject({ accepted: 0, next_seq: 2 })
    expect(await ingest(events.slice(1, 2))).toMatchObject({ accepted: 0, next_seq: 3 })
    activity = open({ deny })
    expect(await ingest(events.slice(2))).toMatchObject({ accepted: 0, next_seq: 5 })
    expect(await activity.stats({})).toMatchObject({ projects: 0, sessions: 0 })
    const other = eventsIn([started({ project: '/home/ada/other' }), prompt(1)], 'session-2')
    expect(await ingest(other)).toMatchObject({ accepted: 2 })
  })
})

describe('sessions, figures and deletion', () => {
  test('a person ends a session', async () => {
    await take([started(), prompt(1)])
    expect(await activity.endSession({ session_id: 'session-1' })).toMatchObject({
      ended_at: timeOf(100),
      state: { state: 'ended', evidence: { source: 'person' } },
    })
    expect(await activity.active({})).toMatchObject({ items: [] })
  })

  test('a session that another process has continued is not ended', async () => {
    const events = eventsIn([started(), { ...started({ pid: 8, reason: 'resume' }), at: 9 }])
    await ingest(events.slice(0, 1))
    expect(await activity.openProcesses({})).toEqual([{ session_id: 'session-1', pid: 7, pid_started: null }])
    await ingest(events.slice(1))
    await activity.processesEnded({ session_ids: ['session-1'] })
    expect((await session()).ended_at).toBeNull()
  })

  test('the calls of an hour are those of the last day, unless a time is given', async () => {
    await take([started(), prompt(1), tool(2, 't1'), done(3, 't1')])
    await clock.advance(2 * 86_400_000)
    expect((await activity.hourly({})).hours).toEqual([])
    expect((await activity.hourly({ since: timeOf(0) })).hours).toMatchObject([{ actions: 1 }])
    expect((await activity.toolsSummary({ until: timeOf(200) })).tools).toMatchObject([{ actions: 1 }])
  })

  test('figures of today', async () => {
    await take([started(), prompt(1), tool(2, 't1'), done(3, 't1'), tool(4, 't2')])
    const kpis = await activity.kpis({})
    expect(Kpis.parse(kpis)).toEqual(kpis)
    expect(kpis).toMatchObject({
      ...{ sessions: { open: 1, today: 1, total: 1 }, requests: { running: 1, today: 1 } },
      ...{ actions: { today: 2, total: 2, errors_today: 0 }, tools: { distinct: 1 } },
    })
    const stats = await activity.stats({})
    expect(ActivityStats.parse(stats)).toEqual(stats)
    expect(stats).toMatchObject({ projects: 1, sessions: 1, requests: 1, actions: 2 })
  })

  test('running subagents of open sessions are active', async () => {
    await take([started(), prompt(1), agent(2, 'a1'), agent(2, 'a2'), agentDone(3, 'a1')])
    expect(await activity.active({})).toMatchObject({
      items: [
        { session_id: 'session-1', subtasks: [{ subtask_id: 'session-1.a2', agent_type: 'explorer' }] },
      ],
    })
  })

  test('what is unknown is refused', async () => {
    const unknown = { code: 'activity_unknown' }
    const session_id = 'nowhere'
    for (const call of [
      activity.session({ session_id }),
      activity.hierarchy({ session_id, limit: 20 }),
      activity.hierarchy({ path: '/nowhere', limit: 20 }),
      activity.project({ path: '/nowhere' }),
      activity.project({}),
      activity.completeness({ session_id }),
      activity.endSession({ session_id }),
      activity.deleteSession({ session_id }),
      activity.deleteActions({ session_id }),
      activity.deleteProject({ path: '/nowhere' }),
    ])
      await expect(call).rejects.toMatchObject(unknown)
  })

  test('a deleted session is forgotten, and starts again with its next event', async () => {
    const events = eventsIn([started(), prompt(1), tool(2, 't1')])
    await ingest(events)
    expect(await activity.deleteActions({ session_id: 'session-1' })).toEqual({ deleted: 1 })
    expect(await activity.deleteSession({ session_id: 'session-1' })).toEqual({ deleted: 1 })
    expect(await ingest(events)).toMatchObject({ accepted: 3, duplicates: 0 })
    expect(await activity.deleteProject({ path: PROJECT })).toEqual({ deleted: 1 })
    expect(await activity.stats({})).toMatchObject({ projects: 0, sessions: 0, actions: 0 })
    expect(await ingest(events)).toMatchObject({ accepted: 3 })
    expect(await activity.stats({})).toMatchObject({ projects: 1, sessions: 1 })
  })

  test('old activity is deleted', async () => {
    await take([started(), prompt(1), tool(2, 't1')])
    await activity.cleanUp({})
    expect(await activity.cleanupStats({})).toMatchObject({ deleted_sessions: 0, last_run_at: timeOf(100) })
    await clock.advance(31 * 86_400_000)
    await activity.cleanUp({})
    const stats = await activity.cleanupStats({})
    expect(CleanupStats.parse(stats)).toEqual(stats)
    expect(stats).toMatchObject({ deleted_sessions: 1, deleted_actions: 1, retention_days: 30 })
    expect(await activity.stats({})).toMatchObject({ sessions: 0 })
  })
})
