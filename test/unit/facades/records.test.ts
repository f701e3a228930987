/** Tests facades that only store records, through the transports of a hub. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KeptRecord } from '../../../src/contracts/memory/records.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'
import { testRepository } from '../../support/disk/test-repository.ts'

const FACETS = ['core', 'work', 'design', 'knowledge', 'admin']

/** Each test has its own project, so that none sees the records of another. */
const PROJECTS = ['links', 'adr', 'adrs', 'architect', 'dojo', 'old-adrs', 'sentinel', 'shop', 'store']

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub({ grants: { facets: FACETS, pro: false, intents: {} } })
  await hub.personas.add({ identity: 'bob', surface: 'mcp', project: '/projects/bob' })
  await hub.personas.add({ identity: 'ada', surface: 'mcp' })
  for (const project of PROJECTS) await as('operator')('registry/add', { path: `/projects/${project}` })
})
afterAll(() => hub.close())

const as = (identity: string, headers: Record<string, string> = {}) => {
  const token = identity === 'operator' ? hub.operator : hub.token(identity)
  return async (action: string, params: object) =>
    (await hub.request('POST', `/api/${action}`, { body: params, token, headers })).body
}
const ada = (headers: Record<string, string> = {}) => as('ada', headers)
const NOWHERE = '01JZ0000000000000000000000'
const texts = (page: Record<string, unknown>) => (page['records'] as KeptRecord[]).map(({ text }) => text)

describe('friction', () => {
  test('a friction is logged, repeated, resolved, and found by its text', async () => {
    const call = ada()
    const { id } = await call('friction/log', { text: 'Slow tests', tags: ['tests'] })
    await call('friction/log', { text: 'No free port' })
    expect(await call('friction/bump', { id })).toMatchObject({ count: 2 })
    expect(await call('friction/bump', { id, by: 3 })).toMatchObject({ count: 5, status: 'open' })
    expect(texts(await call('friction/list', {}))).toEqual(['Slow tests', 'No free port'])
    const resolved = await call('friction/resolve', { id, resolution: 'Run them in parallel.' })
    expect(resolved).toMatchObject({ status: 'resolved', resolution: 'Run them in parallel.', count: 5 })
    expect(texts(await call('friction/list', { status: 'open' }))).toEqual(['No free port'])
    expect(texts(await call('friction/list', { text: 'parallel', tags: ['x', 'tests'] }))).toEqual([
      'Slow tests',
    ])
  })

  test('a friction with an empty or too long text is rejected', async () => {
    const call = ada()
    expect(await call('friction/log', {})).toMatchObject({ code: 'params_invalid' })
    expect(await call('friction/log', { text: 'x', count: 7 })).toMatchObject({ code: 'params_invalid' })
    expect(await call('friction/list', { status: 'opne' })).toMatchObject({ code: 'params_invalid' })
    expect(await call('friction/list', { limit: 0 })).toMatchObject({ code: 'params_invalid' })
    expect(await call('friction/bump', { id: NOWHERE })).toMatchObject({
      code: 'record_unknown',
    })
    const { id } = await call('friction/log', { text: 'x' })
    expect(await call('friction/bump', { id, by: -1 })).toMatchObject({ code: 'params_invalid' })
    expect(await call('friction/resolve', { id, text: 'y' })).toMatchObject({ code: 'params_invalid' })
  })

  test('frictions are listed by a plain GET', async () => {
    const page = await hub.request('GET', '/api/friction/list?status=resolved&limit=1', {
      token: hub.token('ada', 'observer'),
    })
    expect(texts(page.body)).toEqual(['Slow tests'])
  })

  test('an observer may only read frictions', async () => {
    const token = hub.token('ada', 'observer')
    const refused = await hub.request('POST', '/api/friction/log', { body: { text: 'x' }, token })
    expect(refused.body).toMatchObject({ code: 'kind_forbidden' })
  })
})

describe('feedback and learnings', () => {
  test('feedback and learnings are added and listed, newest first, and never closed', async () => {
    const call = ada()
    await call('feedback/submit', { text: 'Good', tags: ['tools'] })
    const { id } = await call('learnings/append', { text: 'One', scope: 'test/', agent_id: 'ada/2' })
    await call('learnings/append', { text: 'Two' })
    expect(texts(await call('feedback/list', {}))).toEqual(['Good'])
    expect(texts(await call('learnings/list', {}))).toEqual(['Two', 'One'])
    expect(texts(await call('learnings/list', { scope: 'test/' }))).toEqual(['One'])
    expect(texts(await call('learnings/list', { agent_id: ['ada/2', 'x'] }))).toEqual(['One'])
    const closed = await call('store/close', { kind: 'learning', id })
    expect(closed).toMatchObject({ code: 'transition_forbidden' })
  })

  test('feedback and learnings belong to the project of the caller or of the call', async () => {
    await as('bob')('learnings/append', { text: 'Of bob' })
    await ada({ 'x-scope': '/projects/shop' })('learnings/append', { text: 'Of the shop' })
    expect(texts(await as('bob')('learnings/list', {}))).toEqual(['Of bob'])
    const everywhere = await ada({ 'x-scope': 'portfolio' })('learnings/list', { sort: 'id' })
    expect(texts(everywhere)).toEqual(['Of bob', 'Of the shop'])
    const refused = ada({ 'x-scope': 'portfolio' })('learnings/append', { text: 'x' })
    expect(await refused).toMatchObject({ code: 'portfolio_readonly' })
    expect(await ada({ 'x-scope': '/gone' })('learnings/list', {})).toMatchObject({ code: 'project_unknown' })
  })
})

test('a list accepts the same forms of a field by GET and by POST', async () => {
  for (const query of [
    'friction/list?count=1',
    'coordinator/history?since=1',
    'sentinel/list_issues?priority=high',
  ])
    expect(await hub.request('GET', `/api/${query}`), query).toMatchObject({ status: 200 })
})

describe('sentinel', () => {
  test('issues are stored with their epics, under current and old names', async () => {
    const call = ada({ 'x-scope': '/projects/sentinel' })
    const old = async (tool: string, params: object) => {
      const request = {
        body: { tool, params },
        token: hub.token('ada'),
        headers: { 'x-scope': '/projects/sentinel' },
      }
      return (await hub.request('POST', '/call', request)).body['result'] as unknown as KeptRecord
    }
    const epic = await call('sentinel/log_epic', { title: 'Single sign-on' })
    const epic_id = epic['id']
    const first = await call('sentinel/create_issue', { title: 'Cookies', epic_id, priority: 'high' })
    expect(first).toMatchObject({ status: 'open', tags: [], commits: [] })
    const second = await old('sentinel_createIssue', { title: 'Logout', body: 'It does nothing.' })
    expect(second).toMatchObject({ title: 'Logout', priority: 'medium' })

    for (const tool of ['sentinel_listIssues', 'sentinel_list_repo_issues', 'sentinel_list_issues']) {
      expect(await old(tool, { priority: ['high', 'critical'] })).toMatchObject({
        records: [first],
        total: 1,
      })
    }
    expect(await call('sentinel/list_epic_issues', { epic_id, status: 'open' })).toMatchObject({ total: 1 })
    expect(await call('sentinel/list_epic_issues', {})).toMatchObject({ code: 'params_invalid' })
    expect(await call('sentinel/read_issue', { id: second.id })).toEqual(second)
    const closed = await call('sentinel/close_issue', { id: second.id, resolution: 'Done' })
    expect(closed).toMatchObject({ status: 'closed', resolution: 'Done' })
    expect(await call('sentinel/list_issues', { status: 'closed' })).toMatchObject({ records: [closed] })

    expect(await call('sentinel/resolve_epic', { id: epic_id })).toMatchObject({ status: 'resolved' })
    expect(await call('sentinel/read_epic', { id: epic_id })).toMatchObject({ status: 'resolved' })
    expect(await call('sentinel/list_epics', { text: 'SIGN-ON' })).toMatchObject({ total: 1 })
    expect(await call('sentinel/read_epic', { id: second.id })).toMatchObject({ code: 'record_unknown' })
  })

  test.each([
    ['sentinel/create_issue', { title: 'x' }, 'epic_id', 'epic'],
    ['sentinel/create_test_spec', { title: 'x', steps: ['y'], expected: 'z' }, 'issue_id', 'issue'],
    ['store/put', { kind: 'issue', record: { title: 'x' } }, 'epic_id', 'epic'],
  ])('a link to a missing record is rejected with a similar id: %s', async (action, params, field, kind) => {
    const call = ada({ 'x-scope': '/projects/links' })
    const record = kind === 'epic' ? { title: 'e' } : { title: 'i' }
    const there = (await call('store/put', { kind, record }))['id'] as string
    const near = `${there.slice(0, -1)}${there.endsWith('Z') ? 'Y' : 'Z'}`
    const linked = (id: string) =>
      'record' in params
        ? { ...params, record: { ...params.record, [field]: id } }
        : { ...params, [field]: id }
    expect(await call(action, linked(near))).toMatchObject({
      ...{ code: 'record_unknown', detail: `${field}: there is no ${kind} ${near} here.` },
      hint: `Did you mean ${there}?`,
    })
    expect(await call(action, linked(NOWHERE))).toMatchObject({ code: 'record_unknown' })
    const made = await call(action, linked(there))
    expect(made).toMatchObject({ [field]: there })
  })

  test('test specs are stored with their issue', async () => {
    const call = ada({ 'x-scope': '/projects/sentinel' })
    const { id: issue_id } = await call('sentinel/create_issue', { title: 'Cookies' })
    const spec = { title: 'Cookies', steps: ['Log in'], expected: 'The start page.', issue_id }
    expect(await call('sentinel/create_test_spec', spec)).toMatchObject({ ...spec, status: 'draft' })
    expect(await call('sentinel/list_test_specs', { issue_id })).toMatchObject({ total: 1 })
    expect(await call('sentinel/create_test_spec', { title: 'x' })).toMatchObject({ code: 'params_invalid' })
  })
})

describe('a scan of the code', () => {
  test('a scan is called by its current and old names, for the project of the call', async () => {
    const repository = testRepository()
    repository.write('a', 'TODO\n')
    repository.commit('a')
    const projects = await as('operator')('personas/add', {
      ...{ identity: 'cyd', surface: 'mcp', project: repository.root },
    })
    expect(projects).toMatchObject({ state: 'active' })
    const markers = [{ file: 'a', line: 1, marker: 'TODO', text: 'TODO' }]
    expect(await as('cyd')('sentinel/scan', {})).toMatchObject({ markers })
    for (const tool of ['sentinel_scan', 'sentinel_scanData', 'sentinel_scan_codebase']) {
      const { body } = await hub.request('POST', '/call', {
        body: { tool, params: {} },
        token: hub.token('cyd'),
      })
      expect(body['result'], tool).toMatchObject({ markers })
    }
    for (const params of [{ markers: [] }, { markers: ['a b'] }, { limit: 0 }, { path: '' }, { depth: 1 }])
      expect(await as('cyd')('sentinel/scan', params)).toMatchObject({ code: 'params_invalid' })
    expect(await ada()('sentinel/scan', {})).toMatchObject({ code: 'repository_unknown' })
  })
})

describe('architect', () => {
  test('policies apply until they are retired', async () => {
    const call = ada({ 'x-scope': '/projects/architect' })
    const policy = await call('architect/create_policy', { title: 'No network', text: 'In unit tests.' })
    expect(policy).toMatchObject({ status: 'active', severity: 'warning' })
    expect(await call('architect/read_policy', { id: policy['id'] })).toEqual(policy)
    expect(await call('store/close', { kind: 'policy', id: policy['id'] })).toMatchObject({
      status: 'retired',
    })
    expect(await call('architect/list_policies', { status: 'active' })).toMatchObject({ total: 0 })
  })

  const JOURNAL = { title: 'Keep signals in a journal', decision: 'They are appended and synced.' }

  test('architecture decisions are stored as decisions of one domain', async () => {
    const call = ada({ 'x-scope': '/projects/adr' })
    const adr = await call('architect/create_adr', {
      ...JOURNAL,
      context: 'Crashes.',
      affected_files: ['a.ts'],
    })
    expect(adr).toMatchObject({
      ...{ domain: 'architecture', status: 'active', confidence: 'medium', conflicting: [] },
      ...{ summary: JOURNAL.title, decision: JOURNAL.decision, context: 'Crashes.', scope: 'project' },
    })
    const { conflicting: _, ...kept } = adr
    expect(await call('architect/read_adr', { id: adr['id'] })).toEqual(kept)
    const found = await call('store/query', { kind: 'decision', filter: { domain: 'architecture' } })
    expect(found).toMatchObject({ total: 1, records: [{ ...kept, kind: 'decision', generation: 1 }] })
    const byHand = { kind: 'decision', record: { domain: 'api', summary: 'REST' } }
    expect(await call('store/put', byHand)).toMatchObject({ code: 'kind_readonly' })
    const other = await call('decisions/decide', {
      ...{ domain: 'api', scope: 'src/', summary: 'REST', context: 'A door.', rationale: 'Known.' },
    })
    const id = adr['id']
    expect(await call('architect/list_adrs', {})).toMatchObject({ total_count: 1, decisions: [{ id }] })
    expect(await call('architect/list_adrs', { scope: 'a.ts', text: 'CRASH' })).toMatchObject({
      total_count: 1,
    })
    expect(await call('architect/list_adrs', { domain: 'api' })).toMatchObject({ code: 'params_invalid' })
    for (const id of [other['id'], NOWHERE])
      expect(await call('architect/read_adr', { id })).toMatchObject({ code: 'record_unknown' })
  })

  test('an architecture decision is replaced by another, or overridden manually', async () => {
    const call = ada({ 'x-scope': '/projects/adrs' })
    const first = await call('architect/create_adr', { ...JOURNAL, status: 'provisional' })
    expect(first).toMatchObject({ status: 'provisional' })
    const supersedes = first['id']
    const second = await call('architect/create_adr', { ...JOURNAL, title: 'A database', supersedes })
    expect(second).toMatchObject({ status: 'active', supersedes })
    expect(await call('architect/read_adr', { id: supersedes })).toMatchObject({ status: 'superseded' })
    const lost = await call('architect/create_adr', { ...JOURNAL, supersedes: NOWHERE })
    expect(lost).toMatchObject({ code: 'record_unknown' })
    const closing = { kind: 'decision', id: second['id'], fields: { override_reason: 'Too slow.' } }
    expect(await call('store/close', closing)).toMatchObject({ code: 'kind_readonly' })
    const overridden = await call('decisions/override', { decision_id: second['id'], reason: 'Too slow.' })
    expect(overridden).toMatchObject({ overridden: true, old_summary: 'A database' })
    const third = await call('architect/create_adr', { ...JOURNAL, supersedes: second['id'] })
    expect(third).toMatchObject({ status: 'active' })
    expect(await call('architect/list_adrs', {})).toMatchObject({
      decisions: [{ status: 'active' }, { status: 'overridden' }, { status: 'superseded' }],
    })
  })

  test.each<[string, object]>([
    ['no title', { decision: 'x' }],
    ['no decision', { title: 'x' }],
    ['a title that is too long', { ...JOURNAL, title: 'x'.repeat(201) }],
    ['a final status', { ...JOURNAL, status: 'superseded' }],
    ['a domain of its own', { ...JOURNAL, domain: 'api' }],
    ['an alternative without an option', { ...JOURNAL, alternatives: [{ pros: ['x'] }] }],
  ])('architect rejects %s', async (_, params) => {
    expect(await ada()('architect/create_adr', params)).toMatchObject({ code: 'params_invalid' })
  })

  test('architect supports its old tool and parameter names', async () => {
    const old = async (tool: string, params: object) => {
      const headers = { 'x-scope': '/projects/old-adrs' }
      const asked = { body: { tool, params }, token: hub.token('ada'), headers }
      return (await hub.request('POST', '/call', asked)).body
    }
    const recorded = await old('architect_record_arch_decision', {
      ...{ change: 'Use a journal\nfor signals.', rationale: 'Crashes.', impact: 'No queries.' },
    })
    expect(recorded['result']).toMatchObject({
      ...{ summary: 'Use a journal', decision: 'Use a journal\nfor signals.', rationale: 'Crashes.' },
      ...{ consequences: 'No queries.', domain: 'architecture' },
    })
    const { id } = recorded['result'] as unknown as { id: string }
    const created = await old('architect_createAdr', {
      ...{ ...JOURNAL, affectedFiles: ['a.ts'], dependsOn: [id], status: 'Proposed' },
    })
    expect(created['result']).toMatchObject({
      ...{ affected_files: ['a.ts'], depends_on: [id], status: 'provisional' },
    })
    expect(await old('architect_createAdr', { ...JOURNAL, colour: 'red' })).toMatchObject({
      code: 'params_invalid',
    })
  })
})

describe('dojo', () => {
  test('dojo is still found at its old path', async () => {
    const asked = await hub.request('POST', '/dojo/add_wish', { body: { text: 'A link checker' } })
    expect(asked).toMatchObject({ status: 200, body: { kind: 'wish', text: 'A link checker' } })
    const listed = await hub.request('GET', '/dojo/list_wishes?text=link')
    expect(listed).toMatchObject({ status: 200, body: { total: 1 } })
    expect(await hub.request('GET', '/dojo/add_wish')).toMatchObject({ status: 404 })
  })

  test('a proposal refers to its wish', async () => {
    const call = ada({ 'x-scope': '/projects/dojo' })
    const wish = await call('dojo/add_wish', { text: 'A link checker', links: ['docs/'] })
    const wish_id = wish['id']
    expect(await call('dojo/list_wishes', { status: 'open' })).toMatchObject({ records: [wish] })
    const proposal = await call('dojo/create_proposal', { text: 'Walk the docs.', wish_id })
    expect(proposal).toMatchObject({ status: 'draft', wish_id })
    await call('dojo/create_proposal', { text: 'Or ask somebody.', wish_id })
    await call('dojo/create_proposal', { text: 'Something else.' })
    expect(await call('dojo/list_wishes', { status: 'open' })).toMatchObject({ total: 0 })
    expect(await call('dojo/list', { limit: 2 })).toMatchObject({
      wishes: [{ status: 'proposed' }],
      proposals: [{ text: 'Something else.' }, { text: 'Or ask somebody.' }],
    })
    const lost = await call('dojo/create_proposal', { text: 'x', wish_id: NOWHERE })
    expect(lost).toMatchObject({ code: 'record_unknown' })
    expect(await call('store/query', { kind: 'proposal' })).toMatchObject({ total: 3 })
  })
})

describe('the store', () => {
  test('the store puts, finds and closes records of the facades, and the other way round', async () => {
    const call = ada({ 'x-scope': '/projects/store', 'x-agent-id': 'ada/worker' })
    const put = await call('store/put', { kind: 'friction', record: { text: 'Stored' } })
    expect(put).toMatchObject({ kind: 'friction', status: 'open', count: 1, agent_id: 'ada/worker' })
    expect(texts(await call('friction/list', {}))).toEqual(['Stored'])
    const changed = await call('store/put', { kind: 'friction', record: { id: put['id'], tags: ['x'] } })
    expect(changed).toMatchObject({ text: 'Stored', tags: ['x'], generation: 2 })
    const filter = { status: ['open'], tags: 'x', text: 'STOR' }
    const page = await call('store/query', { kind: 'friction', filter, sort: 'created_at', limit: 1 })
    expect(page).toMatchObject({ records: [changed], next: null, total: 1 })
    const closed = await call('store/close', {
      ...{ kind: 'friction', id: put['id'], fields: { resolution: 'Mended' } },
    })
    expect(closed).toMatchObject({ status: 'resolved', resolution: 'Mended' })
  })

  test('the store names its kinds, and the missing fields of a record', async () => {
    const call = ada()
    expect(await call('store/put', { kind: 'frictoin', record: {} })).toMatchObject({
      code: 'kind_unknown',
      hint: 'Did you mean friction?',
    })
    expect(await call('store/put', { kind: 'learning', record: { tags: [] } })).toMatchObject({
      code: 'params_invalid',
      detail: 'learning: text: expected string, found nothing',
    })
    expect(await call('store/query', { kind: 'learning', after: 'x' })).toMatchObject({
      code: 'params_invalid',
    })
  })

  test('the store has an example for every kind', () => {
    for (const { kind, input } of hub.records.kinds.list()) {
      for (const example of kind.examples ?? []) expect(input.safeParse(example).success).toBe(true)
    }
    expect(hub.records.kinds.get('learning').input.safeParse({ text: 'x' }).success).toBe(true)
  })
})

describe('the registry', () => {
  test('the registry finds projects by path and alias, including those of personas', async () => {
    const call = ada()
    const added = await call('registry/add', { path: '/projects/shop/', name: 'Shop', aliases: ['shop'] })
    expect(added).toMatchObject({ root: '/projects/shop', name: 'Shop', aliases: ['shop'] })
    for (const project of ['shop', '/projects/shop', '/projects/shop/src/index.ts', added['project_id']]) {
      expect(await call('registry/resolve', { project })).toEqual(added)
    }
    expect(await call('registry/alias', { project: '/projects/bob', alias: 'bobs' })).toMatchObject({
      aliases: ['bobs'],
    })
    expect(await call('registry/alias', { project: 'shop', alias: 'bobs' })).toMatchObject({
      code: 'alias_taken',
    })
    await call('registry/alias', { project: 'bobs', alias: 'bobs', remove: true })
    expect(await call('registry/resolve', { project: 'bobs' })).toMatchObject({ code: 'project_unknown' })
    const { projects } = (await call('registry/list', {})) as unknown as { projects: { root: string }[] }
    expect(projects.map(({ root }) => root)).toContain('/projects/bob')
    expect(await call('registry/add', { path: 'here' })).toMatchObject({ code: 'params_invalid' })
    expect(await call('registry/add', { path: '/x', aliases: ['portfolio'] })).toMatchObject({
      code: 'params_invalid',
    })
  })

  test('the registry removes a project for the operator only, with its personas, by any of its names', async () => {
    await hub.personas.add({ identity: 'cyd', surface: 'mcp', project: '/projects/cyd' })
    const added = await ada()('registry/alias', { project: '/projects/cyd', alias: 'cyds' })
    expect(added).toMatchObject({ aliases: ['cyds'] })
    expect(await ada()('registry/remove', { project: 'cyds' })).toMatchObject({ code: 'operator_required' })
    expect(await as('operator')('registry/remove', { project: 'cyds' })).toEqual({ removed: ['cyd'] })
    expect(await ada()('registry/resolve', { project: 'cyds' })).toMatchObject({ code: 'project_unknown' })
  })
})
