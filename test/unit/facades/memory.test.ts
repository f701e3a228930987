/** Tests the shared memory through the transports of a hub, under its current names and those of another tool. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub()
  await hub.personas.add({ identity: 'bob', surface: 'mcp', project: '/projects/bob' })
})
afterAll(() => hub.close())

interface Asked {
  token?: string
  headers?: Record<string, string>
}
const call = async (tool: string, params: object, { token = hub.token('bob'), headers = {} }: Asked = {}) => {
  const { body } = await hub.request('POST', '/call', { body: { tool, params }, token, headers })
  return (body['result'] ?? body) as unknown as Record<string, never>
}

describe('the names of another tool', () => {
  test('names of another tool accept its parameters and return its results', async () => {
    const need = await call('twining_post', {
      entry_type: 'need',
      summary: 'Review auth',
      scope: 'src/auth/',
    })
    expect(need).toEqual({ id: expect.any(String) as string, timestamp: expect.any(String) as string })
    const posted = await call('twining_post', {
      ...{ entry_type: 'finding', summary: 'Tokens are slow', detail: 'By 2 ms', tags: ['jwt'] },
      ...{ scope: 'src/auth/jwt.ts', relates_to: [need['id']], agent_id: 'ann' },
    })
    expect(await call('twining_read', { tags: ['jwt'], limit: 5 })).toMatchObject({
      ...{ total_count: 1, entries: [{ id: posted['id'], agent_id: 'ann', detail: 'By 2 ms' }] },
    })
    expect(await call('twining_query', { query: 'slow tokens' })).toMatchObject({
      results: [{ entry: { id: posted['id'] }, relevance: expect.any(Number) as number }],
    })
    expect(await call('twining_recent', { n: 1 })).toMatchObject({ entries: [{ id: posted['id'] }] })

    const decided = await call('twining_decide', {
      ...{ domain: 'architecture', scope: 'src/auth/', summary: 'Cache keys', context: 'Slow.' },
      ...{ rationale: 'Parsing costs most.', affected_files: ['src/auth/jwt.ts'], agent_id: 'ann' },
    })
    const { id } = decided
    expect(decided).toMatchObject({
      id: expect.any(String) as string,
      timestamp: expect.any(String) as string,
    })
    expect(await call('twining_why', { scope: 'src/auth/jwt.ts' })).toMatchObject({
      ...{ active_count: 1, provisional_count: 0 },
      decisions: [{ id, summary: 'Cache keys', status: 'active', alternatives_count: 0 }],
    })
    expect(await call('twining_trace', { decision_id: id })).toEqual({ chain: [] })
    expect(await call('twining_reconsider', { decision_id: id, new_context: 'Load' })).toMatchObject({
      ...{ flagged: true, decision_summary: 'Cache keys' },
    })
    expect(await call('twining_override', { decision_id: id, reason: 'no' })).toEqual({
      ...{ overridden: true, old_summary: 'Cache keys' },
    })

    expect(await call('twining_assemble', { task: 'faster tokens', scope: 'src/auth/' })).toMatchObject({
      ...{
        task: 'faster tokens',
        recent_findings: [{ id: posted['id'] }],
        token_estimate: expect.any(Number) as number,
      },
    })
    expect(await call('twining_summarize', {})).toMatchObject({ scope: 'project', open_needs: 0 })
    expect(await call('twining_what_changed', { since: '2026-01-01T00:00:00Z' })).toMatchObject({
      overridden_decisions: [{ id, summary: 'Cache keys', reason: 'no' }],
    })

    const entity = await call('twining_add_entity', { name: 'a.ts', type: 'file' })
    await call('twining_add_entity', { name: 'b.ts', type: 'file', properties: { owner: 'ann' } })
    const relation = await call('twining_add_relation', { source: 'a.ts', target: 'b.ts', type: 'imports' })
    expect(await call('twining_neighbors', { entity: entity['id'], depth: 2 })).toMatchObject({
      ...{
        center: { name: 'a.ts' },
        neighbors: [{ relation: { id: relation['id'] }, direction: 'outgoing' }],
      },
    })
    expect(await call('twining_graph_query', { query: 'ann', limit: 3 })).toMatchObject({
      results: [{ entity: { name: 'b.ts' } }],
    })
    expect(await call('twining_status', {})).toMatchObject({
      ...{ project: 'bob', active_decisions: 0, provisional_decisions: 0, needs_archiving: false },
    })
    expect(await call('twining_archive', { keep_decisions: true, summarize: true })).toMatchObject({
      ...{ archived_count: 3, archive_file: expect.stringMatching(/blackboard\.jsonl$/) as string },
      summary: expect.stringContaining('Archive summary: 3 entries') as string,
    })
  })

  test('names of another tool are found through tool_invoke as well, and never listed', async () => {
    const invoked = await hub.request('POST', '/api/tool/invoke', {
      ...{ body: { name: 'twining_status', args: {} }, token: hub.token('bob') },
    })
    expect(invoked).toMatchObject({ status: 200 })
    const { text } = await hub.request('GET', '/tools')
    expect(text).not.toContain('"name":"twining_')
  })

  test('names of another tool reject the same calls as the current names', async () => {
    expect(await call('twining_post', { entry_type: 'need' })).toMatchObject({ code: 'params_invalid' })
    expect(await call('twining_post', { entry_type: 'decision', summary: 'x' })).toMatchObject({
      ...{ code: 'params_invalid', detail: expect.stringContaining('rationale') as string },
    })
    expect(await call('twining_neighbors', { entity: 'nothing' })).toMatchObject({ code: 'entity_unknown' })
    expect(await call('twining_add_relation', { source: 'a.ts', target: 'x', type: 'calls' })).toMatchObject({
      code: 'entity_unknown',
    })
    expect(await call('twining_trace', { decision_id: 'x' })).toMatchObject({ code: 'params_invalid' })
  })
})

describe('the project', () => {
  const posted = async (headers: Record<string, string>, token = hub.operator) => {
    const asked = { token, headers }
    await call('twining_post', { entry_type: 'status', summary: 'here' }, asked)
    return (await call('twining_status', {}, asked))['project']
  }

  test('a memory call refers to the project that it names, by root or id', async () => {
    expect(await posted({ 'x-scope': '/projects/shop' })).toBe('shop')
    const { body } = await hub.request('POST', '/api/projects/list', { body: {} })
    const known = body['projects'] as unknown as { project_id: string; root: string }[]
    const shop = known.find(({ root }) => root === '/projects/shop')
    expect(await posted({ 'x-scope': shop?.project_id ?? '' })).toBe('shop')
  })

  test("a memory call without a project refers to the caller's own, and an agent's only to a known one", async () => {
    expect(await posted({}, hub.token('bob'))).toBe('bob')
    const refused = await call('twining_status', {}, { headers: { 'x-scope': '/projects/unheard' } })
    expect(refused).toMatchObject({ code: 'project_unknown' })
  })
})

test('memory events are found by callers with permission', async () => {
  await call('context_event_append', { message: 'staging was deployed' })
  const found = await call('context_event_search', { query: 'deployed' })
  expect(found).toMatchObject({ events: [{ type: 'context.event', agent_id: 'bob' }] })
  expect(await call('context_event_search', { types: ['memory.'], limit: 1 })).toMatchObject({
    events: [{ type: expect.stringMatching(/^memory\./) as string }],
  })
  const artifacts = await call('context_artifact_list', {})
  expect(artifacts).toMatchObject({ records: [], total: 0 })
})

describe('importing the memory of another tool', () => {
  test('importing is open to the operator only, and the path is hidden from agents', async () => {
    const params = { entries: [] }
    const refused = await hub.request('POST', '/api/context/import', {
      body: params,
      token: hub.token('bob'),
    })
    expect(refused).toMatchObject({ status: 403, body: { code: 'operator_required' } })
    const found = await call('tool_search', { query: 'take over what another tool remembered' })
    expect(JSON.stringify(found)).not.toContain('context_import')
    const { status, body } = await hub.request('POST', '/api/context/import', {
      body: params,
      headers: { 'x-scope': '/projects/shop' },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ project_id: expect.any(String) as string, rejected: [] })
  })
})
