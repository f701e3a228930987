/** Delivery of outboxes: retries, batches, order and size. */
import { beforeEach, describe, expect, test } from 'vitest'
import { DecideInput, OverrideInput } from '../../../../src/contracts/memory/decision.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'
import { refused, troubledMemory, type TroubledMemory } from '../../../support/disk/troubled-memory.ts'

let memory: TroubledMemory
beforeEach(async () => {
  memory = await troubledMemory()
})

const decide = (input: object) => memory.world.decide(input)
const sweep = () => memory.world.decisions.sweep()
const doubt = (decision_id: string, new_context = 'It was measured.') =>
  memory.world.decisions.reconsider(memory.world.bob, { decision_id, new_context })
const override = (input: object) =>
  memory.world.decisions.override(memory.world.bob, OverrideInput.parse(input))
const numbers = (count: number) => Array.from({ length: count }, (_, n) => `${100 + n}`)

describe('delivery without another change', () => {
  test('an outbox is delivered after the retry interval, and not earlier', async () => {
    memory.refuse('entry')
    const { id } = await decide({ summary: 'A' })
    memory.mend()
    await sweep()
    expect(await memory.said()).toEqual([])
    await memory.later()
    await sweep()
    expect(await memory.said()).toEqual(['A'])
    expect(await memory.read(id)).not.toHaveProperty('outbox')
  })

  test('an outbox left by a crash is delivered in every opened memory, even if it was only read', async () => {
    memory.trouble = (kind) => (kind === 'entry' ? 'dies' : null)
    await memory.dieIn(() => decide({ summary: 'A' }))
    await sweep()
    expect(await memory.kept().list('entry')).toEqual([])
    expect(await memory.said()).toEqual([])
    await sweep()
    expect(await memory.said()).toEqual(['A'])
  })

  test('an outbox larger than a batch is delivered in several', async () => {
    memory.refuse('entry', 'entity')
    for (const summary of numbers(60)) await decide({ summary, domain: summary })
    memory.mend()
    await memory.later()
    for (let n = 0; n < 3; n += 1) await sweep()
    expect(await memory.said({ limit: 100 })).toHaveLength(60)
    expect(await memory.kept().list('entity')).toHaveLength(60)
  })

  test("a delivery publishes the changes it causes under turnbell's own name", async () => {
    const one = await decide({ summary: 'A' })
    const { id } = await decide({ summary: 'B' })
    const store = memory.kept()
    await store.put('decision', one.id, { ...(await store.get('decision', one.id)), status: 'overridden' })
    await memory.restart()
    await memory.said()
    await sweep()
    expect(memory.world.told().at(-1)).toMatchObject({
      type: 'memory.decision_changed',
      agent_id: 'turnbell',
      data: { id, status: 'active' },
    })
  })

  test('a sweep reads no file where nothing is pending', async () => {
    const { id } = await decide({ summary: 'A' })
    const body = await memory.kept().get('decision', id)
    await memory.kept().put('decision', id, { ...body, outbox: { entries: [], graph: false } })
    await memory.restart()
    await memory.said()
    await sweep()
    const looks = memory.looks()
    expect(looks).toBeGreaterThan(0)
    for (let n = 0; n < 5; n += 1) {
      await memory.later()
      await sweep()
    }
    expect(memory.looks()).toBe(looks)
  })

  test('a sweep writes nothing in a directory that is not registered as a project', async () => {
    const call = memory.world.as('operator', { scope: '/projects/cloned' })
    const project = memory.world.project('/projects/cloned')
    const entry = { id: '01JZ0000000000000000000001', entry_type: 'status', summary: 'Pulled' }
    const id = '01JZ0000000000000000000000'
    const outbox = { entries: [{ ...entry, timestamp: '2026-03-01T12:00:00.000Z' }], graph: false }
    await project.put('decision', id, { id, domain: 'api', summary: 'A', outbox })
    expect((await memory.world.decisions.read(call, id)).outbox?.entries).toHaveLength(1)
    await sweep()
    expect(await project.list('entry')).toEqual([])
    await memory.world.decisions.decide(call, {
      ...DecideInput.parse({ domain: 'ui', scope: 'src/', summary: 'B', context: 'c', rationale: 'r' }),
    })
    expect(await project.list('entry')).toHaveLength(2)
  })
})

describe('undeliverable items do not block others', () => {
  test('rejected items do not block others', async () => {
    memory.refuse('entity', 'relation')
    for (const summary of numbers(40)) await decide({ summary, domain: summary })
    memory.refuse('entity', 'relation', 'entry')
    await decide({ summary: 'The newest' })
    memory.refuse('entity', 'relation')
    await memory.later()
    await sweep()
    expect(await memory.said()).toContain('The newest')
  })

  test('items whose delivery cannot be recorded do not block others', async () => {
    const stuck = new Set<unknown>()
    for (const summary of numbers(30)) stuck.add((await decide({ summary, domain: summary })).id)
    memory.refuse('entry')
    for (const id of stuck) await doubt(String(id))
    await decide({ summary: 'The newest' })
    memory.trouble = (kind, { id }) => (kind === 'decision' && stuck.has(id) ? refused() : null)
    for (let n = 0; n < 2; n += 1) {
      await memory.later()
      await sweep()
    }
    expect(await memory.said()).toContain('The newest')
  })

  test('an item whose delivery can never be recorded does not block the recording of others', async () => {
    memory.refuse('entry')
    const [first, second] = [await decide({ summary: 'A' }), await decide({ summary: 'B', domain: 'api' })]
    memory.trouble = (kind, { id }) => (kind === 'decision' && id === first.id ? refused() : null)
    await memory.later()
    await sweep()
    expect(await memory.read(first.id)).toHaveProperty('outbox')
    expect(await memory.read(second.id)).not.toHaveProperty('outbox')
  })
})

describe('size of a decision with its outbox', () => {
  const fileBytes = async (id: string) =>
    Buffer.byteLength(JSON.stringify(await memory.kept().get('decision', id), null, 2))

  test('a new decision of any valid size is stored with its entries', async () => {
    // Six bytes each as JSON.
    const rationale = '\u0001'.repeat(10_600)
    const first = await decide({ summary: 'A' })
    for (const summary of numbers(5)) {
      const { id: decision_id } = await decide({ summary, rationale })
      const stands = { decision_id, new_context: 'Both.', stands: true }
      // Two of five decisions are reported as conflicting.
      for (let n = 0; n < 2; n += 1) await memory.world.decisions.reconsider(memory.world.bob, stands)
      expect(await memory.statusOf(decision_id)).toBe('active')
    }
    memory.refuse('entry')
    const reason = '\u0001'.repeat(10_000)
    const new_decision = { summary: 'B', rationale }
    const { new_decision_id = '' } = await override({ decision_id: first.id, reason, new_decision })
    expect(await fileBytes(new_decision_id)).toBeGreaterThan(500_000)
    memory.mend()
    await memory.later()
    await sweep()
    expect(await memory.read(new_decision_id)).not.toHaveProperty('outbox')
  })

  test('a change that would make the file too large is rejected, and the outbox stays complete', async () => {
    const { id } = await decide({ summary: 'A' })
    memory.refuse('entry')
    const words = () => `理`.repeat(15_000)
    let flagged = 0
    let code = ''
    while (code === '' && flagged < 30) {
      code = await doubt(id, `${flagged} ${words()}`).then(
        () => ((flagged += 1), ''),
        (error: { code: string }) => error.code,
      )
    }
    expect(code).toBe('store_unavailable')
    expect(flagged).toBeGreaterThan(10)
    expect(await fileBytes(id)).toBeLessThan(LIMITS.decision_file_bytes_max)
    expect(await refusedWith(() => override({ decision_id: id, reason: words() }))).toBe('store_unavailable')
    const replaced = override({ decision_id: id, reason: words(), new_decision: 'B' })
    await expect(replaced).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(await memory.kept().list('decision')).toHaveLength(1)
    memory.mend()
    await memory.later()
    expect(await override({ decision_id: id, reason: words(), new_decision: 'B' })).toMatchObject({
      overridden: true,
    })
    const open = await memory.world.blackboard.read(memory.world.bob, {
      entry_types: ['warning'],
      open: false,
      limit: 500,
    })
    expect(open.total_count).toBe(flagged)
  })

  test('a consequence of another change waits until the file has room', async () => {
    const { id } = await decide({ summary: 'A' })
    memory.refuse('entry')
    const room = async () => LIMITS.decision_file_bytes_max - (await fileBytes(id))
    for (let n = 0; n < 100 && (await room()) > 5_000; n += 1)
      await doubt(id, 'x'.repeat(Math.min(16_000, (await room()) - 4_000)))
    for (let n = 0; n < 10 && (await room()) > 900; n += 1) await doubt(id, 'x')
    await decide({ summary: 'B'.repeat(200), supersedes: id })
    expect(await memory.statusOf(id)).toBe('provisional')
    memory.mend()
    await memory.later()
    await sweep()
    await memory.later()
    await sweep()
    expect(await memory.statusOf(id)).toBe('superseded')
    expect(await memory.said({ open: true })).toEqual([])
  })
})

describe('unexpected errors during delivery', () => {
  test.each<[string, (kind: string) => boolean]>([
    ['an entry', (kind) => kind === 'entry'],
    ['a part of the graph', (kind) => kind === 'entity'],
  ])(
    'an unexpected error with %s does not reach the caller, is logged, and is retried',
    async (_, breaks) => {
      memory.trouble = (kind) => (breaks(kind) ? new TypeError('it is no function') : null)
      const { id, status } = await decide({ summary: 'A', affected_files: ['src/a.ts'] })
      expect(status).toBe('active')
      expect(memory.logged).toContainEqual({
        level: 'error',
        message: 'propagation of a decision failed; it will be retried',
      })
      memory.mend()
      await memory.later()
      await sweep()
      expect(await memory.said()).toEqual(['A'])
      expect(await memory.read(id)).not.toHaveProperty('outbox')
    },
  )

  test('an unexpected error with one item does not block the others', async () => {
    memory.trouble = (kind, { summary }) =>
      kind === 'entry' && summary === 'A' ? new TypeError('it is no function') : null
    await decide({ summary: 'A' })
    memory.refuse('entry')
    await decide({ summary: 'B', domain: 'api' })
    memory.trouble = (kind, { summary }) =>
      kind === 'entry' && summary === 'A' ? new TypeError('it is no function') : null
    await memory.later()
    await sweep()
    expect(await memory.said()).toEqual(['B'])
  })

  test('archives that cannot be listed block neither decisions nor the later delivery', async () => {
    memory.refuse('entry')
    await decide({ summary: 'A' })
    await memory.restart()
    memory.mend()
    memory.archives_shut = true
    for (let n = 0; n < 2; n += 1) {
      await memory.another()
      await memory.later()
    }
    expect(await memory.said()).toEqual(['Another', 'Another'])
    expect(memory.logged.filter(({ level }) => level === 'error')).toEqual([])
    memory.archives_shut = false
    await sweep()
    expect(await memory.said()).toContain('A')
  })

  test('an entry that was posted and archived is not posted again after a crash', async () => {
    memory.trouble = (kind, { outbox }) => (kind === 'decision' && outbox === undefined ? 'dies' : null)
    await memory.dieIn(() => decide({ summary: 'A' }))
    const [row] = await memory.kept().list('entry')
    await memory.kept().remove('entry', row?.id ?? '')
    await memory.kept().put('archive/2026-03-01', row?.id ?? '', row?.body ?? {})
    await memory.another()
    expect(await memory.said()).toEqual(['Another'])
  })

  test('a lasting rejection is logged once', async () => {
    memory.refuse('entry')
    await decide({ summary: 'A' })
    for (let n = 0; n < 3; n += 1) {
      await memory.later()
      await sweep()
    }
    expect(memory.logged).toEqual([
      { level: 'warn', message: 'propagation of a decision was rejected; it will be retried' },
    ])
  })
})
