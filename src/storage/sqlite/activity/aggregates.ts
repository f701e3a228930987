/** Sums over many rows, from the counters of hours and from indexes. */
import { sql } from 'kysely'
import {
  ActionStatus,
  ToolType,
  WorkStatus,
  type Hourly,
  type HourlyInput,
  type ToolsSummary,
} from '../../../contracts/activity/views.ts'
import type { ActivityCounts } from '../../../ports/activity-store.ts'
import { hourOf } from './counters.ts'
import { ALL_PROJECTS, type ActivityDb } from './schema.ts'
import { USAGE_COLUMNS, usageOf } from './usage-columns.ts'

const HOUR_MS = 3_600_000
const TOOLS_MAX = 1_000

export async function readHourly(db: ActivityDb, input: HourlyInput): Promise<Hourly> {
  const rows = await hoursIn(db, input)
    .select((eb) => ['hour', eb.fn.sum('actions').as('actions'), eb.fn.sum('errors').as('errors')])
    .groupBy('hour')
    .orderBy('hour')
    .execute()
  return {
    hours: rows.map(({ hour, actions, errors }) => ({
      ...{ hour, actions: Number(actions), errors: Number(errors) },
    })),
  }
}

export async function readToolsSummary(db: ActivityDb, input: HourlyInput): Promise<ToolsSummary> {
  const rows = await hoursIn(db, input)
    .select((eb) => [
      ...(['tool_name', 'tool_type'] as const),
      eb.fn.sum('actions').as('actions'),
      eb.fn.sum('errors').as('errors'),
      eb.fn.sum('duration_ms').as('duration_ms'),
      eb.fn.sum('durations').as('durations'),
    ])
    .groupBy(['tool_name', 'tool_type'])
    .orderBy(sql`sum(actions)`, 'desc')
    .orderBy('tool_name')
    .orderBy('tool_type')
    .limit(TOOLS_MAX)
    .execute()
  return {
    tools: rows.map(({ tool_name, tool_type, actions, errors, duration_ms, durations }) => ({
      ...{ tool_name, tool_type, actions: Number(actions), errors: Number(errors) },
      duration_ms: Number(durations) === 0 ? null : Number(duration_ms) / Number(durations),
    })),
  }
}

/** The hours that overlap the given time. */
function hoursIn(db: ActivityDb, { project_id, since, until }: HourlyInput) {
  let hours = db.selectFrom('action_hours').where('project_id', '=', project_id ?? ALL_PROJECTS)
  if (since !== undefined) hours = hours.where('hour', '>=', hourOf(since))
  // An hour that begins at `until` does not overlap.
  if (until !== undefined) hours = hours.where('hour', '<', until)
  return hours
}

export async function readCounts(db: ActivityDb, since: string): Promise<ActivityCounts> {
  const rows = await db
    .selectNoFrom(() => [
      countOf(db, 'projects').as('projects'),
      countOf(db, 'sessions').as('sessions'),
      countOf(db, 'sessions').where('ended_at', 'is', null).as('sessions_open'),
      countOf(db, 'sessions').where('started_at', '>=', since).as('sessions_since'),
      countOf(db, 'requests').as('requests'),
      countOf(db, 'requests').where('status', '=', 'running').as('requests_running'),
      countOf(db, 'requests')
        // All values, so that the index that begins with the status is used.
        .where('status', 'in', WorkStatus.options)
        .where('started_at', '>=', since)
        .as('requests_since'),
      countOf(db, 'task_lists').as('tasks'),
      countOf(db, 'subtasks').as('subtasks'),
      countOf(db, 'subtasks').where('status', '=', 'running').as('subtasks_running'),
    ])
    .executeTakeFirstOrThrow()
  const { oldest_at } = await db
    .selectFrom('sessions')
    .select((eb) => eb.fn.min<string | null>('started_at').as('oldest_at'))
    .executeTakeFirstOrThrow()
  const { version } = await db
    .selectFrom('schema_version')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirstOrThrow()
  const number = (name: keyof typeof rows) => Number(rows[name] ?? 0)
  return {
    projects: number('projects'),
    sessions: {
      ...{ open: number('sessions_open'), since: number('sessions_since'), total: number('sessions') },
    },
    requests: {
      ...{ running: number('requests_running'), since: number('requests_since'), total: number('requests') },
    },
    tasks: number('tasks'),
    subtasks: { running: number('subtasks_running'), total: number('subtasks') },
    ...(await countActions(db, since)),
    usage_since: await usageSince(db, since),
    oldest_at,
    schema_version: version,
  }
}

type CountedTable = 'projects' | 'sessions' | 'requests' | 'task_lists' | 'subtasks'

function countOf(db: ActivityDb, table: CountedTable) {
  // The conditions of `readCounts` name only columns that the table has.
  return db.selectFrom(table as 'requests').select(sql<number | string>`count(*)`.as('rows'))
}

/** Whole hours from the counters, and the rest of the first hour from the actions. */
async function countActions(db: ActivityDb, since: string) {
  const whole = hourOf(since) === since ? since : nextHour(since)
  const totals = await db
    .selectFrom('action_hours')
    .select((eb) => [
      eb.fn.sum('actions').as('total'),
      eb.fn.count('tool_name').distinct().as('distinct_tools'),
    ])
    .where('project_id', '=', ALL_PROJECTS)
    .executeTakeFirstOrThrow()
  const hours = await db
    .selectFrom('action_hours')
    .select((eb) => [eb.fn.sum('actions').as('actions'), eb.fn.sum('errors').as('errors')])
    .where('project_id', '=', ALL_PROJECTS)
    .where('hour', '>=', whole)
    .executeTakeFirstOrThrow()
  const rest = await db
    .selectFrom('actions')
    .select((eb) => ['status', eb.fn.countAll().as('actions')])
    // All values, so that the index of these columns is used.
    .where('tool_type', 'in', ToolType.options)
    .where('status', 'in', ActionStatus.options)
    .where('started_at', '>=', since)
    .where('started_at', '<', whole)
    .groupBy('status')
    .execute()
  const sum = (rows: typeof rest) => rows.reduce((total, row) => total + Number(row.actions), 0)
  const failed = rest.filter(({ status }) => status === 'failed' || status === 'denied')
  return {
    actions: {
      since: Number(hours.actions ?? 0) + sum(rest),
      errors_since: Number(hours.errors ?? 0) + sum(failed),
      total: Number(totals.total ?? 0),
    },
    distinct_tools: Number(totals.distinct_tools),
  }
}

function nextHour(time: string): string {
  return new Date(Date.parse(hourOf(time)) + HOUR_MS).toISOString()
}

async function usageSince(db: ActivityDb, since: string) {
  const sums = await db
    .selectFrom('usage')
    .select((eb) => USAGE_COLUMNS.map((name) => eb.fn.sum<number | null>(name).as(name)))
    .where('at', '>=', since)
    .executeTakeFirstOrThrow()
  return usageOf(sums)
}
