/** The promises of the queries of an activity store. */
import { describe, expect, test } from 'vitest'
import type { ActivityStore, Listed, Page } from '../../src/ports/activity-store.ts'
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

const ALL = { limit: 200 }

/** 60 rows of each kind that differ in every field that a list filters. Several have the same time. */
async function fill(store: ActivityStore): Promise<void> {
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  const one = <Value>(n: number, ...values: Value[]) => values[n % values.length] as Value
  const work = (n: number) => {
    const status = one(n, undefined, 'completed', 'failed', 'interrupted') as 'completed' | undefined
    return { started_at: timeAt(Math.floor(n / 3)), status, ended_at: status && timeAt(200) }
  }
  await store.write(
    rowsOf({
      projects: [projectRow('p1', { at: timeAt(3) }), projectRow('p2', { at: timeAt(4) }), projectRow('p3')],
      sessions: numbers.map((n) =>
        sessionRow(`s${n}`, {
          ...{ identity: one(n, 'ada', 'bob'), client: one(n, 'codex', 'opencode', 'codex') },
          ...{ project_id: one(n, 'p1', 'p2', null, 'p1', 'p1'), started_at: timeAt(Math.floor(n / 3)) },
          ...{ ended_at: one(n, null, timeAt(200)), last_at: timeAt(n) },
        }),
      ),
      requests: numbers.map((n) =>
        requestRow(`r${n}`, { ...work(n), session_id: `s${n % 7}`, project_id: one(n, 'p1', 'p2', null) }),
      ),
      tasks: numbers.map((n) =>
        taskRow(`t${n}`, { ...work(n), session_id: `s${n % 7}`, request_id: `r${n % 5}` }),
      ),
      subtasks: numbers.map((n) =>
        subtaskRow(`b${n}`, {
          ...{
            ...work(n),
            session_id: `s${n % 7}`,
            task_id: `t${n % 5}`,
            agent_type: one(n, 'Plan', 'Look', undefined),
          },
        }),
      ),
      actions: numbers.map((n) =>
        actionRow(`a${n}`, {
          ...{
            started_at: timeAt(Math.floor(n / 3)),
            session_id: `s${n % 7}`,
            project_id: one(n, 'p1', 'p1', 'p2', null),
          },
          ...{
            request_id: one(n, null, 'r1', 'r2'),
            subtask_id: one(n, null, null, 'b1'),
            duration_ms: one(n, 10, 20),
          },
          ...{ tool_name: one(n, 'Bash', 'Read', 'look'), tool_type: one(n, 'builtin', 'builtin', 'mcp') },
          status: one(n, undefined, 'completed', 'failed', 'denied', 'completed'),
        }),
      ),
    }),
  )
}

/** Reads all pages. */
async function pages<Item>(list: (page: Page) => Promise<Listed<Item>>, limit: number): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const page = await list({ limit, ...(cursor === undefined ? {} : { cursor }) })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    items.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return items
}

const SINCE = { since: timeAt(5), until: timeAt(15) }
const STATUS = { status: 'failed' }
const FILTERS: Record<string, Filter[]> = {
  sessions: [
    { project_id: 'p1' },
    { identity: 'ada' },
    { client: 'codex' },
    { open: true },
    { open: false },
    SINCE,
  ],
  requests: [{ project_id: 'p1' }, { session_id: 's3' }, STATUS, { status: 'running' }, SINCE],
  tasks: [{ session_id: 's3' }, { request_id: 'r1' }, STATUS],
  subtasks: [{ session_id: 's3' }, { task_id: 't1' }, { agent_type: 'Plan' }, STATUS],
  actions: [
    ...[{ project_id: 'p1' }, { session_id: 's3' }, { request_id: 'r1' }, { subtask_id: 'b1' }],
    ...[{ tool_name: 'Bash' }, { tool_type: 'mcp' }, STATUS, SINCE],
  ],
}

type Filter = Record<string, string | boolean>
function matches(item: object, { since, until, open, ...fields }: Filter): boolean {
  const row = item as Record<string, unknown> & { started_at: string; ended_at: string | null }
  return (
    (since === undefined || row.started_at >= String(since)) &&
    (until === undefined || row.started_at < String(until)) &&
    (open === undefined || (row.ended_at === null) === open) &&
    Object.entries(fields).every(([name, value]) => row[name] === value)
  )
}

/** Returns each filter, all pairs, and all of them together. */
function combinations(filters: readonly Filter[]): Filter[] {
  const pairs = filters.flatMap((one, at) => filters.slice(at + 1).map((other) => ({ ...one, ...other })))
  return [...filters, ...pairs, Object.assign({}, ...filters) as Filter]
}

export function describeActivityQueries(store: () => ActivityStore): void {
  describe('lists', () => {
    test.each(['sessions', 'requests', 'tasks', 'subtasks', 'actions'] as const)(
      '%s are returned newest first, without gaps and repetitions, for every filter and pair of filters',
      async (list) => {
        await fill(store())
        const read = (filter: Filter, page: Page) =>
          store()[list]({ ...filter, ...page }) as Promise<Listed<{ started_at: string }>>
        const all = (await read({}, ALL)).items
        expect(all).toHaveLength(60)
        expect(all.map((item) => item.started_at)).toEqual(
          all
            .map((item) => item.started_at)
            .toSorted()
            .toReversed(),
        )
        for (const filter of combinations(FILTERS[list] ?? [])) {
          const expected = all.filter((item) => matches(item, filter))
          expect((await read(filter, ALL)).items, JSON.stringify(filter)).toEqual(expected)
        }
        for (const filter of FILTERS[list] ?? []) {
          const expected = all.filter((item) => matches(item, filter))
          expect(await pages((page) => read(filter, page), 13), JSON.stringify(filter)).toEqual(expected)
        }
        expect(await pages((page) => read({}, page), 25)).toEqual(all)
      },
    )

    test('projects are ordered by their last change and found by id and path', async () => {
      await fill(store())
      const projects = await pages((page) => store().projects(page), 1)
      expect(projects.map((project) => project.project_id)).toEqual(['p2', 'p1', 'p3'])
      for (const project of projects) {
        expect(await store().project({ project_id: project.project_id })).toEqual(project)
        expect(await store().project({ path: project.path })).toEqual(project)
      }
      expect(await store().project({ path: '/work/p9' })).toBeNull()
      expect(await store().project({ project_id: 'p1', path: '/work/p2' })).toBeNull()
      expect(await store().project({})).toBeNull()
    })

    test.each(['', 'x', 'e30', 'WzEsMl0', 'bnVsbA'])('the cursor "%s" is rejected', async (cursor) => {
      await expect(store().actions({ ...ALL, cursor })).rejects.toMatchObject({ code: 'params_invalid' })
      await expect(store().projects({ ...ALL, cursor })).rejects.toMatchObject({ code: 'params_invalid' })
    })
  })

  describe('the tree', () => {
    test('a tree has the newest sessions of a project with all that belongs to them', async () => {
      await store().write(
        rowsOf({
          projects: [projectRow('p1'), projectRow('p2')],
          sessions: [
            ...[sessionRow('s1'), sessionRow('s2', { started_at: timeAt(1) })],
            ...[sessionRow('s3', { started_at: timeAt(2) }), sessionRow('s4', { project_id: 'p2' })],
          ],
          requests: [requestRow('r1', { session_id: 's3' }), requestRow('r2')],
          tasks: [taskRow('t1', { session_id: 's3' })],
          subtasks: [subtaskRow('b1', { session_id: 's3' })],
          actions: [
            actionRow('a1', {
              session_id: 's3',
              request_id: 'r1',
              subtask_id: 'b1',
              tool_name: 'Bash',
              input: 'ls',
            }),
            actionRow('a2'),
          ],
        }),
      )
      const tree = await store().tree({ path: '/work/p1', limit: 2 })
      expect(tree).toMatchObject({
        project: { project_id: 'p1', sessions: 3 },
        sessions: [{ session_id: 's3' }, { session_id: 's2' }],
        requests: [{ request_id: 'r1' }],
        tasks: [{ task_id: 't1' }],
        subtasks: [{ subtask_id: 'b1' }],
        actions: [{ action_id: 'a1', subtask_id: 'b1', tool_name: 'Bash', input: null }],
        truncated: true,
      })
      expect(await store().tree({ project_id: 'p1', limit: 3 })).toMatchObject({ truncated: false })
      const one = await store().tree({ session_id: 's4', limit: 20 })
      expect(one).toMatchObject({
        project: { project_id: 'p2' },
        sessions: [{ session_id: 's4' }],
        truncated: false,
      })
      expect((await store().tree({ limit: 20 })).sessions).toHaveLength(4)
      const unknown = { project: null, sessions: [], truncated: false }
      expect(await store().tree({ project_id: 'p9', limit: 20 })).toMatchObject(unknown)
      const elsewhere = await store().tree({ project_id: 'p1', session_id: 's4', limit: 20 })
      expect(elsewhere).toMatchObject({ project: { project_id: 'p1' }, sessions: [] })
    })

    test('a tree is bounded, and reports that it is', async () => {
      const ids = Array.from({ length: 2_001 }, (_, n) => n)
      await store().write(
        rowsOf({
          projects: [projectRow('p1')],
          sessions: [sessionRow('s1')],
          requests: ids.slice(0, 501).map((n) => requestRow(`r${n}`, { started_at: timeAt(n) })),
          actions: ids.map((n) => actionRow(`a${n}`, { request_id: 'r0', started_at: timeAt(n) })),
        }),
      )
      const tree = await store().tree({ project_id: 'p1', limit: 20 })
      expect(tree.truncated).toBe(true)
      expect(tree.actions).toHaveLength(2_000)
      expect(tree.actions[0]).toMatchObject({ action_id: 'a2000' })
      // The oldest request is included because it has actions.
      expect(tree.requests.map((request) => request.request_id)).toContain('r0')
      expect(tree.requests).toHaveLength(501)
    })
  })

  describe('sums', () => {
    test('hours and tools are those that overlap the given time', async () => {
      await store().write(
        rowsOf({
          projects: [projectRow('p1'), projectRow('p2')],
          sessions: [sessionRow('s1')],
          actions: [
            actionRow('a1', { tool_name: 'Bash', status: 'failed', duration_ms: 10 }),
            actionRow('a2', { tool_name: 'Bash', status: 'denied', duration_ms: 30, started_at: timeAt(59) }),
            actionRow('a3', { tool_name: 'Bash', started_at: timeAt(60) }),
            actionRow('a4', { tool_name: 'Read', started_at: timeAt(180), project_id: 'p2' }),
            actionRow('a5', { tool_name: 'Read', started_at: timeAt(181), project_id: null }),
          ],
        }),
      )
      const eight = { hour: timeAt(0), actions: 2, errors: 2 }
      const nine = { hour: timeAt(60), actions: 1, errors: 0 }
      const eleven = { hour: timeAt(180), actions: 2, errors: 0 }
      expect(await store().hourly({})).toEqual({ hours: [eight, nine, eleven] })
      expect(await store().hourly({ since: timeAt(30), until: timeAt(60) })).toEqual({ hours: [eight] })
      expect(await store().hourly({ since: timeAt(60), until: timeAt(61) })).toEqual({ hours: [nine] })
      expect(await store().hourly({ project_id: 'p2' })).toEqual({ hours: [{ ...eleven, actions: 1 }] })
      const read = { tool_name: 'Read', tool_type: 'builtin', actions: 2, errors: 0, duration_ms: null }
      expect(await store().toolsSummary({})).toEqual({
        tools: [{ tool_name: 'Bash', tool_type: 'builtin', actions: 3, errors: 2, duration_ms: 20 }, read],
      })
      expect(await store().toolsSummary({ since: timeAt(180) })).toEqual({ tools: [read] })
    })

    test('counts are exact, also from the middle of an hour', async () => {
      expect(await store().counts(timeAt(0))).toMatchObject({ oldest_at: null, distinct_tools: 0 })
      await fill(store())
      await store().write(
        rowsOf({
          usage: [0, 12, 18].map((n) => usageRow(`u${n}`, { at: timeAt(n), output_tokens: 1, cost_usd: n })),
        }),
      )
      const [sessions, requests, actions] = [
        await store().sessions(ALL),
        await store().requests(ALL),
        await store().actions(ALL),
      ]
      for (const since of [timeAt(0), timeAt(10), timeAt(60)]) {
        const after = <Item extends { started_at: string }>(page: Listed<Item>) =>
          page.items.filter((item) => item.started_at >= since)
        expect(await store().counts(since)).toEqual({
          projects: 3,
          sessions: { open: 30, since: after(sessions).length, total: 60 },
          requests: { running: 15, since: after(requests).length, total: 60 },
          tasks: 60,
          subtasks: { running: 15, total: 60 },
          actions: {
            since: after(actions).length,
            errors_since: after(actions).filter(({ status }) => status === 'failed' || status === 'denied')
              .length,
            total: 60,
          },
          distinct_tools: 3,
          usage_since: {
            ...{ input_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
            output_tokens: [0, 12, 18].filter((n) => timeAt(n) >= since).length,
            cost_usd: since === timeAt(60) ? null : 30,
          },
          oldest_at: timeAt(0),
          schema_version: (await store().counts(since)).schema_version,
        })
      }
    })
  })
}
