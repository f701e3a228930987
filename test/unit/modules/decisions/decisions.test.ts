import { beforeEach, describe, expect, test } from 'vitest'
import {
  DecideInput,
  ListDecisionsInput,
  OverrideInput,
  SearchDecisionsInput,
  TraceDecisionInput,
} from '../../../../src/contracts/memory/decision.ts'
import { ReadInput } from '../../../../src/contracts/memory/blackboard.ts'
import type { RecordBody } from '../../../../src/ports/record-store.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/worlds/memory-world.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'

const NOWHERE = '01JZ0000000000000000000000'
let world: MemoryWorld
beforeEach(async () => {
  world = await memoryWorld()
})

const why = (scope: string) => world.decisions.why(world.bob, { scope, limit: 50 })
const said = async (scope: string) => (await why(scope)).decisions.map(({ summary }) => summary)
const entries = async (type: string) =>
  (await world.blackboard.read(world.bob, ReadInput.parse({ entry_types: [type] }))).entries
const statusOf = async (id: string) => (await world.decisions.read(world.bob, id)).status

describe('a decision', () => {
  test('a decision is stored with all its fields, and appears on the blackboard and in the graph', async () => {
    const { id } = await world.decide({
      summary: 'Use a journal',
      domain: 'architecture',
      scope: 'src/storage/',
      agent_id: 'ann',
      affected_files: ['src/storage/journal.ts'],
      affected_symbols: ['append'],
      constraints: ['fast'],
      alternatives: [{ option: 'SQLite', pros: ['SQL'], reason_rejected: 'A native build' }],
    })
    expect(await world.decisions.read(world.bob, id)).toMatchObject({
      id,
      agent_id: 'ann',
      status: 'active',
      confidence: 'medium',
      reversible: true,
      depends_on: [],
      constraints: ['fast'],
      timestamp: '2026-03-01T12:00:00.000Z',
      commit_hashes: [],
      alternatives: [{ option: 'SQLite', pros: ['SQL'], cons: [], reason_rejected: 'A native build' }],
    })
    expect(await entries('decision')).toMatchObject([
      {
        summary: 'Use a journal',
        detail: 'It is simple.',
        scope: 'src/storage/',
        agent_id: 'ann',
        relates_to: [id],
      },
    ])
    const { neighbors } = await world.graph.neighbors(world.bob, { entity: id, depth: 1, limit: 10 })
    expect(
      neighbors.map(({ entity, relation, direction }) => [
        entity.type,
        entity.name,
        relation.type,
        direction,
      ]),
    ).toEqual([
      ['file', 'src/storage/journal.ts', 'decided_by', 'incoming'],
      ['function', 'append', 'decided_by', 'incoming'],
    ])
    expect(world.told().at(-1)).toMatchObject({ type: 'memory.decision_made', data: { id } })
  })

  test.each<[string, object]>([
    ['without a domain', { domain: undefined }],
    ['without a scope', { scope: undefined }],
    ['without its context', { context: '' }],
    ['without its rationale', { rationale: undefined }],
    ['with an alternative without a reason', { alternatives: [{ option: 'SQLite' }] }],
    ['of an unknown confidence', { confidence: 'certain' }],
    ['with an invalid id in depends_on', { depends_on: ['the last one'] }],
    ['with a status', { status: 'active' }],
  ])('a decision %s is rejected', (_, wrong) => {
    const whole = { domain: 'api', scope: 'src/', summary: 's', context: 'c', rationale: 'r' }
    expect(DecideInput.safeParse(whole).success).toBe(true)
    expect(DecideInput.safeParse({ ...whole, ...wrong }).success).toBe(false)
  })

  test('a decision that depends on a missing one is rejected, and nothing is stored', async () => {
    expect(await refusedWith(() => world.decide({ depends_on: [NOWHERE] }))).toBe('record_unknown')
    expect(await refusedWith(() => world.decide({ supersedes: NOWHERE }))).toBe('record_unknown')
    expect(await said('project')).toEqual([])
    expect(await entries('decision')).toEqual([])
  })

  test('a decision larger than a record may be is rejected', async () => {
    const constraints = Array.from({ length: 100 }, () => 'x'.repeat(1_024))
    expect(await refusedWith(() => world.decide({ constraints }))).toBe('record_too_large')
  })

  test('a decision may have the maximum size together with all its entries', async () => {
    const rationale = '理'.repeat(11_000)
    for (let n = 0; n < 6; n += 1) await world.decide({ summary: `${n}`, rationale })
    const { id } = await world.decide({ summary: 'the last', rationale })
    expect((await world.decisions.read(world.bob, id)).conflicts).toHaveLength(1)
    const reason = OverrideInput.parse({ decision_id: id, reason: '理'.repeat(9_000) })
    expect(await world.decisions.override(world.bob, reason)).toMatchObject({ overridden: true })
  })

  test('a decision supersedes another one', async () => {
    const first = await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B', supersedes: first.id })
    expect(second.status).toBe('active')
    expect(await world.decisions.read(world.bob, first.id)).toMatchObject({
      status: 'superseded',
      superseded_by: second.id,
      superseded_at: '2026-03-01T12:00:00.000Z',
    })
    const { neighbors } = await world.graph.neighbors(world.bob, { entity: second.id, depth: 1, limit: 10 })
    expect(neighbors).toMatchObject([{ relation: { type: 'supersedes' }, direction: 'outgoing' }])
  })
})

test('an entry about a decision that a person removed does not come back', async () => {
  await world.decide({ affected_files: ['src/a.ts'] })
  const store = world.project('/projects/bob')
  for (const { id: entry } of await store.list('entry')) await store.remove('entry', entry)
  const restarted = await memoryWorld({
    hub_records: world.hub_records,
    openProject: world.needs.openProject,
  })
  await restarted.decide({ summary: 'Another', domain: 'api' })
  expect((await restarted.blackboard.recent(restarted.bob, { n: 9 })).entries).toMatchObject([
    { summary: 'Another' },
  ])
})

describe('a conflicting decision', () => {
  test('a conflicting decision is provisional and posts a warning', async () => {
    const first = await world.decide({ summary: 'Use sessions', rationale: 'Simple.', domain: 'api' })
    const answer = await world.decisions.decide(
      world.bob,
      DecideInput.parse({
        domain: 'api',
        scope: './src',
        summary: 'Use tokens',
        context: 'c',
        rationale: 'Stateless.',
      }),
    )
    expect(answer).toMatchObject({
      status: 'provisional',
      conflicts: [{ decision_id: first.id, summary: 'Use sessions', rationale: 'Simple.' }],
    })
    const [warning] = await entries('warning')
    expect(warning).toMatchObject({
      id: answer.conflicts[0]?.warning_id,
      relates_to: [answer.id, first.id],
      summary: `Potential conflict: Decision ${answer.id} in scope ./src may conflict with existing decision ${first.id}`,
    })
    for (const part of ['Use sessions', 'Simple.', 'Use tokens', 'Stateless.'])
      expect(warning?.detail).toContain(part)
  })

  test.each<[string, object, object]>([
    ['another domain', {}, { domain: 'testing' }],
    ['another scope', {}, { scope: 'docs/' }],
    ['the same words', {}, { summary: 'A ' }],
  ])('a decision with %s does not conflict', async (_, first, second) => {
    await world.decide({ summary: 'A', ...first })
    expect(await world.decide({ summary: 'B', ...second })).toMatchObject({ status: 'active' })
  })

  test('a decision that is not in force or that is superseded by the new one does not conflict', async () => {
    const first = await world.decide({ summary: 'A' })
    await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: first.id, reason: 'no' }))
    const second = await world.decide({ summary: 'B' })
    expect(second.status).toBe('active')
    expect(await world.decide({ summary: 'C', supersedes: second.id })).toMatchObject({ status: 'active' })
  })

  test('a conflict and its warning are resolved by an override', async () => {
    await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B' })
    const open = async () =>
      (await world.blackboard.read(world.bob, ReadInput.parse({ open: true }))).entries.length
    expect(await open()).toBe(1)
    await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: second.id, reason: 'no' }))
    expect(await open()).toBe(0)
  })
})

describe('why', () => {
  beforeEach(async () => {
    await world.decide({ summary: 'all', scope: 'project', domain: 'architecture' })
    await world.decide({ summary: 'folder', scope: 'src/auth/' })
    await world.decide({ summary: 'file', scope: 'src/auth/jwt.ts' })
    await world.decide({
      summary: 'elsewhere',
      scope: 'src/billing/',
      affected_files: ['src/auth/keys.ts'],
      affected_symbols: ['AuthService.sign'],
    })
  })

  test.each<[string, string[]]>([
    ['src/auth/jwt.ts', ['file', 'folder', 'all']],
    ['src/auth/', ['elsewhere', 'file', 'folder', 'all']],
    ['src/auth/keys.ts', ['elsewhere', 'folder', 'all']],
    ['AuthService.sign', ['elsewhere', 'all']],
    ['AuthService', ['all']],
    ['docs/', ['all']],
    ['project', ['elsewhere', 'file', 'folder', 'all']],
  ])('why returns the decisions about %s, newest first', async (scope, expected) => {
    expect(await said(scope)).toEqual(expected)
  })

  test('why counts active and provisional decisions', async () => {
    const [doubted] = (await why('src/auth/jwt.ts')).decisions
    await world.decisions.reconsider(world.bob, {
      decision_id: doubted?.id ?? '',
      new_context: 'The load has tripled.',
    })
    const answer = await why('src/auth/jwt.ts')
    expect(answer).toMatchObject({ active_count: 2, provisional_count: 1, total_count: 3 })
    expect(answer.decisions[0]).toMatchObject({
      summary: 'file',
      status: 'provisional',
      alternatives_count: 0,
      commit_hashes: [],
    })
    expect(await world.decisions.why(world.bob, { scope: 'project', limit: 1 })).toMatchObject({
      total_count: 4,
      decisions: [{ summary: 'elsewhere' }],
    })
  })
})

describe('a trace', () => {
  const trace = async (decision_id: string, direction: string) => {
    const { chain } = await world.decisions.trace(
      world.bob,
      TraceDecisionInput.parse({ decision_id, direction }),
    )
    return chain.map(({ summary }) => summary)
  }
  let ids: string[]
  beforeEach(async () => {
    ids = []
    for (const summary of ['a', 'b', 'c']) {
      const depends_on = ids.slice(-1)
      ids.push((await world.decide({ summary, depends_on, domain: summary })).id)
    }
  })

  test('a trace follows dependencies, dependents or both, nearest first', async () => {
    const [a = '', b = '', c = ''] = ids
    expect(await trace(c, 'upstream')).toEqual(['b', 'a'])
    expect(await trace(a, 'downstream')).toEqual(['b', 'c'])
    expect(await trace(b, 'both')).toEqual(['a', 'c'])
    expect(await trace(a, 'upstream')).toEqual([])
    const { chain } = await world.decisions.trace(world.bob, { decision_id: a, direction: 'both' })
    expect(chain[0]).toEqual({ id: b, summary: 'b', depends_on: [a], dependents: [c], status: 'active' })
  })

  test('a trace ends at a cycle and at a missing decision', async () => {
    const [a = '', , c = ''] = ids
    const store = world.project('/projects/bob')
    const first = await store.get('decision', a)
    await store.put('decision', a, { ...first, depends_on: [c, NOWHERE] })
    expect(await trace(a, 'both')).toEqual(['c', 'b'])
    expect(await trace(c, 'upstream')).toEqual(['b', 'a'])
  })

  test('a trace of an unknown decision is rejected', async () => {
    expect(await refusedWith(() => trace(NOWHERE, 'both'))).toBe('record_unknown')
  })
})

describe('reconsider', () => {
  test('reconsider flags a decision on the blackboard, also repeatedly', async () => {
    const { id } = await world.decide({ summary: 'A' })
    const doubt = () =>
      world.decisions.reconsider(world.bob, { decision_id: id, new_context: 'The load has tripled.' })
    const answer = await doubt()
    expect(answer).toMatchObject({ flagged: true, decision_summary: 'A', status: 'provisional' })
    expect(await entries('warning')).toMatchObject([
      { id: answer.warning_id, summary: 'Reconsideration flagged: A', detail: 'The load has tripled.' },
    ])
    expect(await doubt()).toMatchObject({ flagged: true })
    expect(await entries('warning')).toHaveLength(2)
  })

  test('reconsider does not change a decision that is not in force', async () => {
    const { id } = await world.decide({ summary: 'A' })
    await world.decide({ summary: 'B', supersedes: id })
    expect(await world.decisions.reconsider(world.bob, { decision_id: id, new_context: 'x' })).toEqual({
      flagged: false,
      decision_summary: 'A',
      status: 'superseded',
    })
    expect(await entries('warning')).toEqual([])
  })
})

describe('override', () => {
  const override = (input: object) => world.decisions.override(world.bob, OverrideInput.parse(input))

  test('an override ends a decision and posts its reason and author', async () => {
    const { id } = await world.decide({ summary: 'A' })
    expect(await override({ decision_id: id, reason: 'Legal.' })).toEqual({
      overridden: true,
      old_summary: 'A',
    })
    expect(await world.decisions.read(world.bob, id)).toMatchObject({
      status: 'overridden',
      overridden_by: 'human',
      override_reason: 'Legal.',
    })
    expect((await entries('decision')).at(-1)).toMatchObject({
      summary: 'Override: A (by human)',
      detail: 'Legal.',
      relates_to: [id],
    })
  })

  test.each<[string, unknown, object]>([
    ['a sentence', 'Use the audited library', { rationale: 'Legal.', scope: 'src/', agent_id: 'human' }],
    ['more of it', { summary: 'Use the audited library', confidence: 'high' }, { confidence: 'high' }],
  ])('an override records the replacement: %s', async (_, new_decision, expected) => {
    const { id } = await world.decide({ summary: 'A' })
    const answer = await override({ decision_id: id, reason: 'Legal.', new_decision })
    expect(await world.decisions.read(world.bob, answer.new_decision_id ?? '')).toMatchObject({
      summary: 'Use the audited library',
      supersedes: id,
      status: 'active',
      ...expected,
    })
    expect(await statusOf(id)).toBe('overridden')
  })

  test('a replacement takes the fields that are not given from the overridden decision', async () => {
    const rejected = [{ option: 'B', reason_rejected: 'Slow.' }]
    const rests_on = await world.decide({ summary: 'Tokens', scope: 'src/tokens/' })
    const about = {
      affected_files: ['lib/a.ts'],
      affected_symbols: ['sign'],
      constraints: ['No new package'],
      confidence: 'high',
      reversible: false,
      depends_on: [rests_on.id],
    }
    const { id } = await world.decide({ ...about, summary: 'A', alternatives: rejected })
    const { new_decision_id = '' } = await override({
      decision_id: id,
      reason: 'Legal.',
      new_decision: { summary: 'B', confidence: 'low' },
    })
    const made = await world.decisions.read(world.bob, new_decision_id)
    expect(made).toMatchObject({ ...about, confidence: 'low', alternatives: [] })
    expect(await why('lib/a.ts')).toMatchObject({ active_count: 1 })
  })

  test.each<[string, object, string]>([
    ['depends on a missing decision', { depends_on: [NOWHERE] }, 'record_unknown'],
    ['is too large', { affected_files: Array(100).fill('x'.repeat(1_024)) }, 'record_too_large'],
  ])('an override is rejected whole where its replacement %s', async (_, more, code) => {
    const { id } = await world.decide({ summary: 'A' })
    const told = world.told().length
    const new_decision = { ...more, summary: 'B' }
    expect(await refusedWith(() => override({ decision_id: id, reason: 'Legal.', new_decision }))).toBe(code)
    expect(await statusOf(id)).toBe('active')
    expect((await entries('decision')).map(({ summary }) => summary)).toEqual(['A'])
    expect(world.told()).toHaveLength(told)
  })

  test('an override of a decision that is not in force is rejected and names its successor', async () => {
    const { id } = await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B', supersedes: id })
    await expect(override({ decision_id: id, reason: 'x' })).rejects.toMatchObject({
      code: 'transition_forbidden',
      hint: expect.stringContaining(second.id) as string,
    })
    await override({ decision_id: second.id, reason: 'x' })
    expect(await refusedWith(() => override({ decision_id: second.id, reason: 'x' }))).toBe(
      'transition_forbidden',
    )
    expect(await refusedWith(() => override({ decision_id: NOWHERE, reason: 'x' }))).toBe('record_unknown')
  })
})

describe('a provisional decision', () => {
  const override = (input: object) => world.decisions.override(world.bob, OverrideInput.parse(input))
  const reconsider = (decision_id: string, stands = false) =>
    world.decisions.reconsider(world.bob, { decision_id, new_context: 'It was measured.', stands })
  const open = async () =>
    (await world.blackboard.read(world.bob, ReadInput.parse({ open: true }))).entries.map(
      ({ summary }) => summary,
    )

  test('a decision that is provisional by a conflict becomes active when the other is overridden', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    expect(await statusOf(other.id)).toBe('provisional')
    await override({ decision_id: one.id, reason: 'B is better.' })
    expect(await statusOf(other.id)).toBe('active')
    expect(await open()).toEqual([])
    expect(world.told().at(-1)).toMatchObject({ type: 'memory.decision_changed', data: { id: other.id } })
  })

  test('a conflict is also resolved after a crash, or after a person overrode the other in its file', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    const store = world.project('/projects/bob')
    const body = (await store.get('decision', one.id)) as RecordBody
    await store.put('decision', one.id, { ...body, status: 'overridden' })
    const restarted = await memoryWorld({
      hub_records: world.hub_records,
      openProject: world.needs.openProject,
    })
    await restarted.decide({ summary: 'Another', domain: 'api' })
    expect((await restarted.decisions.read(restarted.bob, other.id)).status).toBe('active')
  })

  test('a decision stays provisional while an older one contradicts it, and a warning names that', async () => {
    const one = await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B' })
    const third = await world.decide({ summary: 'C' })
    await override({ decision_id: one.id, reason: 'Neither.' })
    expect([await statusOf(second.id), await statusOf(third.id)]).toEqual(['active', 'provisional'])
    const [warning, ...others] = (await entries('warning')).slice(2)
    expect(others).toEqual([])
    expect(warning?.relates_to).toEqual([third.id, second.id])
    expect(await open()).toEqual([warning?.summary])
    const instead = await world.decide({ summary: 'B elsewhere', supersedes: second.id, scope: 'lib/' })
    expect([await statusOf(third.id), await statusOf(instead.id)]).toEqual(['active', 'active'])
    expect(await open()).toEqual([])
  })

  test('a decision stays provisional while the one it contradicts is only flagged, also after a restart', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    await reconsider(one.id)
    const restarted = await memoryWorld({
      hub_records: world.hub_records,
      openProject: world.needs.openProject,
    })
    await restarted.decide({ summary: 'Another', domain: 'api' })
    expect([await statusOf(one.id), await statusOf(other.id)]).toEqual(['provisional', 'provisional'])
    await override({ decision_id: one.id, reason: 'It was wrong indeed.' })
    expect(await statusOf(other.id)).toBe('active')
  })

  test('a flagged decision keeps others provisional only if it was active before', async () => {
    const one = await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B' })
    const third = await world.decide({ summary: 'C' })
    await reconsider(second.id)
    await reconsider(second.id)
    await override({ decision_id: one.id, reason: 'No.' })
    expect([await statusOf(second.id), await statusOf(third.id)]).toEqual(['provisional', 'active'])
  })

  test('a decision stays provisional if its author proposed it as such', async () => {
    const one = await world.decide({ summary: 'A' })
    const draft = await world.decisions.decide(world.bob, {
      ...DecideInput.parse({
        domain: 'implementation',
        scope: 'src/',
        summary: 'B',
        context: 'c',
        rationale: 'r',
      }),
      status: 'provisional',
    })
    await override({ decision_id: one.id, reason: 'No.' })
    expect(await statusOf(draft.id)).toBe('provisional')
  })

  test('a decision stays provisional if it was flagged as well', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    await reconsider(other.id)
    await override({ decision_id: one.id, reason: 'No.' })
    expect(await statusOf(other.id)).toBe('provisional')
  })

  test('a provisional decision becomes active by a confirmation', async () => {
    const { id } = await world.decide({ summary: 'A' })
    await reconsider(id)
    expect(await open()).toEqual(['Reconsideration flagged: A'])
    expect(await reconsider(id, true)).toEqual({ flagged: false, decision_summary: 'A', status: 'active' })
    expect(await statusOf(id)).toBe('active')
    expect(await open()).toEqual([])
    expect((await entries('answer')).at(-1)).toMatchObject({
      summary: 'Confirmed after reconsideration: A',
      detail: 'It was measured.',
    })
    const told = world.told().length
    expect(await reconsider(id, true)).toMatchObject({ flagged: false, status: 'active' })
    expect(world.told()).toHaveLength(told)
  })
})

describe('a confirmed decision', () => {
  const reconsider = (decision_id: string, stands = false) =>
    world.decisions.reconsider(world.bob, { decision_id, new_context: 'It was measured.', stands })

  test('a confirmed decision stays provisional until unreported conflicts are reported', async () => {
    const one = await world.decide({ summary: 'A' })
    await reconsider(one.id)
    const other = await world.decide({ summary: 'B' })
    expect(other.status).toBe('active')
    const answer = await reconsider(one.id, true)
    expect(answer).toMatchObject({ flagged: true, status: 'provisional' })
    expect((await entries('warning')).at(-1)).toMatchObject({
      id: answer.warning_id,
      relates_to: [one.id, other.id],
    })
    expect(await reconsider(one.id, true)).toMatchObject({ flagged: false, status: 'active' })
    expect([await statusOf(one.id), await statusOf(other.id)]).toEqual(['active', 'active'])
  })

  test('a confirmation leaves the conflict warning of another decision open', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    await reconsider(one.id)
    await reconsider(one.id, true)
    expect([await statusOf(one.id), await statusOf(other.id)]).toEqual(['active', 'provisional'])
    const open = await world.blackboard.read(world.bob, ReadInput.parse({ open: true }))
    expect(open.entries).toMatchObject([{ relates_to: [other.id, one.id] }])
  })

  test('a confirmation weighs the earlier conflicts, and the later one still has to be resolved', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    await reconsider(other.id, true)
    for (const { id } of [one, other]) await reconsider(id)
    const third = await world.decide({ summary: 'C' })
    for (const { id } of [one, other]) await reconsider(id, true)
    expect([await statusOf(one.id), await statusOf(other.id)]).toEqual(['provisional', 'provisional'])
    await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: third.id, reason: 'No.' }))
    expect([await statusOf(one.id), await statusOf(other.id)]).toEqual(['active', 'active'])
  })

  test('a confirmed decision becomes active when its last conflict ends', async () => {
    const one = await world.decide({ summary: 'A' })
    await reconsider(one.id)
    const other = await world.decide({ summary: 'B' })
    await reconsider(one.id, true)
    await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: other.id, reason: 'No.' }))
    expect(await statusOf(one.id)).toBe('active')
  })

  test('a confirmed decision supersedes another only once it is active', async () => {
    const former = await world.decide({ summary: 'Old', scope: 'lib/' })
    await world.decide({ summary: 'A' })
    const { id, status } = await world.decide({ summary: 'B', supersedes: former.id })
    expect([status, await statusOf(former.id)]).toEqual(['provisional', 'active'])
    await reconsider(id, true)
    expect(await statusOf(former.id)).toBe('superseded')
  })

  test('a confirmed decision without conflicts supersedes at once, and resolves conflicts with the superseded one', async () => {
    const former = await world.decide({ summary: 'Old', scope: 'lib/' })
    const beside = await world.decide({ summary: 'Beside', scope: 'lib/' })
    const one = await world.decide({ summary: 'A' })
    const next = await world.decide({ summary: 'B', supersedes: former.id })
    await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: one.id, reason: 'No.' }))
    expect([await statusOf(former.id), await statusOf(next.id), await statusOf(beside.id)]).toEqual([
      ...['superseded', 'active', 'active'],
    ])
  })
})

describe('finding decisions', () => {
  const list = async (input: object) => {
    const { decisions } = await world.decisions.list(world.bob, ListDecisionsInput.parse(input))
    return decisions.map(({ summary }) => summary)
  }
  beforeEach(async () => {
    await world.decide({ summary: 'journal', domain: 'architecture', confidence: 'high', agent_id: 'ann' })
    await world.clock.advance(60_000)
    const rationale = 'No SESSION store;\nwe call it "hot path"'
    await world.decide({ summary: 'tokens', rationale, scope: 'src/auth/' })
  })

  test.each<[object, string[]]>([
    [{}, ['tokens', 'journal']],
    [{ domain: 'architecture' }, ['journal']],
    [{ confidence: 'medium' }, ['tokens']],
    [{ agent_id: 'ann' }, ['journal']],
    [{ scope: 'src/auth/' }, ['tokens', 'journal']],
    [{ text: 'session' }, ['tokens']],
    [{ text: '"hot PATH"' }, ['tokens']],
    [{ text: 'store;\nwe' }, ['tokens']],
    [{ text: 'alternatives' }, []],
    [{ text: 'false' }, []],
    [{ since: '2026-03-01T12:01:00Z' }, ['tokens']],
    [{ status: 'overridden' }, []],
    [{ limit: 1 }, ['tokens']],
  ])('decisions are listed by %j', async (input, expected) => {
    expect(await list(input)).toEqual(expected)
  })

  test('a search ranks decisions by words', async () => {
    const search = (input: object) => world.decisions.search(world.bob, SearchDecisionsInput.parse(input))
    const found = await search({ query: 'where are sessions stored' })
    expect(found).toMatchObject({ degraded: true, results: [{ decision: { summary: 'tokens' } }] })
    expect((await search({ query: 'sessions', domain: 'architecture' })).results).toEqual([])
  })
})

test('a commit is linked to a decision once, and links are limited', async () => {
  const { id } = await world.decide({ summary: 'A' })
  const link = (commit_hash: string) =>
    world.decisions.linkCommit(world.bob, { decision_id: id, commit_hash })
  expect(await link('3c8f08b')).toEqual({ decision_id: id, commit_hashes: ['3c8f08b'] })
  expect(await link('3c8f08b')).toEqual({ decision_id: id, commit_hashes: ['3c8f08b'] })
  for (let n = 0; n < 99; n += 1) await link(`${1_000_000 + n}`)
  expect(await refusedWith(() => link('abcdef0'))).toBe('limit_reached')
})

test('why names the rejected alternatives with their reasons', async () => {
  const alternatives = [{ option: 'Cookies', pros: ['simple'], reason_rejected: 'Not sent across origins.' }]
  await world.decide({ scope: 'src/why-not/', alternatives })
  expect((await why('src/why-not/a.ts')).decisions).toMatchObject([
    {
      alternatives: [{ option: 'Cookies', reason_rejected: 'Not sent across origins.' }],
      alternatives_count: 1,
    },
  ])
})
