/** Tests that each former path stands for its action. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub()
  await hub.personas.add({ identity: 'ada', surface: 'mcp' })
  await hub.personas.add({ identity: 'bob', surface: 'mcp' })
})
afterAll(() => hub.close())

const OF_PROGRAM = { session_id: 's1' }
/** Method, path, body, action. */
const CALLS: readonly (readonly [string, string, object | undefined, string])[] = [
  ['GET', '/api/projects?limit=5', undefined, 'activity projects'],
  ['GET', '/api/projects/p1', undefined, 'activity project'],
  ['DELETE', '/api/projects/p1', undefined, 'activity delete_project'],
  ['GET', '/api/requests?session_id=s1&status=running', undefined, 'activity requests'],
  ['POST', '/api/requests', { ...OF_PROGRAM, prompt: 'go' }, 'activity put_request'],
  ['GET', '/api/tasks', undefined, 'activity tasks'],
  ['POST', '/api/tasks', { ...OF_PROGRAM, request_id: 's1.1', wave_number: 1 }, 'activity put_task'],
  ['GET', '/api/subtasks?agent_type=runner', undefined, 'activity subtasks'],
  ['POST', '/api/subtasks', { ...OF_PROGRAM, agent_id: 'a1' }, 'activity put_subtask'],
  ['GET', '/api/actions?tool_name=Bash', undefined, 'activity actions'],
  ['POST', '/api/actions', { ...OF_PROGRAM, tool_name: 'Bash' }, 'activity log_action'],
  ['GET', '/api/actions/hourly', undefined, 'activity hourly'],
  ['DELETE', '/api/actions/by-session/s1', undefined, 'activity delete_actions'],
  ['GET', '/api/sessions?open=true', undefined, 'activity sessions'],
  ['GET', '/api/sessions/stats', undefined, 'activity stats'],
  ['GET', '/api/sessions/s1', undefined, 'activity session'],
  ['PATCH', '/api/sessions/s1', { ended_at: '2026-01-01T00:00:00Z' }, 'activity end_session'],
  ['DELETE', '/api/sessions/s1', undefined, 'activity delete_session'],
  ['GET', '/api/hierarchy/p1', undefined, 'activity hierarchy'],
  ['GET', '/api/active-sessions', undefined, 'activity active'],
  ['GET', '/api/cleanup/stats', undefined, 'activity cleanup_stats'],
  ['GET', '/api/dashboard/kpis', undefined, 'activity kpis'],
  ['GET', '/stats', undefined, 'activity stats'],
  ['GET', '/stats/tools-summary', undefined, 'activity tools_summary'],
  ['POST', '/api/messages', { from_agent_id: 'ada', to_agent_id: 'bob', payload: 1 }, 'signals send'],
  ['GET', '/api/messages', undefined, 'signals inbox'],
  ['GET', '/api/messages/bob', undefined, 'signals inbox'],
  ['POST', '/api/subscribe', { agent_id: 'ada', topic: 'releases' }, 'coordinator subscribe'],
  ['GET', '/api/subscriptions', undefined, 'coordinator subscriptions'],
  ['GET', '/api/subscriptions/ada', undefined, 'coordinator subscriptions'],
  ['POST', '/api/unsubscribe', { topic: 'releases' }, 'coordinator unsubscribe'],
  ['POST', '/api/blocking', { blocked_agent: 'bob', reason: 'schema' }, 'coordinator block'],
  ['GET', '/api/blocking/bob', undefined, 'coordinator blocked'],
  ['POST', '/api/unblock', { blocked_agent: 'bob' }, 'coordinator unblock'],
]

describe('a former path', () => {
  test.each(CALLS)('%s %s', async (method, path, body, action) => {
    const as_agent = /subscribe|block/.test(action)
    const { status, body: answer } = await hub.request(method, path, {
      ...(body === undefined ? {} : { body }),
      ...(as_agent ? { token: hub.token('ada') } : {}),
    })
    const line = hub.lines.at(-1)
    expect(`${line?.facade} ${line?.action}`).toBe(action)
    // This hub stores no activity.
    if (action.startsWith('activity')) expect(answer).toMatchObject({ code: 'store_unavailable' })
    else expect({ status, answer }).toMatchObject({ status: 200 })
  })

  test('reads the same signals as its action', async () => {
    const { body } = await hub.request('GET', '/api/messages/bob?limit=1')
    expect(body['signals']).toMatchObject([{ from: 'ada', to: 'bob', intent: 'message', payload: 1 }])
  })
})
