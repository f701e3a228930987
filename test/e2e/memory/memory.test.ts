/** Tests the shared memory through a real hub, and its files with `jq`. */
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { agentOf, projectHub } from '../../support/processes/project-hub.ts'

const LAYOUT = [
  ...['.gitattributes', '.gitignore', 'blackboard.jsonl', 'config.yml', 'decisions/index.json'],
  ...['graph/entities.json', 'graph/relations.json'],
]
const JWT = {
  ...{ domain: 'architecture', scope: 'src/auth/', summary: 'Sign tokens with RS256' },
  ...{ context: 'Other services verify them.', rationale: 'They need no secret for it.', confidence: 'high' },
  alternatives: [{ option: 'HS256', reason_rejected: 'Whoever verifies could sign.' }],
  ...{ affected_files: ['src/auth/jwt.ts'], affected_symbols: ['signToken'] },
}
const ROTATION = {
  ...{ domain: 'implementation', scope: 'src/auth/', summary: 'Rotate keys weekly' },
  ...{ context: 'Keys leak.', rationale: 'A week is what we can look back.' },
}

describe.each(['http', 'stdio'] as const)('an agent that speaks MCP over %s', (way) => {
  test('an agent posts, reads and searches, and the first write creates the project files', async () => {
    const hub = await projectHub()
    const agent = await agentOf(hub, way)
    expect(await agent.call('twining_read')).toEqual({ entries: [], total_count: 0 })
    const need = await agent.call('twining_post', {
      ...{ entry_type: 'need', summary: 'Somebody has to review the schema', tags: ['review'] },
      scope: 'src/storage/',
    })
    expect(hub.files.names()).toEqual(LAYOUT)
    const finding = await agent.call('twining_post', {
      ...{ entry_type: 'finding', summary: 'The login tests wait for port 5432', detail: 'It is taken.' },
      scope: 'src/auth/',
    })
    await agent.call('twining_post', {
      ...{ entry_type: 'answer', summary: 'Reviewed, all fine', relates_to: [need.id] },
    })

    const kept = hub.files.entries()
    expect(kept.map(({ entry_type }) => entry_type)).toEqual(['need', 'finding', 'answer'])
    expect(kept[1]).toEqual({
      ...{ id: finding.id, timestamp: finding['timestamp'], agent_id: 'ada', entry_type: 'finding' },
      ...{ tags: [], scope: 'src/auth/', summary: 'The login tests wait for port 5432' },
      detail: 'It is taken.',
    })
    expect(await agent.call('twining_read')).toEqual({ entries: kept, total_count: 3 })
    expect(await agent.call('twining_read', { scope: 'src/auth', limit: 1 })).toEqual({
      ...{ entries: [kept[1]], total_count: 1 },
    })
    expect(await agent.call('twining_read', { tags: ['review', 'none'] })).toMatchObject({ total_count: 1 })
    expect(await agent.call('blackboard', { action: 'read', params: { open: true } })).toMatchObject({
      total_count: 0,
    })
    const { results, degraded } = await agent.call('twining_query', { query: 'why do the login tests wait' })
    expect(results[0]).toMatchObject({ entry: kept[1], relevance: expect.any(Number) as number })
    expect(results[0]?.relevance).toBeGreaterThan(0)
    expect(results[0]?.relevance).toBeLessThanOrEqual(1)
    expect(degraded).toBe(true)
    expect(await agent.call('twining_recent', { n: 2 })).toEqual({ entries: kept.slice(1) })
  })

  test('an agent decides, asks why, traces, reconsiders and overrides', async () => {
    const hub = await projectHub()
    const agent = await agentOf(hub, way)
    const jwt = await agent.call('twining_decide', JWT)
    expect(jwt).toMatchObject({ status: 'active', conflicts: [] })
    expect(hub.files.names()).toEqual([...LAYOUT, `decisions/${jwt.id}.json`].sort())
    const rotation = await agent.call('twining_decide', { ...ROTATION, depends_on: [jwt.id] })

    const about = await agent.call('twining_why', { scope: 'src/auth/jwt.ts' })
    expect(about).toMatchObject({ active_count: 2, provisional_count: 0 })
    expect(about.decisions.map(({ id }) => id)).toEqual([rotation.id, jwt.id])
    expect(about.decisions[1]).toMatchObject({ alternatives_count: 1, confidence: 'high' })
    expect((await agent.call('twining_why', { scope: 'signToken' })).decisions).toHaveLength(1)
    expect(await agent.call('twining_why', { scope: 'src/billing/' })).toMatchObject({ decisions: [] })

    const up = { decision_id: rotation.id, direction: 'upstream' }
    expect((await agent.call('twining_trace', up))['chain']).toEqual([
      {
        ...{ id: jwt.id, summary: JWT.summary, depends_on: [], dependents: [rotation.id] },
        status: 'active',
      },
    ])
    expect((await agent.call('twining_trace', { decision_id: jwt.id }))['chain']).toHaveLength(1)

    const doubted = await agent.call('twining_reconsider', {
      ...{ decision_id: jwt.id, new_context: 'The verifiers are one process now.' },
    })
    expect(doubted).toMatchObject({ flagged: true, decision_summary: JWT.summary })
    expect(await agent.call('twining_why', { scope: 'src/auth/jwt.ts' })).toMatchObject({
      ...{ active_count: 1, provisional_count: 1 },
    })
    const taken_back = await agent.call('twining_override', {
      ...{ decision_id: jwt.id, reason: 'One secret is enough.', new_decision: 'Sign with HS256' },
    })
    expect(taken_back).toMatchObject({ overridden: true, old_summary: JWT.summary })

    const files = Object.fromEntries(hub.files.decisions().map((decision) => [decision.id, decision]))
    expect(files[jwt.id]).toMatchObject({
      ...JWT,
      ...{ status: 'overridden', overridden_by: 'human', override_reason: 'One secret is enough.' },
      ...{ reversible: true, constraints: [], depends_on: [] },
    })
    expect(files[taken_back.new_decision_id]).toMatchObject({
      ...{ summary: 'Sign with HS256', status: 'active', supersedes: jwt.id },
    })
    expect(hub.files.index()).toEqual(await hub.files.rebuiltIndex())
    expect(hub.files.index().map(({ id, status }) => [id, status])).toEqual([
      ...[
        [jwt.id, 'overridden'],
        [rotation.id, 'active'],
      ],
      [taken_back.new_decision_id, 'active'],
    ])
    expect(hub.files.entries().map(({ entry_type, relates_to }) => [entry_type, relates_to])).toEqual([
      ...[
        ['decision', [jwt.id]],
        ['decision', [rotation.id]],
      ],
      ['warning', [jwt.id]],
      ['decision', [jwt.id, doubted.warning_id]],
      ['decision', [taken_back.new_decision_id]],
    ])
    const names = new Map(hub.files.entities().map(({ id, name }) => [id, name]))
    expect(
      hub.files
        .relations()
        .map(({ source, type, target }) => [
          ...[names.get(source as string), type],
          names.get(target as string),
        ]),
    ).toEqual([
      ['src/auth/jwt.ts', 'decided_by', jwt.id],
      ['signToken', 'decided_by', jwt.id],
      [rotation.id, 'depends_on', jwt.id],
      // The replacement refers to the same paths.
      ['src/auth/jwt.ts', 'decided_by', taken_back.new_decision_id],
      ['signToken', 'decided_by', taken_back.new_decision_id],
      [taken_back.new_decision_id, 'supersedes', jwt.id],
    ])
    expect(await hub.refused('twining_override', { decision_id: jwt.id, reason: 'Again.' })).toMatchObject({
      code: 'transition_forbidden',
      status: 409,
    })
  })

  test('an agent gets the context of a task within its budget', async () => {
    const hub = await projectHub()
    const agent = await agentOf(hub, way)
    await agent.call('twining_decide', JWT)
    for (let at = 0; at < 12; at += 1) {
      const detail = `Login ${at}. `.repeat(60)
      const [scope, tags] = [`src/auth/${at}.ts`, ['login']]
      await agent.call('twining_post', {
        ...{ entry_type: 'finding', summary: `Login finding ${at}`, detail, scope, tags },
      })
      if (at % 4 === 0) {
        for (const entry_type of ['need', 'warning', 'question'])
          await agent.call('twining_post', { entry_type, summary: `${entry_type} ${at}`, scope })
      }
    }
    await agent.call('context', { action: 'pin', params: { text: 'Nothing is merged on Mondays.' } })
    const task = 'Make the login faster'
    for (const max_tokens of [100, 400, 1_000, 4_000]) {
      const answer = await agent.call('twining_assemble', { task, scope: 'src/auth/', max_tokens })
      const tokens = Math.ceil(JSON.stringify(answer).length / LIMITS.characters_per_token)
      expect(tokens).toBeLessThanOrEqual(max_tokens)
      expect(answer['token_estimate']).toBeGreaterThanOrEqual(tokens)
      expect(answer['token_estimate']).toBeLessThanOrEqual(max_tokens)
    }
    const whole = await agent.call('twining_assemble', { task, scope: 'src/auth/', max_tokens: 20_000 })
    expect(whole).toMatchObject({ left_out: 0, task, scope: 'src/auth/' })
    expect(whole['active_decisions']).toHaveLength(1)
    expect(whole['recent_findings']).toHaveLength(12)
    for (const list of ['open_needs', 'active_warnings', 'recent_questions'])
      expect(whole[list]).toHaveLength(3)
    expect(whole['pinned']).toHaveLength(1)
    expect(whole.related_entities.map(({ name }) => name)).toContain('src/auth/jwt.ts')
    expect(await agent.call('twining_summarize')).toMatchObject({
      ...{ scope: 'project', active_decisions: 1, provisional_decisions: 0, open_needs: 3 },
      ...{ active_warnings: 3, unanswered_questions: 3 },
      recent_activity_summary: expect.stringContaining('12 findings') as string,
    })
  })

  test('an agent archives with a summary, reads what changed and exports the rest', async () => {
    const hub = await projectHub()
    const agent = await agentOf(hub, way)
    const jwt = await agent.call('twining_decide', JWT)
    for (const summary of ['One', 'Two', 'Three'])
      await agent.call('twining_post', { entry_type: 'warning', summary, tags: ['cache'] })
    const before = hub.files.entries()
    const { archived_count, archive_file, summary } = await agent.call('twining_archive')
    expect(archived_count).toBe(3)
    expect(archive_file).toMatch(/^\.turnbell\/archive\/\d{4}-\d\d-\d\d-blackboard\.jsonl$/)
    expect(summary).toMatch(
      /^Archive summary: 3 entries archived covering cache\. Key items: Three; Two; One$/,
    )
    const [name] = Object.keys(hub.files.archived()) as [string]
    expect(`.turnbell/archive/${name}`).toBe(archive_file)
    expect(hub.files.archived()[name]).toEqual(before.slice(1))
    expect(hub.files.entries()).toEqual([
      before[0],
      expect.objectContaining({ entry_type: 'finding', summary, tags: ['archive'] }),
    ])
    expect(await agent.call('twining_status')).toMatchObject({
      ...{ blackboard_entries: 2, active_decisions: 1, needs_archiving: false, warnings: [] },
    })
    expect(await agent.call('twining_archive', { before: '2020-01-01' })).toEqual({
      ...{ archived_count: 0, archive_file: null },
    })

    const changed = await agent.call('twining_what_changed', { since: before[0]?.['timestamp'] })
    expect(changed['new_decisions']).toMatchObject([{ id: jwt.id, summary: JWT.summary }])
    expect(changed['new_entries']).toHaveLength(2)
    const { markdown, truncated } = await agent.call('blackboard', { action: 'export', params: {} })
    expect(truncated).toBe(false)
    for (const text of [JWT.summary, JWT.rationale, 'HS256', 'Archive summary', '`src/auth/jwt.ts`'])
      expect(markdown).toContain(text)
    expect(markdown).not.toContain('**Two**')
  })
})
