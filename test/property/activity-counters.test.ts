/** Counters of an activity store equal the stored actions, for any rows in any order. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ActionActivity } from '../../src/contracts/activity/views.ts'
import type { ActionRow, ActivityStore } from '../../src/ports/activity-store.ts'
import { openActivityStore } from '../../src/storage/sqlite/activity/activity-store.ts'
import { actionRow, projectRow, rowsOf, sessionRow, timeAt } from '../support/activity-rows.ts'

const ALL = { limit: 200 }
const optional = <Value>(...values: Value[]) => fc.option(fc.constantFrom(...values), { nil: undefined })

const action: fc.Arbitrary<ActionRow> = fc
  .record({
    action_id: fc.constantFrom('a1', 'a2', 'a3', 'a4', 'a5'),
    session_id: fc.constantFrom('s1', 's2'),
    project_id: fc.constantFrom('p1', 'p2', null),
    started_at: fc.constantFrom(0, 59, 60, 200).map(timeAt),
    ended_at: optional(timeAt(300)),
    status: optional('completed' as const, 'failed' as const, 'denied' as const),
    tool_name: optional('Bash', 'Read'),
    tool_type: optional('builtin' as const, 'mcp' as const),
    duration_ms: optional(0, 7),
  })
  .map(({ action_id, ...row }) => actionRow(action_id, row))

type Step = (store: ActivityStore) => Promise<unknown>
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.array(action, { minLength: 1, maxLength: 8 }).map(writeActions) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('s1', 's2').map(
      (id): Step =>
        (store) =>
          store.deleteActions(id),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('s1', 's2').map(
      (id): Step =>
        (store) =>
          store.deleteSession(id),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('p1', 'p2').map(
      (id): Step =>
        (store) =>
          store.deleteProject(id),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((store) => store.prune(timeAt(1), Number.MAX_SAFE_INTEGER)) },
)

/** Every batch contains the sessions and projects, in case they were deleted. */
function writeActions(actions: ActionRow[]): Step {
  return (store) =>
    store.write(
      rowsOf({
        projects: [projectRow('p1'), projectRow('p2')],
        sessions: [sessionRow('s1'), sessionRow('s2', { last_at: timeAt(5), project_id: 'p2' })],
        actions,
      }),
    )
}

const failed = (actions: readonly ActionActivity[]) =>
  actions.filter(({ status }) => status === 'failed' || status === 'denied').length

async function checkCounters(store: ActivityStore): Promise<void> {
  const actions = (await store.actions(ALL)).items
  for (const session of (await store.sessions(ALL)).items) {
    const own = actions.filter(({ session_id }) => session_id === session.session_id)
    expect(session).toMatchObject({
      total_tools_used: own.length,
      total_success: own.filter(({ status }) => status === 'completed').length,
      total_errors: failed(own),
    })
  }
  for (const project of (await store.projects(ALL)).items) {
    const own = actions.filter(({ project_id }) => project_id === project.project_id)
    expect(project).toMatchObject({ actions: own.length, errors: failed(own) })
  }
  for (const project_id of [undefined, 'p1', 'p2']) {
    const own = actions.filter((item) => project_id === undefined || item.project_id === project_id)
    const hourOf = ({ started_at }: ActionActivity) => `${started_at.slice(0, 13)}:00:00.000Z`
    const hours = [...new Set(own.map(hourOf))].toSorted().map((hour) => {
      const items = own.filter((item) => hourOf(item) === hour)
      return { hour, actions: items.length, errors: failed(items) }
    })
    expect((await store.hourly({ project_id })).hours).toEqual(hours)
    for (const tool of (await store.toolsSummary({ project_id })).tools) {
      const used = own.filter(
        (item) => item.tool_name === tool.tool_name && item.tool_type === tool.tool_type,
      )
      const durations = used.flatMap(({ duration_ms }) => duration_ms ?? [])
      expect(tool).toMatchObject({
        ...{ actions: used.length, errors: failed(used) },
        duration_ms:
          durations.length === 0 ? null : durations.reduce((sum, one) => sum + one, 0) / durations.length,
      })
    }
  }
  expect((await store.counts(timeAt(0))).actions.total).toBe(actions.length)
}

test('counters equal what counting the stored actions gives', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      const store = await openActivityStore({ file: ':memory:' })
      for (const run of steps) {
        await run(store)
        await checkCounters(store)
      }
      await store.close()
    }),
    { numRuns: 30 },
  )
})
