/** Writes a batch of rows: merges what names the same row, updates or inserts, and changes the counters. */
import type { ActionStatus } from '../../../contracts/activity/views.ts'
import type {
  ActionRow,
  ActivityRows,
  ProjectRow,
  SessionRow,
  UsageRow,
} from '../../../ports/activity-store.ts'
import { applyTally, count, COUNTED, createTally, type CountedAction } from './counters.ts'
import { inChunks } from './in-chunks.ts'
import { recountProjects, recountSessions, sumUsage } from './recount.ts'
import type { ActivityDb } from './schema.ts'
import { storableRow } from './storable-text.ts'
import { createUpsert, type UpsertPlan } from './upsert.ts'

const UNKNOWN_TOOL = 'unknown'

/** Call it in a transaction. */
export async function writeRows(db: ActivityDb, rows: ActivityRows): Promise<void> {
  const ids = await writeProjects(db, rows.projects.map(storableRow))
  /** Replaces the id of a project that is stored with another one. */
  const withProject = <Row extends { project_id: string | null }>(given: Row): Row => {
    const row = storableRow(given)
    const stored = row.project_id === null ? undefined : ids.get(row.project_id)
    return stored === undefined || stored === row.project_id ? row : { ...row, project_id: stored }
  }
  const added = await writeSessions(db, rows.sessions.map(withProject))
  await upsertRequests(
    db,
    merged(rows.requests.map(withProject), 'request_id').map((row) => ({
      ...row,
      status: row.status ?? 'running',
      prompt: jsonText(row.prompt),
      error: jsonText(row.error),
    })),
  )
  await upsertTasks(db, merged(rows.tasks.map(storableRow), 'task_id').map(withStatus))
  await upsertSubtasks(
    db,
    merged(rows.subtasks.map(storableRow), 'subtask_id').map((row) => ({
      ...withStatus(row),
      description: jsonText(row.description),
      result: jsonText(row.result),
    })),
  )
  await writeActions(db, merged(rows.actions.map(withProject), 'action_id'))
  await writeUsage(db, rows.usage.map(storableRow), added)
}

const TIMES = { started_at: 'least', ended_at: 'keep', status: 'end' } as const

const upsertProjects = createUpsert({
  table: 'projects',
  key: ['project_id'],
  columns: { path: 'replace', name: 'replace', created_at: 'replace', updated_at: 'replace' },
})
const upsertSessions = createUpsert({
  table: 'sessions',
  key: ['session_id'],
  columns: {
    ...{
      identity: 'replace',
      client: 'replace',
      project_id: 'replace',
      continues: 'replace',
      model: 'replace',
    },
    ...{ started_at: 'replace', ended_at: 'replace', last_at: 'replace' },
    ...{ context_tokens: 'replace', context_window: 'replace', track: 'replace' },
  },
})
const upsertRequests = createUpsert({
  table: 'requests',
  key: ['request_id'],
  columns: {
    ...{ ...TIMES, session_id: 'replace', project_id: 'fill', turn_seq: 'replace' },
    ...{ prompt: 'fill', prompt_type: 'fill', error: 'fill' },
  },
})
const upsertTasks = createUpsert({
  table: 'task_lists',
  key: ['task_id'],
  columns: { ...TIMES, request_id: 'replace', session_id: 'replace', wave_number: 'replace' },
})
const upsertSubtasks = createUpsert({
  table: 'subtasks',
  key: ['subtask_id'],
  columns: {
    ...{ ...TIMES, task_id: 'replace', session_id: 'replace', agent_id: 'replace' },
    ...{ agent_type: 'fill', parent_agent_id: 'fill', description: 'fill', result: 'fill' },
  },
})
const RESULTS: UpsertPlan['columns'] = {
  ...({ status: 'replace', ended_at: 'keep', duration_ms: 'replace', exit_code: 'fill' } as const),
  ...({ file_paths: 'fill', input: 'fill', output: 'fill', error: 'fill' } as const),
}
/** Columns of an action that only its begin changes. `mergedAction` has already combined them with the stored row. */
const BEGUN = [
  ...(['session_id', 'project_id', 'request_id', 'subtask_id'] as const),
  ...(['tool_name', 'tool_type', 'started_at'] as const),
] as const
const REPLACED = Object.fromEntries(BEGUN.map((name) => [name, 'replace' as const]))
const upsertActions = createUpsert({
  ...{ table: 'actions', key: ['action_id'] },
  columns: { ...REPLACED, ...RESULTS },
})
/** For rows whose other columns are as stored, because SQLite rewrites the index of each column that is set. */
const endActions = createUpsert({
  ...{ table: 'actions', key: ['action_id'], inserted: BEGUN },
  columns: RESULTS,
})
const upsertUsage = createUpsert({
  table: 'usage',
  key: ['session_id', 'usage_id'],
  columns: {
    ...{ at: 'replace', input_tokens: 'replace', output_tokens: 'replace' },
    ...{ cache_read_tokens: 'replace', cache_write_tokens: 'replace', cost_usd: 'replace' },
  },
})

/** Returns the id under which each given project is stored. */
async function writeProjects(db: ActivityDb, rows: readonly ProjectRow[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  const added: string[] = []
  for (const { project_id, path, name, at } of rows) {
    const found = await db
      .selectFrom('projects')
      .select(['project_id', 'created_at', 'updated_at'])
      .where((eb) => eb.or([eb('path', '=', path), eb('project_id', '=', project_id)]))
      // The one with this path first.
      .orderBy((eb) => eb.case().when('path', '=', path).then(0).else(1).end())
      .limit(1)
      .executeTakeFirst()
    const stored_id = found?.project_id ?? project_id
    ids.set(project_id, stored_id)
    if (found === undefined) added.push(project_id)
    const created_at = found === undefined || at < found.created_at ? at : found.created_at
    const updated_at = found === undefined || at > found.updated_at ? at : found.updated_at
    await upsertProjects(db, [{ project_id: stored_id, path, name, created_at, updated_at }])
  }
  await recountProjects(db, added)
  return ids
}

/** Returns the ids of sessions that were not stored. */
async function writeSessions(db: ActivityDb, rows: readonly SessionRow[]): Promise<string[]> {
  const last = new Map(rows.map((row) => [row.session_id, row]))
  const known = new Set<string>()
  await inChunks([...last.keys()], async (ids) => {
    const found = await db
      .selectFrom('sessions')
      .select('session_id')
      .where('session_id', 'in', ids)
      .execute()
    for (const { session_id } of found) known.add(session_id)
  })
  await upsertSessions(
    db,
    [...last.values()].map((row) => ({ ...row, track: JSON.stringify(row.track) })),
  )
  const added = [...last.keys()].filter((id) => !known.has(id))
  await recountSessions(db, added)
  return added
}

async function writeActions(db: ActivityDb, rows: readonly ActionRow[]): Promise<void> {
  const tally = createTally()
  await inChunks(rows, async (chunk) => {
    const stored = await db
      .selectFrom('actions')
      .select(['action_id', 'request_id', 'subtask_id', ...COUNTED])
      .where(
        'action_id',
        'in',
        chunk.map((row) => row.action_id),
      )
      .execute()
    const before = new Map(stored.map((action) => [action.action_id, action]))
    const after = chunk.map((row) => mergedAction(row, before.get(row.action_id)))
    const isBegun = (action: (typeof after)[number]) => {
      const stored = before.get(action.action_id)
      return stored !== undefined && BEGUN.every((name) => stored[name] === action[name])
    }
    await upsertActions(
      db,
      after.filter((action) => !isBegun(action)),
    )
    await endActions(db, after.filter(isBegun))
    for (const action of stored) count(tally, action, -1)
    for (const action of after) count(tally, action, 1)
  })
  await applyTally(db, tally)
}

interface StoredLinks {
  request_id: string | null
  subtask_id: string | null
}

function mergedAction(row: ActionRow, stored: (CountedAction & StoredLinks) | undefined) {
  const ended = stored?.status === 'running' ? undefined : stored?.status
  const status: ActionStatus = ended ?? row.status ?? 'running'
  return {
    action_id: row.action_id,
    session_id: row.session_id,
    project_id: row.project_id ?? stored?.project_id ?? null,
    request_id: row.request_id ?? stored?.request_id ?? null,
    subtask_id: row.subtask_id ?? stored?.subtask_id ?? null,
    tool_name: row.tool_name ?? stored?.tool_name ?? UNKNOWN_TOOL,
    tool_type: row.tool_type ?? stored?.tool_type ?? ('builtin' as const),
    status,
    duration_ms: row.duration_ms ?? stored?.duration_ms ?? null,
    started_at:
      stored !== undefined && stored.started_at < row.started_at ? stored.started_at : row.started_at,
    ended_at: row.ended_at,
    exit_code: row.exit_code,
    file_paths: jsonText(row.file_paths),
    input: jsonText(row.input),
    output: jsonText(row.output),
    error: jsonText(row.error),
  }
}

async function writeUsage(
  db: ActivityDb,
  rows: readonly UsageRow[],
  added: readonly string[],
): Promise<void> {
  const last = new Map(rows.map((row) => [JSON.stringify([row.session_id, row.usage_id]), row]))
  await upsertUsage(db, [...last.values()])
  await sumUsage(db, [...new Set([...added, ...rows.map((row) => row.session_id)])])
}

interface Mergeable {
  started_at: string
  ended_at?: string | undefined | null
  status?: string | undefined
}

/** Merges the rows with the same id: the last given value of a field, but the first end and the earliest begin. */
function merged<Row extends Mergeable>(rows: readonly Row[], key: keyof Row): Row[] {
  const byId = new Map<unknown, Row>()
  for (const row of rows) {
    const earlier = byId.get(row[key])
    byId.set(row[key], earlier === undefined ? row : mergedRow(earlier, row))
  }
  return [...byId.values()]
}

function mergedRow<Row extends Mergeable>(earlier: Row, later: Row): Row {
  const result = { ...earlier }
  for (const name of Object.keys(later) as (keyof Row)[]) {
    const value = later[name]
    // A null is a value only if nothing was given before.
    if (value !== undefined && value !== null) result[name] = value
  }
  if (earlier.started_at < later.started_at) result.started_at = earlier.started_at
  if (earlier.ended_at != null) result.ended_at = earlier.ended_at
  if (earlier.status !== undefined) result.status = earlier.status
  return result
}

function withStatus<Row extends Mergeable>(row: Row) {
  return { ...row, status: row.status ?? 'running' }
}

/** An absent value becomes NULL, and a null the JSON text `null`. */
function jsonText(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
