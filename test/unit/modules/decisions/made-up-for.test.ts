/** What follows a decision and was refused, or a crash came in between of. */
import { beforeEach, describe, expect, test } from 'vitest'
import { PostInput, ReadInput } from '../../../../src/contracts/blackboard.ts'
import { OverrideInput } from '../../../../src/contracts/decision.ts'
import { TurnbellError } from '../../../../src/contracts/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits.ts'
import type { RecordBody, RecordStore } from '../../../../src/ports/record-store.ts'
import { memoryProjects } from '../../../support/memory-projects.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/memory-world.ts'

const ELSEWHERE = '01JZ0000000000000000000000'
let world: MemoryWorld
/** Why a record cannot be written now; null where it can. */
let trouble: (kind: string, body: RecordBody) => Error | null

const refused = () => new TurnbellError('store_unavailable', { detail: 'it is too large' })
const tooLarge = () => new TurnbellError('record_too_large', { detail: 'it is too large' })
const refuse = (...kinds: string[]) => (trouble = (kind) => (kinds.includes(kind) ? refused() : null))
const mend = () => (trouble = () => null)

function troubled(records: RecordStore): RecordStore {
  const needPut = (kind: string, body: RecordBody) => {
    const error = trouble(kind, body)
    if (error !== null) throw error
  }
  return {
    ...records,
    async put(kind, id, body) {
      needPut(kind, body)
      return records.put(kind, id, body)
    },
    exclusive: (kind, work) =>
      records.exclusive(kind, (held) =>
        work({
          ...held,
          async put(id, body) {
            needPut(kind, body)
            return held.put(id, body)
          },
        }),
      ),
  }
}

function openProject() {
  const projects = memoryProjects()
  const opened = new Map<string, ReturnType<typeof projects>>()
  return (root: string) => {
    const project = opened.get(root) ?? projects(root)
    if (project === null || opened.has(root)) return project
    opened.set(root, { ...project, records: troubled(project.records) })
    return opened.get(root) ?? null
  }
}

const restart = async () => {
  world = await memoryWorld({ home: world.home, openProject: world.needs.openProject })
}
const override = (decision_id: string) =>
  world.decisions.override(world.bob, OverrideInput.parse({ decision_id, reason: 'Legal.' }))
const said = async (wanted: object = {}) =>
  (await world.blackboard.read(world.bob, ReadInput.parse(wanted))).entries.map(({ summary }) => summary)
const statusOf = async (id: string) => (await world.decisions.read(world.bob, id)).status
/** A change that has nothing to do with the others. */
const another = () => world.decide({ summary: 'Another', domain: 'elsewhere', scope: 'docs/' })
const relations = async () => (await world.project('/work/bob').list('relation')).length

beforeEach(async () => {
  mend()
  world = await memoryWorld({ openProject: openProject() })
})

/** What was refused is tried again by then. */
const later = () => world.clock.advance(LIMITS.outbox_retry_ms)

describe('a decision', () => {
  test('is made, once, where the graph cannot be written, which has its part later', async () => {
    refuse('entity', 'relation')
    const { id, status } = await world.decide({ summary: 'A', affected_files: ['src/a.ts'] })
    expect(status).toBe('active')
    expect(await said()).toEqual(['A'])
    await restart()
    await another()
    expect(await relations()).toBe(0)
    mend()
    await later()
    await another()
    expect(await relations()).toBe(1)
    expect(await world.decisions.read(world.bob, id)).not.toHaveProperty('outbox')
  })

  test('is made, once, where the blackboard cannot be written, which is told what it was to be', async () => {
    const question = await world.post({ entry_type: 'question', summary: 'Which?' })
    const { id } = await world.decide({ summary: 'A' })
    refuse('entry')
    const { decision } = await world.blackboard.post(
      world.bob,
      PostInput.parse({
        ...{ entry_type: 'decision', summary: 'B', detail: 'In full', tags: ['db'], relates_to: [question] },
        ...{ rationale: 'It is simple.', domain: 'implementation', scope: 'src/' },
      }),
    )
    expect(decision).toMatchObject({ status: 'provisional' })
    expect(await said()).toEqual(['Which?', 'A'])
    mend()
    await another()
    expect(await said()).toEqual(['Which?', 'A', 'Another'])
    await later()
    await another()
    const { entries } = await world.blackboard.read(world.bob, ReadInput.parse({ tags: ['db'] }))
    expect(entries).toMatchObject([
      { summary: 'B', detail: 'In full', relates_to: [decision?.id, question], agent_id: 'bob' },
    ])
    expect(await said({ open: true })).toEqual([expect.stringContaining(id)])
  })

  test('is told of however many there were meanwhile', async () => {
    refuse('entry', 'entity')
    const numbers = Array.from({ length: 40 }, (_, n) => `${10 + n}`)
    // Two worlds of one time make ids in any order.
    const all = async () => (await said({ limit: 100 })).toSorted()
    for (const summary of numbers) await world.decide({ summary, domain: summary })
    mend()
    await restart()
    for (let n = 0; n < 3; n += 1) await another()
    expect(await all()).toEqual([...numbers, 'Another', 'Another', 'Another'])
    await restart()
    await another()
    expect(await all()).toHaveLength(44)
  })

  test('that is taken back while the blackboard cannot be written is told of later', async () => {
    const { id } = await world.decide({ summary: 'A' })
    await world.decide({ summary: 'B' })
    refuse('entry')
    expect(await override(id)).toMatchObject({ overridden: true })
    mend()
    await later()
    await another()
    const { entries } = await world.blackboard.read(world.bob, ReadInput.parse({ entry_types: ['decision'] }))
    expect(entries).toContainEqual(
      expect.objectContaining({ summary: 'Override: A (by human)', agent_id: 'bob', detail: 'Legal.' }),
    )
    expect(await said({ open: true })).toEqual([])
  })

  test('that is doubted, or stands, while the blackboard cannot be written is told of later', async () => {
    const { id } = await world.decide({ summary: 'A' })
    const look = (stands: boolean) =>
      world.decisions.reconsider(world.bob, { decision_id: id, new_context: `So ${stands}.`, stands })
    refuse('entry')
    const { warning_id } = await look(false)
    expect(await look(true)).toMatchObject({ flagged: false, status: 'active' })
    mend()
    await later()
    await another()
    const { entries } = await world.blackboard.read(
      world.bob,
      ReadInput.parse({ entry_types: ['warning', 'answer'] }),
    )
    expect(entries).toMatchObject([
      { id: warning_id, entry_type: 'warning', detail: 'So false.' },
      { entry_type: 'answer', detail: 'So true.', relates_to: [id, warning_id] },
    ])
  })

  test.each<[string, (entry_type: unknown) => boolean]>([
    ['anything was said', () => true],
    ['a warning was said', (entry_type) => entry_type === 'warning'],
    ['an answer was said', (entry_type) => entry_type === 'answer'],
    ['it was noted', () => false],
  ])('is told of once, whole, where a crash came before %s', async (_, isMeant) => {
    const one = await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B' })
    const third = await world.decide({ summary: 'C' })
    const isNoted = (kind: string, { outbox, status }: RecordBody) =>
      kind === 'decision' && outbox === undefined && status === 'overridden'
    trouble = (kind, body) =>
      (kind === 'entry' && isMeant(body['entry_type'])) || isNoted(kind, body) ? new Error('killed') : null
    await expect(override(one.id)).rejects.toThrow('killed')
    mend()
    for (let n = 0; n < 2; n += 1) {
      await restart()
      await another()
    }
    expect([await statusOf(second.id), await statusOf(third.id)]).toEqual(['active', 'provisional'])
    const rows = await world.project('/work/bob').list('entry')
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
    const told = await said()
    const count = (beginning: string) => told.filter((summary) => summary.startsWith(beginning)).length
    expect(['Override: A', 'Contested no more: B', 'Potential conflict'].map(count)).toEqual([1, 1, 3])
    expect(await said({ open: true })).toEqual([expect.stringContaining(`${third.id} in scope`)])
  })

  test('that was confirmed with the first change after a start is told of to who watches', async () => {
    const one = await world.decide({ summary: 'A' })
    const { id } = await world.decide({ summary: 'B' })
    const store = world.project('/work/bob')
    await store.put('decision', one.id, { ...(await store.get('decision', one.id)), status: 'overridden' })
    await restart()
    await another()
    expect(world.told().map(({ data }) => [data['id'], data['status']])).toContainEqual([id, 'active'])
  })

  test('leaves warnings that people gave of it open', async () => {
    const { id } = await world.decide({ summary: 'A' })
    const warning = { entry_type: 'warning', summary: 'It breaks the client', tags: ['conflict'] }
    await world.post({ ...warning, relates_to: [id] })
    await restart()
    await another()
    expect(await said({ open: true })).toEqual(['It breaks the client'])
  })

  test('whose place is taken is warned of no more', async () => {
    const { id } = await world.decide({ summary: 'A' })
    await world.decisions.reconsider(world.bob, { decision_id: id, new_context: 'Slow.', stands: false })
    expect(await said({ open: true })).toEqual(['Reconsideration flagged: A'])
    await world.decide({ summary: 'B', supersedes: id })
    expect(await said({ open: true })).toEqual([])
  })

  test('is made, once, where it cannot be noted that it was told of', async () => {
    trouble = (kind, body) => (kind === 'decision' && body['outbox'] === undefined ? refused() : null)
    const { id } = await world.decide({ summary: 'A' })
    await another()
    expect(await world.decisions.read(world.bob, id)).toHaveProperty('outbox')
    mend()
    await later()
    await another()
    expect(await world.decisions.read(world.bob, id)).not.toHaveProperty('outbox')
    expect(await said()).toEqual(['A', 'Another', 'Another'])
  })

  test('that cannot be written keeps nothing else from being decided', async () => {
    const { id } = await world.decide({ summary: 'A' })
    trouble = (kind, body) => (kind === 'decision' && body['id'] === id ? tooLarge() : null)
    const next = await world.decide({ summary: 'B', supersedes: id })
    await restart()
    await another()
    expect([await statusOf(id), await statusOf(next.id)]).toEqual(['active', 'active'])
    mend()
    await later()
    await another()
    expect(await statusOf(id)).toBe('superseded')
  })

  test('of which something is refused for what it says keeps no other from being told of', async () => {
    trouble = (kind, body) => (kind === 'entry' && body['summary'] === 'A' ? tooLarge() : null)
    const { id } = await world.decide({ summary: 'A' })
    await world.decide({ summary: 'B', domain: 'api' })
    expect(await said()).toEqual(['B'])
    expect(await world.decisions.read(world.bob, id)).not.toHaveProperty('outbox')
  })

  test('whose outbox came from elsewhere is told of, and one that is none is no reason to refuse it', async () => {
    const { id } = await world.decide({ summary: 'A' })
    await another()
    const store = world.project('/work/bob')
    const body = (await store.get('decision', id)) as RecordBody
    const entry = {
      id: ELSEWHERE,
      timestamp: '2026-03-01T12:00:00.000Z',
      entry_type: 'status',
      summary: 'Pulled',
    }
    await store.put('decision', id, { ...body, outbox: { entries: [entry], graph: false } })
    await another()
    expect(await said()).toContain('Pulled')
    await store.put('decision', id, { ...body, outbox: { entries: [{ id: 'x' }], graph: false } })
    expect(await statusOf(id)).toBe('active')
  })

  test('that is told of late settles what was asked before it changed, in that order, and nothing else', async () => {
    refuse('entry')
    const { id } = await world.decide({ summary: 'A' })
    const contested = await world.decide({ summary: 'B' })
    await world.decide({ summary: 'C', supersedes: id })
    mend()
    const warning = { entry_type: 'warning', summary: 'A is still in use', relates_to: [id] }
    await world.post(warning)
    await later()
    await another()
    const open = await world.blackboard.read(world.bob, ReadInput.parse({ open: true }))
    expect(open.entries.map(({ summary, relates_to }) => [summary, relates_to?.[0]])).toEqual([
      [expect.stringMatching(/^Potential conflict/), contested.id],
      [warning.summary, id],
    ])
  })
})
