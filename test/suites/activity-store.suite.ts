/** The promises of every activity store, in the order of `ports/activity-store.ts`. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { ActivityStore } from '../../src/ports/activity-store.ts'
import {
  actionRow,
  projectRow,
  requestRow,
  rowsOf,
  sessionRow,
  subtaskRow,
  taskRow,
  timeAt,
  usageRow,
} from '../support/activity-rows.ts'
import { describeActivityQueries } from './activity-queries.suite.ts'
import { describeActivityRemoval } from './activity-removal.suite.ts'

export interface OpenedActivityStore {
  store: ActivityStore
  /** Returns the store after a kill; the same store for one that is only in memory. */
  afterKill(): Promise<ActivityStore>
}

const PAGE = { limit: 50 }

export function describeActivityStore(name: string, open: () => Promise<OpenedActivityStore>): void {
  describe(`activity store: ${name}`, () => {
    let opened: OpenedActivityStore
    let store: ActivityStore
    beforeEach(async () => {
      opened = await open()
      store = opened.store
    })
    const write = (rows: Parameters<typeof rowsOf>[0]) => store.write(rowsOf(rows))
    const begin = () => write({ projects: [projectRow('p1')], sessions: [sessionRow('s1')] })
    const action = async (action_id: string) =>
      (await store.actions(PAGE)).items.find((item) => item.action_id === action_id)

    test('a written session is returned, also after a kill', async () => {
      const session = sessionRow('s1', {
        ...{ continues: 's0', model: 'm', context_tokens: 5, context_window: 9 },
        track: { deep: [1, null, true, 'ünï "quoted"\n\u0000'] },
      })
      await write({ projects: [projectRow('p1')], sessions: [session] })
      expect(await store.session('s1')).toEqual(session)
      store = await opened.afterKill()
      expect(await store.session('s1')).toEqual(session)
      expect(await store.session('s2')).toBeNull()
    })

    test('a session row replaces the stored one, except for its counters', async () => {
      await begin()
      await write({ actions: [actionRow('a1', { status: 'failed' })] })
      const later = sessionRow('s1', { model: 'm', ended_at: timeAt(9), last_at: timeAt(9) })
      await write({ sessions: [sessionRow('s1', { model: 'old' }), later] })
      expect(await store.session('s1')).toEqual(later)
      const { items } = await store.sessions(PAGE)
      expect(items).toMatchObject([{ total_tools_used: 1, total_success: 0, total_errors: 1 }])
    })

    test('open sessions are those without an end', async () => {
      await write({
        sessions: [sessionRow('s1', { project_id: null }), sessionRow('s2', { ended_at: timeAt(1) })],
      })
      expect(await store.openSessions()).toEqual([sessionRow('s1', { project_id: null })])
    })

    test.each([
      ['begin and end in two batches', [0], [1]],
      ['end and begin in two batches', [1], [0]],
      ['begin and end in one batch', [0, 1], []],
      ['end and begin in one batch', [1, 0], []],
    ])('%s give the same rows', async (_name, first, second) => {
      await begin()
      const times = { started_at: timeAt(2), ended_at: timeAt(2), status: 'failed' as const }
      const cut = { text: 'x', bytes: 100_000, sha256: '0'.repeat(64) }
      const requests = [
        requestRow('r1', { prompt: 'Fix it', prompt_type: 'person', started_at: timeAt(1) }),
        requestRow('r1', { error: cut, ...times }),
      ]
      const tasks = [taskRow('t1', { started_at: timeAt(1) }), taskRow('t1', times)]
      const subtasks = [
        subtaskRow('b1', {
          agent_type: 'Plan',
          parent_agent_id: 'b0',
          description: 'look',
          started_at: timeAt(1),
        }),
        subtaskRow('b1', { result: cut, ...times }),
      ]
      const actions = [
        actionRow('a1', {
          ...{ request_id: 'r1', tool_name: 'Bash', tool_type: 'builtin', input: { command: 'ls' } },
          ...{ file_paths: ['/work/a'], started_at: timeAt(1) },
        }),
        actionRow('a1', {
          subtask_id: 'b1',
          output: cut,
          error: 'no',
          exit_code: 2,
          duration_ms: 60_000,
          ...times,
        }),
      ]
      for (const batch of [first, second]) {
        const some = <Row>(rows: Row[]) => batch.flatMap((index) => rows.slice(index, index + 1))
        await write({
          ...{
            requests: some(requests),
            tasks: some(tasks),
            subtasks: some(subtasks),
            actions: some(actions),
          },
        })
      }
      const shared = { session_id: 's1', started_at: timeAt(1), ended_at: timeAt(2), status: 'failed' }
      expect((await store.requests(PAGE)).items).toEqual([
        {
          ...{ request_id: 'r1', project_id: 'p1', turn_seq: 1, prompt: 'Fix it', prompt_type: 'person' },
          ...{ error: cut, ...shared },
        },
      ])
      expect((await store.tasks(PAGE)).items).toEqual([
        { task_id: 't1', request_id: 'r1', wave_number: 1, ...shared },
      ])
      expect((await store.subtasks(PAGE)).items).toEqual([
        {
          ...{ subtask_id: 'b1', task_id: 't1', agent_id: 'b1', agent_type: 'Plan', parent_agent_id: 'b0' },
          ...{ description: 'look', result: cut, ...shared },
        },
      ])
      expect((await store.actions(PAGE)).items).toEqual([
        {
          ...{ action_id: 'a1', project_id: 'p1', request_id: 'r1', subtask_id: 'b1' },
          ...{ tool_name: 'Bash', tool_type: 'builtin', input: { command: 'ls' }, output: cut, error: 'no' },
          ...{ file_paths: ['/work/a'], exit_code: 2, duration_ms: 60_000, ...shared },
        },
      ])
    })

    test('the first end of a row is kept', async () => {
      await begin()
      await write({ actions: [actionRow('a1', { ended_at: timeAt(1), status: 'denied' })] })
      await write({ actions: [actionRow('a1', { ended_at: timeAt(2), status: 'completed' })] })
      expect(await action('a1')).toMatchObject({ ended_at: timeAt(1), status: 'denied' })
      const twice = [
        actionRow('a2', { ended_at: timeAt(1), status: 'completed' }),
        actionRow('a2', { ended_at: timeAt(2), status: 'failed' }),
      ]
      await write({ actions: twice })
      expect(await action('a2')).toMatchObject({ ended_at: timeAt(1), status: 'completed' })
    })

    test('an end without a begin has an unknown tool, which a later begin corrects in all sums', async () => {
      await begin()
      await write({
        actions: [actionRow('a1', { started_at: timeAt(61), status: 'failed', duration_ms: 4 })],
      })
      expect(await action('a1')).toMatchObject({ tool_name: 'unknown', tool_type: 'builtin' })
      await write({ actions: [actionRow('a1', { tool_name: 'mcp__a__b', tool_type: 'mcp' })] })
      expect(await action('a1')).toMatchObject({
        tool_name: 'mcp__a__b',
        tool_type: 'mcp',
        started_at: timeAt(0),
      })
      expect(await store.hourly({})).toEqual({ hours: [{ hour: timeAt(0), actions: 1, errors: 1 }] })
      expect(await store.toolsSummary({ project_id: 'p1' })).toEqual({
        tools: [{ tool_name: 'mcp__a__b', tool_type: 'mcp', actions: 1, errors: 1, duration_ms: 4 }],
      })
    })

    test('a project with a stored path keeps its id, also in the rows that name the new one', async () => {
      await begin()
      await write({
        projects: [projectRow('p2', { path: '/work/p1', name: 'new', at: timeAt(5) })],
        sessions: [sessionRow('s2', { project_id: 'p2' })],
        requests: [requestRow('r1', { project_id: 'p2' })],
        actions: [actionRow('a1', { session_id: 's2', project_id: 'p2' })],
      })
      expect((await store.projects(PAGE)).items).toEqual([
        {
          ...{
            project_id: 'p1',
            path: '/work/p1',
            name: 'new',
            created_at: timeAt(0),
            updated_at: timeAt(5),
          },
          ...{ sessions: 2, requests: 1, actions: 1, errors: 0 },
        },
      ])
      expect(await store.session('s2')).toMatchObject({ project_id: 'p1' })
    })

    test('counters include actions that were stored before their session and project', async () => {
      await write({
        actions: [actionRow('a1', { status: 'completed' })],
        usage: [usageRow('u1', { output_tokens: 4 })],
      })
      await begin()
      expect((await store.sessions(PAGE)).items).toMatchObject([
        { total_tools_used: 1, total_success: 1, usage: { output_tokens: 4 } },
      ])
      expect(await store.project({ project_id: 'p1' })).toMatchObject({ actions: 1 })
    })

    test('the last figures of a model request are counted', async () => {
      await begin()
      const usage = async () => (await store.sessions(PAGE)).items[0]?.usage
      await write({ usage: [usageRow('u1', { input_tokens: 10 }), usageRow('u2', { input_tokens: 1 })] })
      expect(await usage()).toMatchObject({ input_tokens: 11, cost_usd: null })
      await write({
        usage: [
          usageRow('u1', { input_tokens: 20, cost_usd: 9 }),
          usageRow('u1', { input_tokens: 30, cost_usd: 0.5 }),
        ],
      })
      expect(await usage()).toMatchObject({ input_tokens: 31, cost_usd: 0.5 })
    })

    test('a write that fails stores nothing', async () => {
      await begin()
      const invalid = actionRow('a2', { duration_ms: Number.NaN })
      await expect(
        write({ requests: [requestRow('r1')], actions: [actionRow('a1'), invalid] }),
      ).rejects.toThrow()
      expect(await store.counts(timeAt(0))).toMatchObject({ requests: { total: 0 }, actions: { total: 0 } })
      await write({ actions: [actionRow('a1')] })
      expect((await store.sessions(PAGE)).items).toMatchObject([{ total_tools_used: 1 }])
    })

    test('an id with characters that a database cannot store still names one row', async () => {
      await begin()
      for (const action_id of ['a\u0000', 'a\ud800']) {
        await write({ actions: [actionRow(action_id, { tool_name: 'x\u0000' })] })
        await write({ actions: [actionRow(action_id, { status: 'failed' })] })
      }
      const { items } = await store.sessions(PAGE)
      expect(items[0]?.total_tools_used).toBe((await store.actions(PAGE)).items.length)
      expect((await store.actions({ ...PAGE, tool_name: 'x\u0000' })).items).not.toEqual([])
    })

    test('a closed store rejects calls', async () => {
      await store.close()
      await expect(store.session('s1')).rejects.toMatchObject({ code: 'store_unavailable' })
    })

    describeActivityQueries(() => store)
    describeActivityRemoval(() => store)
  })
}
