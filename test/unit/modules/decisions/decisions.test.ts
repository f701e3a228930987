import { beforeEach, describe, expect, test } from 'vitest'
import {
  DecideInput,
  ListDecisionsInput,
  OverrideInput,
  SearchDecisionsInput,
  TraceDecisionInput,
} from '../../../../src/contracts/decision.ts'
import { ReadInput } from '../../../../src/contracts/blackboard.ts'
import type { RecordBody } from '../../../../src/ports/record-store.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/memory-world.ts'
import { refusedWith } from '../../../support/small-hub.ts'

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
  test('is kept whole, and told on the blackboard and in the graph', async () => {
    const { id } = await world.decide({
      ...{ summary: 'Use a journal', domain: 'architecture', scope: 'src/storage/', agent_id: 'ann' },
      ...{ affected_files: ['src/storage/journal.ts'], affected_symbols: ['append'], constraints: ['fast'] },
      alternatives: [{ option: 'SQLite', pros: ['SQL'], reason_rejected: 'A native build' }],
    })
    expect(await world.decisions.read(world.bob, id)).toMatchObject({
      ...{ id, agent_id: 'ann', status: 'active', confidence: 'medium', reversible: true, depends_on: [] },
      ...{ constraints: ['fast'], timestamp: '2026-03-01T12:00:00.000Z', commit_hashes: [] },
      alternatives: [{ option: 'SQLite', pros: ['SQL'], cons: [], reason_rejected: 'A native build' }],
    })
    expect(await entries('decision')).toMatchObject([
      {
        ...{ summary: 'Use a journal', detail: 'It is simple.', scope: 'src/storage/', agent_id: 'ann' },
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
    ['with an alternative that nobody rejected', { alternatives: [{ option: 'SQLite' }] }],
    ['of some other confidence', { confidence: 'certain' }],
    ['that rests on something that is no id', { depends_on: ['the last one'] }],
    ['with a status', { status: 'active' }],
  ])('%s is refused', (_, wrong) => {
    const whole = { domain: 'api', scope: 'src/', summary: 's', context: 'c', rationale: 'r' }
    expect(DecideInput.safeParse(whole).success).toBe(true)
    expect(DecideInput.safeParse({ ...whole, ...wrong }).success).toBe(false)
  })

  test('that rests on one that is not there is refused, and nothing is kept', async () => {
    expect(await refusedWith(() => world.decide({ depends_on: [NOWHERE] }))).toBe('record_unknown')
    expect(await refusedWith(() => world.decide({ supersedes: NOWHERE }))).toBe('record_unknown')
    expect(await said('project')).toEqual([])
    expect(await entries('decision')).toEqual([])
  })

  test('that is too large as it is kept is refused', async () => {
    const constraints = Array.from({ length: 100 }, () => 'x'.repeat(1_024))
    expect(await refusedWith(() => world.decide({ constraints }))).toBe('record_too_large')
  })

  test('may say as much as is allowed, however often that is told', async () => {
    const rationale = '理'.repeat(11_000)
    for (let n = 0; n < 6; n += 1) await world.decide({ summary: `${n}`, rationale })
    const { id } = await world.decide({ summary: 'the last', rationale })
    expect((await world.decisions.read(world.bob, id)).conflicts).toHaveLength(1)
    const reason = OverrideInput.parse({ decision_id: id, reason: '理'.repeat(9_000) })
    expect(await world.decisions.override(world.bob, reason)).toMatchObject({ overridden: true })
  })

  test('takes the place of another', async () => {
    const first = await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B', supersedes: first.id })
    expect(second.status).toBe('active')
    expect(await world.decisions.read(world.bob, first.id)).toMatchObject({
      ...{ status: 'superseded', superseded_by: second.id, superseded_at: '2026-03-01T12:00:00.000Z' },
    })
    const { neighbors } = await world.graph.neighbors(world.bob, { entity: second.id, depth: 1, limit: 10 })
    expect(neighbors).toMatchObject([{ relation: { type: 'supersedes' }, direction: 'outgoing' }])
  })
})

test('an entry that somebody took out does not come back', async () => {
  await world.decide({ affected_files: ['src/a.ts'] })
  const store = world.project('/projects/bob')
  for (const { id: entry } of await store.list('entry')) await store.remove('entry', entry)
  const restarted = await memoryWorld({ home: world.home, openProject: world.needs.openProject })
  await restarted.decide({ summary: 'Another', domain: 'api' })
  expect((await restarted.blackboard.recent(restarted.bob, { n: 9 })).entries).toMatchObject([
    { summary: 'Another' },
  ])
})

describe('a decision that contradicts another', () => {
  test('is provisional, warns of it, and says so', async () => {
    const first = await world.decide({ summary: 'Use sessions', rationale: 'Simple.', domain: 'api' })
    const answer = await world.decisions.decide(
      world.bob,
      DecideInput.parse({
        ...{ domain: 'api', scope: './src', summary: 'Use tokens', context: 'c', rationale: 'Stateless.' },
      }),
    )
    expect(answer).toMatchObject({
      status: 'provisional',
      conflicts: [{ decision_id: first.id, summary: 'Use sessions', rationale: 'Simple.' }],
    })
    const [warning] = await entries('warning')
    expect(warning).toMatchObject({
      ...{ id: answer.conflicts[0]?.warning_id, relates_to: [answer.id, first.id] },
      summary: `Potential conflict: Decision ${answer.id} in scope ./src may conflict with existing decision ${first.id}`,
    })
    for (const part of ['Use sessions', 'Simple.', 'Use tokens', 'Stateless.'])
      expect(warning?.detail).toContain(part)
  })

  test.each<[string, object, object]>([
    ['another domain', {}, { domain: 'testing' }],
    ['another scope', {}, { scope: 'docs/' }],
    ['the same words', {}, { summary: 'A ' }],
  ])('%s is none', async (_, first, second) => {
    await world.decide({ summary: 'A', ...first })
    expect(await world.decide({ summary: 'B', ...second })).toMatchObject({ status: 'active' })
  })

  test('one that holds no more is none, nor the one whose place is taken', async () => {
    const first = await world.decide({ summary: 'A' })
    await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: first.id, reason: 'no' }))
    const second = await world.decide({ summary: 'B' })
    expect(second.status).toBe('active')
    expect(await world.decide({ summary: 'C', supersedes: second.id })).toMatchObject({ status: 'active' })
  })

  test('is settled by a person, and the warning with it', async () => {
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
      ...{ summary: 'elsewhere', scope: 'src/billing/', affected_files: ['src/auth/keys.ts'] },
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
  ])('%s was decided on, newest first', async (scope, expected) => {
    expect(await said(scope)).toEqual(expected)
  })

  test('counts what holds, and what is doubted', async () => {
    const [doubted] = (await why('src/auth/jwt.ts')).decisions
    await world.decisions.reconsider(world.bob, {
      ...{ decision_id: doubted?.id ?? '', new_context: 'The load has tripled.' },
    })
    const answer = await why('src/auth/jwt.ts')
    expect(answer).toMatchObject({ active_count: 2, provisional_count: 1, total_count: 3 })
    expect(answer.decisions[0]).toMatchObject({
      ...{ summary: 'file', status: 'provisional', alternatives_count: 0, commit_hashes: [] },
    })
    expect(await world.decisions.why(world.bob, { scope: 'project', limit: 1 })).toMatchObject({
      ...{ total_count: 4, decisions: [{ summary: 'elsewhere' }] },
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

  test('goes to what it rests on, to what rests on it, and both ways, nearest first', async () => {
    const [a = '', b = '', c = ''] = ids
    expect(await trace(c, 'upstream')).toEqual(['b', 'a'])
    expect(await trace(a, 'downstream')).toEqual(['b', 'c'])
    expect(await trace(b, 'both')).toEqual(['a', 'c'])
    expect(await trace(a, 'upstream')).toEqual([])
    const { chain } = await world.decisions.trace(world.bob, { decision_id: a, direction: 'both' })
    expect(chain[0]).toEqual({ id: b, summary: 'b', depends_on: [a], dependents: [c], status: 'active' })
  })

  test('ends in a circle, and at what is not there', async () => {
    const [a = '', , c = ''] = ids
    const store = world.project('/projects/bob')
    const first = await store.get('decision', a)
    await store.put('decision', a, { ...first, depends_on: [c, NOWHERE] })
    expect(await trace(a, 'both')).toEqual(['c', 'b'])
    expect(await trace(c, 'upstream')).toEqual(['b', 'a'])
  })

  test('of one that is not there is refused', async () => {
    expect(await refusedWith(() => trace(NOWHERE, 'both'))).toBe('record_unknown')
  })
})

describe('reconsidering', () => {
  test('doubts a decision for all to see, and again', async () => {
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

  test('changes nothing about what holds no more', async () => {
    const { id } = await world.decide({ summary: 'A' })
    await world.decide({ summary: 'B', supersedes: id })
    expect(await world.decisions.reconsider(world.bob, { decision_id: id, new_context: 'x' })).toEqual({
      ...{ flagged: false, decision_summary: 'A', status: 'superseded' },
    })
    expect(await entries('warning')).toEqual([])
  })
})

describe('overriding', () => {
  const override = (input: object) => world.decisions.override(world.bob, OverrideInput.parse(input))

  test('takes a decision back, and says who and why', async () => {
    const { id } = await world.decide({ summary: 'A' })
    expect(await override({ decision_id: id, reason: 'Legal.' })).toEqual({
      ...{ overridden: true, old_summary: 'A' },
    })
    expect(await world.decisions.read(world.bob, id)).toMatchObject({
      ...{ status: 'overridden', overridden_by: 'human', override_reason: 'Legal.' },
    })
    expect((await entries('decision')).at(-1)).toMatchObject({
      ...{ summary: 'Override: A (by human)', detail: 'Legal.', relates_to: [id] },
    })
  })

  test.each<[string, unknown, object]>([
    ['a sentence', 'Use the audited library', { rationale: 'Legal.', scope: 'src/', agent_id: 'human' }],
    ['more of it', { summary: 'Use the audited library', confidence: 'high' }, { confidence: 'high' }],
  ])('records what holds instead: %s', async (_, new_decision, expected) => {
    const { id } = await world.decide({ summary: 'A' })
    const answer = await override({ decision_id: id, reason: 'Legal.', new_decision })
    expect(await world.decisions.read(world.bob, answer.new_decision_id ?? '')).toMatchObject({
      ...{ summary: 'Use the audited library', supersedes: id, status: 'active', ...expected },
    })
    expect(await statusOf(id)).toBe('overridden')
  })

  test('records what holds instead about the same things, where nothing else is said', async () => {
    const rejected = [{ option: 'B', reason_rejected: 'Slow.' }]
    const rests_on = await world.decide({ summary: 'Tokens', scope: 'src/tokens/' })
    const about = {
      ...{ affected_files: ['lib/a.ts'], affected_symbols: ['sign'], constraints: ['No new package'] },
      ...{ confidence: 'high', reversible: false, depends_on: [rests_on.id] },
    }
    const { id } = await world.decide({ ...about, summary: 'A', alternatives: rejected })
    const { new_decision_id = '' } = await override({
      ...{ decision_id: id, reason: 'Legal.' },
      new_decision: { summary: 'B', confidence: 'low' },
    })
    const made = await world.decisions.read(world.bob, new_decision_id)
    expect(made).toMatchObject({ ...about, confidence: 'low', alternatives: [] })
    expect(await why('lib/a.ts')).toMatchObject({ active_count: 1 })
  })

  test.each<[string, object, string]>([
    ['rests on what is not there', { depends_on: [NOWHERE] }, 'record_unknown'],
    ['is too large', { affected_files: Array(100).fill('x'.repeat(1_024)) }, 'record_too_large'],
  ])('changes nothing where what shall hold instead %s', async (_, more, code) => {
    const { id } = await world.decide({ summary: 'A' })
    const told = world.told().length
    const new_decision = { ...more, summary: 'B' }
    expect(await refusedWith(() => override({ decision_id: id, reason: 'Legal.', new_decision }))).toBe(code)
    expect(await statusOf(id)).toBe('active')
    expect((await entries('decision')).map(({ summary }) => summary)).toEqual(['A'])
    expect(world.told()).toHaveLength(told)
  })

  test('what holds no more is refused, and leads to what took its place', async () => {
    const { id } = await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B', supersedes: id })
    await expect(override({ decision_id: id, reason: 'x' })).rejects.toMatchObject({
      ...{ code: 'transition_forbidden', hint: expect.stringContaining(second.id) as string },
    })
    await override({ decision_id: second.id, reason: 'x' })
    expect(await refusedWith(() => override({ decision_id: second.id, reason: 'x' }))).toBe(
      'transition_forbidden',
    )
    expect(await refusedWith(() => override({ decision_id: NOWHERE, reason: 'x' }))).toBe('record_unknown')
  })
})

describe('a decision that is in doubt', () => {
  const override = (input: object) => world.decisions.override(world.bob, OverrideInput.parse(input))
  const reconsider = (decision_id: string, stands = false) =>
    world.decisions.reconsider(world.bob, { decision_id, new_context: 'It was measured.', stands })
  const open = async () =>
    (await world.blackboard.read(world.bob, ReadInput.parse({ open: true }))).entries.map(
      ({ summary }) => summary,
    )

  test('because it contradicts another is active once that is taken back', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    expect(await statusOf(other.id)).toBe('provisional')
    await override({ decision_id: one.id, reason: 'B is better.' })
    expect(await statusOf(other.id)).toBe('active')
    expect(await open()).toEqual([])
    expect(world.told().at(-1)).toMatchObject({ type: 'memory.decision_changed', data: { id: other.id } })
  })

  test('is active after a crash, too, or after a person took the other back by hand', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    const store = world.project('/projects/bob')
    const body = (await store.get('decision', one.id)) as RecordBody
    await store.put('decision', one.id, { ...body, status: 'overridden' })
    const restarted = await memoryWorld({ home: world.home, openProject: world.needs.openProject })
    await restarted.decide({ summary: 'Another', domain: 'api' })
    expect((await restarted.decisions.read(restarted.bob, other.id)).status).toBe('active')
  })

  test('stays so while an older one on the matter is left, and a warning names that', async () => {
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

  test('stays so where what it contradicts is only doubted, and after a restart, too', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    await reconsider(one.id)
    const restarted = await memoryWorld({ home: world.home, openProject: world.needs.openProject })
    await restarted.decide({ summary: 'Another', domain: 'api' })
    expect([await statusOf(one.id), await statusOf(other.id)]).toEqual(['provisional', 'provisional'])
    await override({ decision_id: one.id, reason: 'It was wrong indeed.' })
    expect(await statusOf(other.id)).toBe('active')
  })

  test('keeps others in doubt only where it was active before', async () => {
    const one = await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B' })
    const third = await world.decide({ summary: 'C' })
    await reconsider(second.id)
    await reconsider(second.id)
    await override({ decision_id: one.id, reason: 'No.' })
    expect([await statusOf(second.id), await statusOf(third.id)]).toEqual(['provisional', 'active'])
  })

  test('stays so where its author wanted no more', async () => {
    const one = await world.decide({ summary: 'A' })
    const draft = await world.decisions.decide(world.bob, {
      ...DecideInput.parse({
        ...{ domain: 'implementation', scope: 'src/', summary: 'B', context: 'c', rationale: 'r' },
      }),
      status: 'provisional',
    })
    await override({ decision_id: one.id, reason: 'No.' })
    expect(await statusOf(draft.id)).toBe('provisional')
  })

  test('stays so where somebody doubted it besides', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    await reconsider(other.id)
    await override({ decision_id: one.id, reason: 'No.' })
    expect(await statusOf(other.id)).toBe('provisional')
  })

  test('is active again after a second look at it', async () => {
    const { id } = await world.decide({ summary: 'A' })
    await reconsider(id)
    expect(await open()).toEqual(['Reconsideration flagged: A'])
    expect(await reconsider(id, true)).toEqual({ flagged: false, decision_summary: 'A', status: 'active' })
    expect(await statusOf(id)).toBe('active')
    expect(await open()).toEqual([])
    expect((await entries('answer')).at(-1)).toMatchObject({
      ...{ summary: 'Stands after a second look: A', detail: 'It was measured.' },
    })
    const told = world.told().length
    expect(await reconsider(id, true)).toMatchObject({ flagged: false, status: 'active' })
    expect(world.told()).toHaveLength(told)
  })
})

describe('a decision that stands after a second look', () => {
  const reconsider = (decision_id: string, stands = false) =>
    world.decisions.reconsider(world.bob, { decision_id, new_context: 'It was measured.', stands })

  test('is in doubt until somebody was told what was decided against it meanwhile', async () => {
    const one = await world.decide({ summary: 'A' })
    await reconsider(one.id)
    const other = await world.decide({ summary: 'B' })
    expect(other.status).toBe('active')
    const answer = await reconsider(one.id, true)
    expect(answer).toMatchObject({ flagged: true, status: 'provisional' })
    expect((await entries('warning')).at(-1)).toMatchObject({
      ...{ id: answer.warning_id, relates_to: [one.id, other.id] },
    })
    expect(await reconsider(one.id, true)).toMatchObject({ flagged: false, status: 'active' })
    expect([await statusOf(one.id), await statusOf(other.id)]).toEqual(['active', 'active'])
  })

  test('leaves it open that another one contradicts it', async () => {
    const one = await world.decide({ summary: 'A' })
    const other = await world.decide({ summary: 'B' })
    await reconsider(one.id)
    await reconsider(one.id, true)
    expect([await statusOf(one.id), await statusOf(other.id)]).toEqual(['active', 'provisional'])
    const open = await world.blackboard.read(world.bob, ReadInput.parse({ open: true }))
    expect(open.entries).toMatchObject([{ relates_to: [other.id, one.id] }])
  })

  test('holds beside what was weighed before, once what came later is taken back', async () => {
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

  test('is active once that is taken back, without a third look', async () => {
    const one = await world.decide({ summary: 'A' })
    await reconsider(one.id)
    const other = await world.decide({ summary: 'B' })
    await reconsider(one.id, true)
    await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: other.id, reason: 'No.' }))
    expect(await statusOf(one.id)).toBe('active')
  })

  test('takes the place of another only then', async () => {
    const former = await world.decide({ summary: 'Old', scope: 'lib/' })
    await world.decide({ summary: 'A' })
    const { id, status } = await world.decide({ summary: 'B', supersedes: former.id })
    expect([status, await statusOf(former.id)]).toEqual(['provisional', 'active'])
    await reconsider(id, true)
    expect(await statusOf(former.id)).toBe('superseded')
  })

  test('or contradicts nothing any more takes it then, and frees what that one kept in doubt', async () => {
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
  ])('by %j', async (input, expected) => {
    expect(await list(input)).toEqual(expected)
  })

  test('by words, best first', async () => {
    const search = (input: object) => world.decisions.search(world.bob, SearchDecisionsInput.parse(input))
    const found = await search({ query: 'where are sessions stored' })
    expect(found).toMatchObject({ degraded: true, results: [{ decision: { summary: 'tokens' } }] })
    expect((await search({ query: 'sessions', domain: 'architecture' })).results).toEqual([])
  })
})

test('commits are linked to a decision, each once, and not without end', async () => {
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
