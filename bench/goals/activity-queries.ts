/** The activity database: writing it, and the slowest queries over all of it, compared with what the hub needs. */
import path from 'node:path'
import type { ActionRow, ActivityStore } from '../../src/ports/activity-store.ts'
import { openActivityStore } from '../../src/storage/sqlite/activity/activity-store.ts'
import {
  actionRow,
  projectRow,
  requestRow,
  rowsOf,
  sessionRow,
  timeAt,
} from '../../test/support/activity-rows.ts'
import { temporaryDirectory } from '../processes.ts'
import { figure, interleave, median, type Figure, type Goal } from '../report/figures.ts'

const SESSIONS = 500
/** Numbers of actions: all, and in one session. */
const ACTIONS = 100_000
const EACH = ACTIONS / SESSIONS
/** Numbers of rows a second and of milliseconds. */
const WRITE_MIN = 10_000
const QUERY_MAX_MS = 150
const ROUNDS = 5
const TOOLS = ['Bash', 'Read', 'Edit', 'Grep', 'Write', 'Glob', 'Task', 'mcp__a__b']

export async function activityQueries(): Promise<Figure[]> {
  const store = await openActivityStore({ file: path.join(temporaryDirectory(), 'activity.db') })
  const speeds: number[] = []
  for (let session = 0; session < SESSIONS; session++) speeds.push(await writeSession(store, session))
  const writes = figure(
    'activity-write',
    'rows/s',
    'activity: >= 1',
    // The first tenth, the middle and the last one.
    [0.05, 0.5, 0.95].map((part) => ({ value: median(tenth(speeds, part)), limit: WRITE_MIN })),
    () => [`begins and ends of ${ACTIONS} actions, ${EACH} a transaction`, `limit: ${WRITE_MIN}`],
    'parts of the run',
  )
  const queries = []
  for (const [name, run] of Object.entries(slowQueries(store))) queries.push(await queryFigure(name, run))
  await store.close()
  return [writes, ...queries]
}

function tenth(speeds: readonly number[], part: number): number[] {
  const length = speeds.length / 10
  const start = Math.round(part * speeds.length - length / 2)
  return speeds.slice(start, start + length)
}

/** Returns the number of written rows a second. */
async function writeSession(store: ActivityStore, session: number): Promise<number> {
  const session_id = `session-${session}`
  const project_id = `p${session % 3 === 0 ? session % 40 : 0}`
  const begins: ActionRow[] = []
  const ends: ActionRow[] = []
  for (let n = 0; n < EACH; n++) {
    const links = { session_id, project_id, request_id: `${session_id}:${n - (n % 10)}` }
    const started_at = timeAt(session * 60 + n / 4)
    const id = `${session_id}:${n}`
    const tool_name = TOOLS[(n * n) % TOOLS.length] ?? 'Bash'
    begins.push(
      actionRow(id, { ...links, started_at, tool_name, tool_type: 'builtin', input: 'x'.repeat(200) }),
    )
    const status = n % 20 === 0 ? 'failed' : 'completed'
    ends.push(actionRow(id, { ...links, started_at, ended_at: started_at, status, output: 'x'.repeat(600) }))
  }
  const started = performance.now()
  await store.write(
    rowsOf({
      projects: [projectRow(project_id, { at: timeAt(session * 60) })],
      sessions: [sessionRow(session_id, { project_id, started_at: timeAt(session * 60) })],
      requests: begins
        .filter((_, n) => n % 10 === 0)
        .map(({ request_id, started_at }) =>
          requestRow(String(request_id), { session_id, project_id, started_at }),
        ),
      actions: begins,
    }),
  )
  await store.write(rowsOf({ actions: ends }))
  return (begins.length + ends.length) / ((performance.now() - started) / 1_000)
}

function slowQueries(store: ActivityStore): Record<string, () => Promise<unknown>> {
  const page = { limit: 200 }
  const all = { since: timeAt(0) }
  return {
    actions: () => store.actions(page),
    'empty-page': () => store.actions({ ...page, project_id: 'p0', tool_name: 'Bash', status: 'denied' }),
    requests: () => store.requests({ ...page, project_id: 'p0', ...all }),
    tree: () => store.tree({ project_id: 'p0', limit: 20 }),
    tools: () => store.toolsSummary(all),
    hourly: () => store.hourly(all),
    counts: () => store.counts(all.since),
  }
}

async function queryFigure(name: string, run: () => Promise<unknown>): Promise<Figure> {
  const goal: Goal = 'activity: <= 1'
  const rounds = await interleave(ROUNDS, {
    async value() {
      const started = performance.now()
      await run()
      return performance.now() - started
    },
    limit: () => Promise.resolve(QUERY_MAX_MS),
  })
  return figure(`activity-${name}`, 'ms', goal, rounds, () => [
    `one query over ${ACTIONS} actions of ${SESSIONS} sessions`,
    `limit: ${QUERY_MAX_MS} ms`,
  ])
}
