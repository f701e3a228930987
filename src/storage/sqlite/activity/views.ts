/** Converts stored rows to what the port returns. */
import type { Selectable } from 'kysely'
import type { CapturedText } from '../../../contracts/activity/event.ts'
import type {
  ActionActivity,
  ProjectActivity,
  RequestActivity,
  SubtaskActivity,
  TaskActivity,
} from '../../../contracts/activity/views.ts'
import type { Json } from '../../../contracts/ids.ts'
import type { SessionListed, SessionRow } from '../../../ports/activity-store.ts'
import type {
  ActivityTables,
  RequestTable,
  StoredAction,
  StoredSession,
  SubtaskTable,
  TaskListTable,
} from './schema.ts'
import { usageOf } from './usage-columns.ts'

export type StoredProject = Selectable<ActivityTables['v_project_stats']>
export type StoredRequest = Selectable<RequestTable>
export type StoredTask = Selectable<TaskListTable>
export type StoredSubtask = Selectable<SubtaskTable>

export function toProject(row: StoredProject): ProjectActivity {
  const { project_id, path, name, created_at, updated_at, sessions, requests, actions, errors } = row
  return {
    ...{ project_id, path, name, created_at, updated_at },
    ...{ sessions: Number(sessions), requests: Number(requests), actions, errors },
  }
}

export function toSessionRow(row: StoredSession): SessionRow {
  const { session_id, identity, client, project_id, continues, model } = row
  const { started_at, ended_at, last_at, context_tokens, context_window, track } = row
  return {
    ...{ session_id, identity, client, project_id, continues, model },
    ...{ started_at, ended_at, last_at, context_tokens, context_window },
    track: JSON.parse(track) as Json,
  }
}

export function toSessionListed(row: StoredSession): SessionListed {
  const { last_at: _last, ...session } = toSessionRow(row)
  const { total_tools_used, total_success, total_errors } = row
  return { ...session, total_tools_used, total_success, total_errors, usage: usageOf(row) }
}

export function toRequest({ number: _number, prompt, error, ...row }: StoredRequest): RequestActivity {
  return { ...row, prompt: fromText(prompt), error: fromText(error) }
}

export function toTask({ number: _number, ...row }: StoredTask): TaskActivity {
  return row
}

export function toSubtask({ number: _number, description, result, ...row }: StoredSubtask): SubtaskActivity {
  return { ...row, description: fromText(description), result: fromText(result) }
}

export function toAction(stored: StoredAction): ActionActivity {
  const { number: _number, file_paths, input, output, error, ...row } = stored
  return {
    ...row,
    input: input === null ? null : (JSON.parse(input) as Json),
    output: fromText(output),
    error: fromText(error),
    file_paths: file_paths === null ? [] : (JSON.parse(file_paths) as string[]),
  }
}

function fromText(text: string | null): CapturedText | null {
  return text === null ? null : (JSON.parse(text) as CapturedText)
}
