/** Propagation of decisions while stores reject writes, fail or crash. */
import { beforeEach, describe, expect, test } from 'vitest'
import { PostInput, ReadInput } from '../../../../src/contracts/memory/blackboard.ts'
import { OverrideInput } from '../../../../src/contracts/memory/decision.ts'
import type { RecordBody } from '../../../../src/ports/record-store.ts'
import {
  refused,
  tooLarge,
  troubledMemory,
  type TroubledMemory,
} from '../../../support/disk/troubled-memory.ts'

const ELSEWHERE = '01JZ0000000000000000000000'
let memory: TroubledMemory
beforeEach(async () => {
  memory = await troubledMemory()
})

const decide = (input: object) => memory.world.decide(input)
const read = (id: string) => memory.read(id)
const another = () => memory.another()
const override = (decision_id: string) =>
  memory.world.decisions.override(memory.world.bob, OverrideInput.parse({ decision_id, reason: 'Legal.' }))
const entries = async (wanted: object) =>
  (await memory.world.blackboard.read(memory.world.bob, ReadInput.parse(wanted))).entries
const relations = async () => (await memory.kept().list('relation')).length

describe('propagation of a decision', () => {
  test('a decision is stored once while the graph cannot be written, and is added to the graph later', async () => {
    memory.refuse('entity', 'relation')
    const { id, status } = await decide({ summary: 'A', affected_files: ['src/a.ts'] })
    expect(status).toBe('active')
    expect(await memory.said()).toEqual(['A'])
    await memory.restart()
    await another()
    expect(await relations()).toBe(0)
    memory.mend()
    await memory.later()
    await another()
    expect(await relations()).toBe(1)
    expect(await read(id)).not.toHaveProperty('outbox')
  })

  test('a decision is stored once while the blackboard cannot be written, and its entry is posted later', async () => {
    const question = await memory.world.post({ entry_type: 'question', summary: 'Which?' })
    const { id } = await decide({ summary: 'A' })
    memory.refuse('entry')
    const { decision } = await memory.world.blackboard.post(
      memory.world.bob,
      PostInput.parse({
        entry_type: 'decision',
        summary: 'B',
        detail: 'In full',
        tags: ['db'],
        relates_to: [question],
        rationale: 'It is simple.',
        domain: 'implementation',
        scope: 'src/',
      }),
    )
    expect(decision).toMatchObject({ status: 'provisional' })
    expect(await memory.said()).toEqual(['Which?', 'A'])
    memory.mend()
    await another()
    expect(await memory.said()).toEqual(['Which?', 'A', 'Another'])
    await memory.later()
    await another()
    const found = await entries({ tags: ['db'] })
    expect(found).toMatchObject([
      { summary: 'B', detail: 'In full', relates_to: [decision?.id, question], agent_id: 'bob' },
    ])
    expect(await memory.said({ open: true })).toEqual([expect.stringContaining(id)])
  })

  test('every pending entry is posted later', async () => {
    memory.refuse('entry', 'entity')
    const numbers = Array.from({ length: 40 }, (_, n) => `${10 + n}`)
    // Sorted, because two worlds with the same clock create ids in any order.
    const all = async () => (await memory.said({ limit: 100 })).toSorted()
    for (const summary of numbers) await decide({ summary, domain: summary })
    memory.mend()
    await memory.restart()
    for (let n = 0; n < 3; n += 1) await another()
    expect(await all()).toEqual([...numbers, 'Another', 'Another', 'Another'])
    await memory.restart()
    await another()
    expect(await all()).toHaveLength(44)
  })

  test('the entry about an override is posted once the blackboard can be written', async () => {
    const { id } = await decide({ summary: 'A' })
    await decide({ summary: 'B' })
    memory.refuse('entry')
    expect(await override(id)).toMatchObject({ overridden: true })
    memory.mend()
    await memory.later()
    await another()
    const found = await entries({ entry_types: ['decision'] })
    expect(found).toContainEqual(
      expect.objectContaining({ summary: 'Override: A (by human)', agent_id: 'bob', detail: 'Legal.' }),
    )
    expect(await memory.said({ open: true })).toEqual([])
  })

  test('entries about flagged and confirmed decisions are posted once the blackboard can be written', async () => {
    const { id } = await decide({ summary: 'A' })
    const look = (stands: boolean) =>
      memory.world.decisions.reconsider(memory.world.bob, {
        decision_id: id,
        new_context: `So ${stands}.`,
        stands,
      })
    memory.refuse('entry')
    const { warning_id } = await look(false)
    expect(await look(true)).toMatchObject({ flagged: false, status: 'active' })
    memory.mend()
    await memory.later()
    await another()
    const found = await entries({ entry_types: ['warning', 'answer'] })
    expect(found).toMatchObject([
      { id: warning_id, entry_type: 'warning', detail: 'So false.' },
      { entry_type: 'answer', detail: 'So true.', relates_to: [id, warning_id] },
    ])
  })

  test.each<[string, (entry_type: unknown) => boolean]>([
    ['any entry was posted', () => true],
    ['a warning was posted', (entry_type) => entry_type === 'warning'],
    ['an answer was posted', (entry_type) => entry_type === 'answer'],
    ['the delivery was recorded', () => false],
  ])('entries are posted once and completely after a crash before %s', async (_, isMeant) => {
    const one = await decide({ summary: 'A' })
    const second = await decide({ summary: 'B' })
    const third = await decide({ summary: 'C' })
    const isNoted = (kind: string, { outbox, status }: RecordBody) =>
      kind === 'decision' && outbox === undefined && status === 'overridden'
    memory.trouble = (kind, body) =>
      (kind === 'entry' && isMeant(body['entry_type'])) || isNoted(kind, body) ? 'dies' : null
    await memory.dieIn(() => override(one.id))
    await another()
    await memory.restart()
    await another()
    expect([await memory.statusOf(second.id), await memory.statusOf(third.id)]).toEqual([
      'active',
      'provisional',
    ])
    const rows = await memory.kept().list('entry')
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
    const told = await memory.said()
    const count = (beginning: string) => told.filter((summary) => summary.startsWith(beginning)).length
    expect(['Override: A', 'Conflict resolved: B', 'Potential conflict'].map(count)).toEqual([1, 1, 3])
    expect(await memory.said({ open: true })).toEqual([expect.stringContaining(`${third.id} in scope`)])
  })

  test('a decision confirmed by the first change after a start is published', async () => {
    const one = await decide({ summary: 'A' })
    const { id } = await decide({ summary: 'B' })
    const store = memory.kept()
    await store.put('decision', one.id, { ...(await store.get('decision', one.id)), status: 'overridden' })
    await memory.restart()
    await another()
    expect(memory.world.told().map(({ data }) => [data['id'], data['status']])).toContainEqual([id, 'active'])
  })

  test('a confirmation leaves warnings by people open', async () => {
    const { id } = await decide({ summary: 'A' })
    const warning = { entry_type: 'warning', summary: 'It breaks the client', tags: ['conflict'] }
    await memory.world.post({ ...warning, relates_to: [id] })
    await memory.restart()
    await another()
    expect(await memory.said({ open: true })).toEqual(['It breaks the client'])
  })

  test('warnings about a superseded decision are settled', async () => {
    const { id } = await decide({ summary: 'A' })
    await memory.world.decisions.reconsider(memory.world.bob, {
      decision_id: id,
      new_context: 'Slow.',
      stands: false,
    })
    expect(await memory.said({ open: true })).toEqual(['Reconsideration flagged: A'])
    await decide({ summary: 'B', supersedes: id })
    expect(await memory.said({ open: true })).toEqual([])
  })

  test('a decision is stored once where its outbox cannot be cleared', async () => {
    memory.trouble = (kind, body) => (kind === 'decision' && body['outbox'] === undefined ? refused() : null)
    const { id } = await decide({ summary: 'A' })
    await another()
    expect(await read(id)).toHaveProperty('outbox')
    memory.mend()
    await memory.later()
    await another()
    expect(await read(id)).not.toHaveProperty('outbox')
    expect(await memory.said()).toEqual(['A', 'Another', 'Another'])
  })

  test('a decision that cannot be written does not block other decisions', async () => {
    const { id } = await decide({ summary: 'A' })
    memory.trouble = (kind, body) => (kind === 'decision' && body['id'] === id ? tooLarge() : null)
    const next = await decide({ summary: 'B', supersedes: id })
    await memory.restart()
    await another()
    expect([await memory.statusOf(id), await memory.statusOf(next.id)]).toEqual(['active', 'active'])
    memory.mend()
    await memory.later()
    await another()
    expect(await memory.statusOf(id)).toBe('superseded')
  })

  test('an entry rejected for its content does not block others', async () => {
    memory.trouble = (kind, body) => (kind === 'entry' && body['summary'] === 'A' ? tooLarge() : null)
    const { id } = await decide({ summary: 'A' })
    await decide({ summary: 'B', domain: 'api' })
    expect(await memory.said()).toEqual(['B'])
    expect(await read(id)).not.toHaveProperty('outbox')
  })

  test('a foreign outbox is delivered, and an invalid one does not invalidate its decision', async () => {
    const { id } = await decide({ summary: 'A' })
    await another()
    const store = memory.kept()
    const body = (await store.get('decision', id)) as RecordBody
    const entry = {
      id: ELSEWHERE,
      timestamp: '2026-03-01T12:00:00.000Z',
      entry_type: 'status',
      summary: 'Pulled',
    }
    await store.put('decision', id, { ...body, outbox: { entries: [entry], graph: false } })
    await another()
    expect(await memory.said()).toContain('Pulled')
    await store.put('decision', id, { ...body, outbox: { entries: [{ id: 'x' }], graph: false } })
    expect(await memory.statusOf(id)).toBe('active')
  })

  test('a delayed entry settles the warnings that are older than the change, in order, and no others', async () => {
    memory.refuse('entry')
    const { id } = await decide({ summary: 'A' })
    const contested = await decide({ summary: 'B' })
    await decide({ summary: 'C', supersedes: id })
    memory.mend()
    const warning = { entry_type: 'warning', summary: 'A is still in use', relates_to: [id] }
    await memory.world.post(warning)
    await memory.later()
    await another()
    const open = await entries({ open: true })
    expect(open.map(({ summary, relates_to }) => [summary, relates_to?.[0]])).toEqual([
      [expect.stringMatching(/^Potential conflict/), contested.id],
      [warning.summary, id],
    ])
  })
})
