/**
 * Calls every current and former name of the shared memory in every way, for the right project, and checks the errors.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { Ulid } from '../../../src/contracts/ids.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import type { Refused } from '../../support/worlds/hub-http.ts'
import { memoryFiles } from '../../support/disk/memory-files.ts'
import { end } from '../../support/processes/processes.ts'
import { agentOf, projectHub } from '../../support/processes/project-hub.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const JWT = {
  ...{ domain: 'architecture', scope: 'src/auth/', summary: 'Sign tokens with RS256' },
  ...{ context: 'Other services verify them.', rationale: 'They need no secret for it.', confidence: 'high' },
  alternatives: [{ option: 'HS256', reason_rejected: 'Whoever verifies could sign.' }],
  ...{ affected_files: ['src/auth/jwt.ts'], affected_symbols: ['signToken'] },
}

describe('every old name', () => {
  /** In an order in which each call finds its references; `$decision` is the id of the first decision. */
  const CALLS: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['twining_post', { entry_type: 'finding', summary: 'x' }, { id: expect.any(String) }],
    ['twining_read', {}, { total_count: expect.any(Number), entries: expect.any(Array) }],
    ['twining_query', { query: 'x' }, { results: expect.any(Array) }],
    ['twining_recent', {}, { entries: expect.any(Array) }],
    ['twining_decide', JWT, { id: expect.any(String), timestamp: expect.any(String) }],
    ['twining_why', { scope: 'src/auth/' }, { decisions: expect.any(Array), active_count: 1 }],
    ['twining_trace', { decision_id: '$decision' }, { chain: [] }],
    ['twining_search_decisions', { query: 'tokens' }, { results: expect.any(Array) }],
    [
      'twining_link_commit',
      { decision_id: '$decision', commit_hash: '3c8f08b' },
      { commit_hashes: ['3c8f08b'] },
    ],
    ['twining_reconsider', { decision_id: '$decision', new_context: 'y' }, { flagged: true }],
    ['twining_override', { decision_id: '$decision', reason: 'z' }, { overridden: true }],
    ['twining_add_entity', { name: 'a', type: 'module' }, { id: expect.any(String) }],
    ['twining_add_relation', { source: 'a', target: 'signToken', type: 'calls' }, { id: expect.any(String) }],
    ['twining_neighbors', { entity: 'a' }, { neighbors: expect.any(Array) }],
    ['twining_graph_query', { query: 'signToken' }, { results: expect.any(Array) }],
    ['twining_assemble', { task: 'x' }, { token_estimate: expect.any(Number) }],
    ['twining_summarize', {}, { recent_activity_summary: expect.any(String) }],
    ['twining_what_changed', { since: '2020-01-01' }, { new_entries: expect.any(Array) }],
    ['twining_status', {}, { blackboard_entries: expect.any(Number) }],
    ['twining_commits', { commit_hash: '3c8f08b' }, { decisions: expect.any(Array) }],
    ['twining_export', {}, { markdown: expect.any(String) }],
    ['twining_archive', {}, { archived_count: expect.any(Number) }],
  ]

  test('every old name works over MCP, `/call` and `tool_invoke` for the named project', async () => {
    const hub = await projectHub()
    const agent = await agentOf(hub, 'http')
    const token = await hub.token('ada')
    const ways = {
      tool: (name: string, args: object, scope?: string) => agent.call(name, args, scope),
      invoke: (name: string, args: object, scope?: string) =>
        agent.call('tool_invoke', { name, args }, scope),
      async call(tool: string, params: object, scope?: string) {
        const response = await fetch(`${hub.http.url()}/call`, {
          method: 'POST',
          headers: {
            ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            ...(scope === undefined ? {} : { 'x-scope': scope }),
          },
          body: JSON.stringify({ tool, params }),
        })
        const answer = (await response.json()) as { result: object }
        expect([tool, response.status, answer]).toEqual([tool, 200, answer])
        return answer.result
      },
    }
    // Three projects, one for each way to name a project; only the first is ada's own.
    const other = async () => {
      const root = temporaryDirectory()
      const { project_id } = await hub.http.post<{ project_id: string }>('/api/personas/add', {
        ...{ identity: `of-${root.slice(-6).toLowerCase()}`, surface: 'mcp', project: root },
      })
      return { root, project_id }
    }
    const [by_id, by_root] = [await other(), await other()]
    for (const way of Object.values(ways)) {
      for (const scope of [undefined, by_id.project_id, by_root.root]) {
        let decision = ''
        for (const [name, params, answer] of CALLS) {
          const text = JSON.stringify(params).replace('$decision', decision)
          const said = (await way(name, JSON.parse(text) as object, scope)) as Record<string, string>
          expect([name, said]).toEqual([name, expect.objectContaining(answer)])
          if (name === 'twining_decide') decision = said['id'] as string
        }
        expect(Ulid.parse(decision)).toBe(decision)
      }
    }
    const aliases = createRegistry(FACADES).actions.flatMap(({ action }) => action.aliases ?? [])
    const old = aliases.filter((name) => typeof name === 'string' && name.startsWith('twining_'))
    expect(CALLS.map(([name]) => name).sort()).toEqual([...old].sort())
    for (const { root } of [hub, by_id, by_root]) {
      const files = memoryFiles(root)
      expect(files.decisions()).toHaveLength(Object.keys(ways).length)
      expect(files.index()).toEqual(await files.rebuiltIndex())
      expect(files.names().filter((name) => name.startsWith('rejected'))).toEqual([])
    }
  })
})

describe('a call', () => {
  const posting = { entry_type: 'finding', summary: 'x' }

  test('a call for a directory outside any project is refused and writes nothing', async () => {
    const hub = await projectHub()
    const agent = await agentOf(hub, 'http')
    const unknown = ['01JZ0000000000000000000000', 'no-such-project', os.tmpdir(), '/no/such', '../other']
    for (const scope of unknown) {
      for (const [name, args] of [
        ['twining_post', posting],
        ['twining_read', {}],
        ['twining_decide', JWT],
        ['twining_assemble', { task: 'x' }],
        ['tool_invoke', { name: 'twining_why', args: { scope: 'src/' } }],
      ] as const) {
        const refused = await agent.call(name, args, scope).catch((error: unknown) => error)
        expect([scope, name, (refused as Refused).problem]).toMatchObject([
          ...[scope, name],
          { code: 'project_unknown', hint: expect.stringContaining('project') as string },
        ])
      }
    }
    expect(fs.existsSync(path.join(hub.root, '.turnbell'))).toBe(false)
  })

  test('a call of a persona without a project uses the memory of the hub', async () => {
    const hub = await projectHub()
    await hub.http.post('/api/personas/add', { identity: 'bob', surface: 'mcp' })
    const bob = await agentOf(hub, 'stdio', 'bob')
    await bob.call('twining_post', posting)
    const { id } = await bob.call('twining_decide', JWT)
    expect(await bob.call('twining_why', { scope: 'src/auth/jwt.ts' })).toMatchObject({ active_count: 1 })
    expect(await bob.call('twining_status')).toMatchObject({ project: 'hub', blackboard_entries: 2 })
    expect(await hub.call('twining_status')).toMatchObject({ blackboard_entries: 0 })
    await end(hub.running(), 'SIGKILL')
    await hub.again()
    const operator = await hub.http.post<{ result: { chain: object[] } }>('/call', {
      ...{ tool: 'twining_trace', params: { decision_id: id } },
    })
    expect(operator.result.chain).toEqual([])
    expect(fs.existsSync(path.join(hub.root, '.turnbell'))).toBe(false)
  })

  test('an invalid call reports the expected params and creates no folder', async () => {
    const hub = await projectHub()
    const wrong: [string, object, RegExp][] = [
      ['twining_post', { entry_type: 'rumour', summary: 'x' }, /entry_type/],
      ['twining_post', { entry_type: 'decision', summary: 'x' }, /rationale|context/],
      ['twining_post', { entry_type: 'finding' }, /summary/],
      ['twining_post', { ...posting, relates_to: ['x'] }, /relates_to/],
      ['twining_decide', { ...JWT, rationale: '' }, /rationale/],
      ['twining_decide', { ...JWT, alternatives: [{ option: 'x' }] }, /reason_rejected/],
      ['twining_assemble', { task: 'x', max_tokens: 1 }, /max_tokens/],
      ['twining_neighbors', { entity: 'x', depth: 4 }, /depth/],
      ['twining_what_changed', { since: 'yesterday' }, /since/],
      ['twining_add_entity', { name: 'x', type: 'planet' }, /type/],
    ]
    for (const [name, params, said] of wrong) {
      const problem = await hub.refused(name, params)
      expect([name, problem.code]).toEqual([name, 'params_invalid'])
      expect(problem.detail).toMatch(said)
    }
    expect(fs.existsSync(path.join(hub.root, '.turnbell'))).toBe(false)
    expect(await hub.refused('twining_neighbors', { entity: 'x' })).toMatchObject({ code: 'entity_unknown' })
    for (const name of ['twining_trace', 'twining_reconsider', 'twining_override']) {
      const params = { decision_id: '01JZ0000000000000000000000' }
      const more = { twining_reconsider: { new_context: 'x' }, twining_override: { reason: 'x' } }
      const problem = await hub.refused(name, { ...params, ...more[name as keyof typeof more] })
      expect([name, problem.code]).toEqual([name, 'record_unknown'])
    }
  })
})
