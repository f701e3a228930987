/** Counters of sessions, projects and hours: the difference that stored, changed and deleted actions make. */
import type { ActionStatus, ToolType } from '../../../contracts/activity/views.ts'
import { ALL_PROJECTS, type ActionHourTable, type ActivityDb } from './schema.ts'
import { createUpsert } from './upsert.ts'

/** The columns of an action that are counted. */
export interface CountedAction {
  session_id: string
  project_id: string | null
  tool_name: string
  tool_type: ToolType
  status: ActionStatus
  duration_ms: number | null
  started_at: string
}
export const COUNTED = [
  ...(['session_id', 'project_id', 'tool_name', 'tool_type'] as const),
  ...(['status', 'duration_ms', 'started_at'] as const),
] as const

interface SessionChange {
  total_tools_used: number
  total_success: number
  total_errors: number
}
interface ProjectChange {
  actions: number
  errors: number
}

/** The sum of changes. Write it with `applyTally` in the transaction that changes the actions. */
export interface Tally {
  sessions: Map<string, SessionChange>
  projects: Map<string, ProjectChange>
  hours: Map<string, ActionHourTable>
}

export function createTally(): Tally {
  return { sessions: new Map(), projects: new Map(), hours: new Map() }
}

/** Returns the beginning of the hour of a time. */
export function hourOf(time: string): string {
  return `${time.slice(0, 13)}:00:00.000Z`
}

export function isError(status: ActionStatus): boolean {
  return status === 'failed' || status === 'denied'
}

/** Adds an action, or takes it away if `sign` is -1. */
export function count(tally: Tally, action: CountedAction, sign: 1 | -1): void {
  const errors = isError(action.status) ? sign : 0
  const session = entryOf(tally.sessions, action.session_id, () => ({
    ...{ total_tools_used: 0, total_success: 0, total_errors: 0 },
  }))
  session.total_tools_used += sign
  session.total_success += action.status === 'completed' ? sign : 0
  session.total_errors += errors
  countHour(tally, ALL_PROJECTS, action, sign)
  if (action.project_id === null) return
  countHour(tally, action.project_id, action, sign)
  const project = entryOf(tally.projects, action.project_id, () => ({ actions: 0, errors: 0 }))
  project.actions += sign
  project.errors += errors
}

function countHour(tally: Tally, project_id: string, action: CountedAction, sign: 1 | -1): void {
  const { tool_name, tool_type, duration_ms } = action
  const hour = hourOf(action.started_at)
  const row = entryOf(tally.hours, `${project_id}\0${hour}\0${tool_name}\0${tool_type}`, () => ({
    ...{ project_id, hour, tool_name, tool_type },
    ...{ actions: 0, errors: 0, duration_ms: 0, durations: 0 },
  }))
  row.actions += sign
  row.errors += isError(action.status) ? sign : 0
  row.duration_ms += sign * (duration_ms ?? 0)
  row.durations += duration_ms === null ? 0 : sign
}

function entryOf<Entry>(entries: Map<string, Entry>, key: string, create: () => Entry): Entry {
  const known = entries.get(key)
  if (known !== undefined) return known
  const entry = create()
  entries.set(key, entry)
  return entry
}

const addHours = createUpsert({
  table: 'action_hours',
  key: ['project_id', 'hour', 'tool_name', 'tool_type'],
  columns: { actions: 'add', errors: 'add', duration_ms: 'add', durations: 'add' },
})

/** Adds the changes to the stored counters. Rows of hours without actions are deleted. */
export async function applyTally(db: ActivityDb, tally: Tally): Promise<void> {
  for (const [session_id, change] of tally.sessions) {
    if (!Object.values(change).some((value) => value !== 0)) continue
    await db
      .updateTable('sessions')
      .set((eb) => ({
        total_tools_used: eb('total_tools_used', '+', change.total_tools_used),
        total_success: eb('total_success', '+', change.total_success),
        total_errors: eb('total_errors', '+', change.total_errors),
      }))
      .where('session_id', '=', session_id)
      .execute()
  }
  for (const [project_id, change] of tally.projects) {
    if (change.actions === 0 && change.errors === 0) continue
    await db
      .updateTable('projects')
      .set((eb) => ({
        actions: eb('actions', '+', change.actions),
        errors: eb('errors', '+', change.errors),
      }))
      .where('project_id', '=', project_id)
      .execute()
  }
  await applyHours(db, [...tally.hours.values()])
}

async function applyHours(db: ActivityDb, hours: readonly ActionHourTable[]): Promise<void> {
  const changed = hours.filter(
    (row) => row.actions !== 0 || row.errors !== 0 || row.duration_ms !== 0 || row.durations !== 0,
  )
  await addHours(db, changed)
  for (const row of changed) {
    if (row.actions >= 0) continue
    await db
      .deleteFrom('action_hours')
      .where('project_id', '=', row.project_id)
      .where('hour', '=', row.hour)
      .where('tool_name', '=', row.tool_name)
      .where('tool_type', '=', row.tool_type)
      .where('actions', '=', 0)
      .execute()
  }
}
