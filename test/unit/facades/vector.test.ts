/** Tests runs through the transports of a hub that exposes the facet. */
import { encode } from 'gpt-tokenizer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import { projectMcp } from '../../../src/kernel/projections/project-mcp.ts'
import { smallKernel } from '../../support/worlds/small-kernel.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub({ grants: { facets: ['core', 'trace'], pro: false, intents: {} } })
})
afterAll(() => hub.close())

/** Calls a tool as the agent of a persona; `agent_id` is its self-chosen name. */
const call = async (identity: string, tool: string, params: object, agent_id = identity) => {
  const { body } = await hub.request('POST', '/call', {
    ...{ body: { tool, params }, token: hub.token(identity), headers: { 'x-agent-id': agent_id } },
  })
  return (body['result'] ?? body) as Record<string, unknown> & { run_id: string }
}

describe('vector', () => {
  test('vector is missing if its facet is not exposed', async () => {
    const closed = await smallKernel(FACADES).call('vector', 'list_runs')
    expect(closed).toMatchObject({ ok: false, problem: { code: 'facet_forbidden' } })
  })

  test('vector follows a run from its prompt to its outcome, under current and old names', async () => {
    const { run_id } = await call('ada', 'vector_createRun', { prompt: 'Split the parser.' })
    await call('ada', 'vectorCheckpoint', { run_id, summary: 'half' })
    await call('ada', 'vector_log_event', { run_id, type: 'x.deploy.started', data: { to: 'test' } })
    expect(await call('ada', 'vector_assumptions', { run_id, add: ['a', 'b'], break: ['b'] })).toMatchObject({
      drift: 0.5,
    })
    const child = await call('bob', 'vector_create_run', {
      ...{ prompt: 'Review it.', delegated_by: { agent_id: 'ada', run_id } },
    })
    expect(await call('bob', 'vector.contextPack', { run_id: child.run_id })).toMatchObject({
      parents: [{ run_id, checkpoint: 'half' }],
    })
    await call('bob', 'vector_complete_run', { run_id: child.run_id, summary: 'fine' })
    expect(await call('ada', 'vector_trace', { run_id })).toMatchObject({
      run: { run_id, delegated: 1 },
      children: [{ run: { run_id: child.run_id, status: 'completed' }, children: [] }],
    })
    const { body } = await hub.request('GET', `/events?run_id=${run_id}`)
    expect((body['events'] as { type: string }[]).map(({ type }) => type)).toEqual([
      ...['run_created', 'checkpoint_set', 'x.deploy.started', 'assumption_made', 'assumption_made'],
      ...['assumption_broken', 'delegation_sent', 'delegation_completed'],
    ])
    expect(await call('ada', 'vector_readRun', { run_id, events: 1 })).toMatchObject({
      run: { delegated_to: [{ agent_id: 'bob', run_id: child.run_id }] },
      events: [{ type: 'delegation_completed', agent_id: 'bob' }],
    })
  })

  test('vector names the missing field of a known event type', async () => {
    const { run_id } = await call('ada', 'vector_create_run', { prompt: 'x' })
    const log = async (fact: object) => (await call('ada', 'vector_log_event', { run_id, ...fact }))['detail']
    expect(await log({ type: 'delegation_sent', data: { target_agent: 'bob' } })).toBe(
      'delegation_sent: data.task: expected string, found nothing; data.run_id: expected string, found nothing',
    )
    expect(await log({ type: 'tests_ran', data: { passed: 'perhaps' } })).toBe(
      'tests_ran: data.passed: expected boolean, found "perhaps"',
    )
    expect(await log({ type: 'tests_run', data: {} })).toContain('a type of your own begins with x.')
  })

  test('vector shows agents by their own names, and the real caller', async () => {
    const { run_id, agent_id } = await call('ada', 'vector_create_run', { prompt: 'x' }, 'ada/reviewer')
    expect(agent_id).toBe('ada/reviewer')
    expect(await call('ada', 'vector_list_runs', { agent_id: 'ada/reviewer' })).toMatchObject({
      runs: [{ run_id }],
    })
    expect(hub.events.read({ run_id, limit: 1 }).events).toMatchObject([{ agent_id: 'ada' }])
  })

  test('vector scores a prompt, and rejects invalid ones', async () => {
    expect(await call('ada', 'vector_scorePrompt', { prompt: 'Fix src/a.ts.' })).toMatchObject({
      score: expect.any(Number) as number,
    })
    expect(await call('ada', 'vector_score_prompt', {})).toMatchObject({ code: 'params_invalid' })
    expect(await call('ada', 'vector_read_run', { run_id: 'RUN-1' })).toMatchObject({
      code: 'params_invalid',
    })
    const run_id = '01JZ0000000000000000000000'
    expect(await call('ada', 'vector_complete_run', { run_id })).toMatchObject({ code: 'run_unknown' })
  })

  test('vector costs under 190 tokens', () => {
    const kernel = smallKernel(FACADES, { facets: ['trace'] })
    const list = projectMcp(kernel).tools({ kind: 'agent' }, { detail: 'full' })
    const tool = list.find(({ name }) => name === 'vector')
    expect(encode(JSON.stringify(tool)).length).toBeLessThan(190)
  })
})
