/** Builds rows of the activity store. */
import type {
  ActionRow,
  ActivityRows,
  ProjectRow,
  RequestRow,
  SessionRow,
  SubtaskRow,
  TaskRow,
  UsageRow,
} from '../../src/ports/activity-store.ts'

/** Time that is `minutes` after the first one of a test. */
export const timeAt = (minutes: number): string =>
  new Date(Date.parse('2026-11-01T08:00:00.000Z') + minutes * 60_000).toISOString()

export function rowsOf(rows: Partial<ActivityRows>): ActivityRows {
  const none = { projects: [], sessions: [], requests: [], tasks: [], subtasks: [], actions: [], usage: [] }
  return { ...none, ...rows }
}

export function projectRow(project_id: string, more: Partial<ProjectRow> = {}): ProjectRow {
  return { project_id, path: `/work/${project_id}`, name: project_id, at: timeAt(0), ...more }
}

export function sessionRow(session_id: string, more: Partial<SessionRow> = {}): SessionRow {
  return {
    ...{ session_id, identity: 'ada', client: 'codex', project_id: 'p1', continues: null, model: null },
    ...{ started_at: timeAt(0), ended_at: null, last_at: timeAt(0) },
    ...{ context_tokens: null, context_window: null, track: {} },
    ...more,
  }
}

export function requestRow(request_id: string, more: Partial<RequestRow> = {}): RequestRow {
  return { request_id, session_id: 's1', project_id: 'p1', turn_seq: 1, started_at: timeAt(0), ...more }
}

export function taskRow(task_id: string, more: Partial<TaskRow> = {}): TaskRow {
  return { task_id, request_id: 'r1', session_id: 's1', wave_number: 1, started_at: timeAt(0), ...more }
}

export function subtaskRow(subtask_id: string, more: Partial<SubtaskRow> = {}): SubtaskRow {
  return { subtask_id, task_id: 't1', session_id: 's1', agent_id: subtask_id, started_at: timeAt(0), ...more }
}

export function actionRow(action_id: string, more: Partial<ActionRow> = {}): ActionRow {
  const links = { session_id: 's1', project_id: 'p1', request_id: null, subtask_id: null }
  return { action_id, ...links, started_at: timeAt(0), ...more }
}

export function usageRow(usage_id: string, more: Partial<UsageRow> = {}): UsageRow {
  const figures = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 }
  return { session_id: 's1', usage_id, at: timeAt(0), ...figures, cost_usd: null, ...more }
}
