/** The promises of an activity store about deletion and retention. */
import { describe, expect, test } from 'vitest'
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

const ALL = { limit: 200 }

/** Two sessions, each in a project of its own, with one row of each kind. */
function twoSessions() {
  return rowsOf({
    projects: [projectRow('p1', { at: timeAt(1) }), projectRow('p2', { at: timeAt(2) })],
    ...['1', '2'].reduce<Omit<ReturnType<typeof rowsOf>, 'projects'>>(
      (rows, n) => {
        const session_id = `s${n}`
        const project_id = `p${n}`
        return {
          sessions: [...rows.sessions, sessionRow(session_id, { project_id, last_at: timeAt(Number(n)) })],
          requests: [...rows.requests, requestRow(`r${n}`, { session_id, project_id })],
          tasks: [...rows.tasks, taskRow(`t${n}`, { session_id, request_id: `r${n}` })],
          subtasks: [...rows.subtasks, subtaskRow(`b${n}`, { session_id, task_id: `t${n}` })],
          actions: [...rows.actions, actionRow(`a${n}`, { session_id, project_id, status: 'failed' })],
          usage: [...rows.usage, usageRow('u', { session_id, output_tokens: 1 })],
        }
      },
      { sessions: [], requests: [], tasks: [], subtasks: [], actions: [], usage: [] },
    ),
  })
}

export function describeActivityRemoval(store: () => ActivityStore): void {
  describe('removal', () => {
    const numbers = async () => {
      const { projects, sessions, requests, tasks, subtasks, actions, usage_since } = await store().counts(
        timeAt(0),
      )
      const rows = [
        sessions.total,
        requests.total,
        tasks,
        subtasks.total,
        actions.total,
        usage_since.output_tokens,
      ]
      return [projects, ...rows]
    }

    test('a deleted session is removed with all its rows and from all sums', async () => {
      await store().write(twoSessions())
      expect(await store().deleteSession('s1')).toBe(true)
      expect(await store().deleteSession('s1')).toBe(false)
      expect(await store().session('s1')).toBeNull()
      expect(await numbers()).toEqual([2, 1, 1, 1, 1, 1, 1])
      expect(await store().project({ project_id: 'p1' })).toMatchObject({
        sessions: 0,
        actions: 0,
        errors: 0,
      })
      expect(await store().hourly({ project_id: 'p1' })).toEqual({ hours: [] })
      expect(await store().hourly({})).toEqual({ hours: [{ hour: timeAt(0), actions: 1, errors: 1 }] })
    })

    test('a deleted project is removed with its sessions, and its rows in other sessions', async () => {
      await store().write(twoSessions())
      await store().write(
        rowsOf({
          requests: [requestRow('r3', { session_id: 's2', project_id: 'p1' })],
          tasks: [taskRow('t3', { session_id: 's2', request_id: 'r3' })],
          subtasks: [subtaskRow('b3', { session_id: 's2', task_id: 't3' })],
          actions: [actionRow('a3', { session_id: 's2', project_id: 'p1' })],
        }),
      )
      expect(await store().deleteProject('p1')).toBe(1)
      expect(await store().deleteProject('p1')).toBe(0)
      expect(await store().project({ project_id: 'p1' })).toBeNull()
      expect(await numbers()).toEqual([1, 1, 1, 1, 1, 1, 1])
      expect((await store().sessions(ALL)).items).toMatchObject([{ session_id: 's2', total_tools_used: 1 }])
    })

    test('deleted actions leave their session', async () => {
      await store().write(twoSessions())
      expect(await store().deleteActions('s1')).toBe(1)
      expect(await store().deleteActions('s1')).toBe(0)
      expect((await store().sessions({ ...ALL, project_id: 'p1' })).items).toMatchObject([
        { session_id: 's1', total_tools_used: 0, total_errors: 0 },
      ])
      expect(await numbers()).toEqual([2, 2, 2, 2, 2, 1, 2])
    })

    test('sessions whose last event is too old are pruned, with projects that nothing names any more', async () => {
      await store().write(twoSessions())
      expect(await store().prune(timeAt(1), Number.MAX_SAFE_INTEGER)).toEqual({
        sessions: 0,
        actions: 0,
        more: false,
      })
      expect(await store().prune(timeAt(2), Number.MAX_SAFE_INTEGER)).toEqual({
        sessions: 1,
        actions: 1,
        more: false,
      })
      expect(await numbers()).toEqual([1, 1, 1, 1, 1, 1, 1])
      expect(await store().openSessions()).toMatchObject([{ session_id: 's2' }])
    })

    test('the oldest sessions are pruned until the database is small enough, in bounded calls', async () => {
      const sessions = Array.from({ length: 6 }, (_, n) => `s${n}`)
      for (const [n, session_id] of sessions.entries()) {
        const ids = Array.from({ length: 600 }, (_, at) => `${session_id}:${at}`)
        await store().write(
          rowsOf({
            projects: [projectRow('p1')],
            sessions: [sessionRow(session_id, { last_at: timeAt(n) })],
            actions: ids.map((id) => actionRow(id, { session_id, output: 'x'.repeat(500) })),
          }),
        )
      }
      const bytes_max = 0.4 * (await store().bytes())
      const first = await store().prune(timeAt(0), bytes_max)
      expect(first.more).toBe(true)
      expect(first.actions).toBeLessThan(2_400)
      for (let more = true; more;) ({ more } = await store().prune(timeAt(0), bytes_max))
      expect(await store().bytes()).toBeLessThanOrEqual(bytes_max)
      const left = (await store().sessions(ALL)).items.map((session) => session.session_id)
      expect(left.toSorted()).toEqual(['s4', 's5'])
      expect(await store().counts(timeAt(0))).toMatchObject({ actions: { total: 1_200 } })
    })
  })
}
