import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { createHubRecords } from '../../../../src/modules/lib/hub-records.ts'
import { createTypedRecords, schemaCodec } from '../../../../src/modules/lib/typed-records.ts'
import { openProjects } from '../../../../src/modules/registry/projects.ts'
import type { RecordStore } from '../../../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { createIds } from '../../../../src/system/random.ts'
import { coordinatorWorld } from '../../../support/worlds/coordinator-world.ts'
import { fakeClock, seededRandom } from '../../../support/fakes/fake-clock.ts'
import { AS_WRITTEN } from '../../../support/fakes/fake-path-inspector.ts'

const Fruit = z.strictObject({ name: z.string(), weight: z.number() })
type Fruit = z.infer<typeof Fruit>

/** A store over memory that records quarantined items, and a log that records messages. */
function noting(more: Partial<RecordStore> = {}) {
  const memory = createMemoryRecordStore()
  const quarantined: [string, string, string][] = []
  const messages: string[] = []
  const store: RecordStore = {
    ...memory,
    exclusive: (kind, work) =>
      memory.exclusive(kind, (held) =>
        work({
          ...held,
          quarantine: async (id, reason) => {
            quarantined.push([kind, id, reason])
            await held.quarantine(id, reason)
          },
        }),
      ),
    ...more,
  }
  const note = (_: object, message: string) => void messages.push(message)
  const log = { debug: note, info: note, warn: note, error: note }
  return { store, log, quarantined, messages }
}

const fruits = ({ store, log }: ReturnType<typeof noting>) =>
  createTypedRecords(
    store,
    schemaCodec('fruit', Fruit, ({ name }) => name),
    log,
  )

async function withInvalid(more?: Partial<RecordStore>) {
  const world = noting(more)
  await world.store.put('fruit', 'apple', { name: 'apple', weight: 100 })
  await world.store.put('fruit', 'pear', { name: 'pear', weight: 'heavy' })
  await world.store.put('fruit', 'plum', { name: 'prune', weight: 20 })
  return world
}

describe('a list of typed records', () => {
  test('a list returns the valid records and quarantines the others with the reason', async () => {
    const world = await withInvalid()
    const records = fruits(world)
    expect(await records.list()).toEqual([{ name: 'apple', weight: 100 }])
    expect(world.quarantined).toEqual([
      ['fruit', 'pear', expect.stringContaining('weight')],
      ['fruit', 'plum', 'its id is "prune"'],
    ])
    expect((await world.store.list('fruit')).map(({ id }) => id)).toEqual(['apple'])
  })

  test('invalid records stay in a file that readers must not write, and are logged', async () => {
    const world = await withInvalid({ readersMayWrite: () => false })
    expect(await fruits(world).list()).toHaveLength(1)
    expect(world.quarantined).toEqual([])
    expect(world.messages).toEqual(['invalid records stay in a file that git tracks'])
    expect(await world.store.list('fruit')).toHaveLength(3)
  })

  test('exclusive work leaves invalid records unless it asks for their quarantine', async () => {
    const world = await withInvalid({ readersMayWrite: () => false })
    const records = fruits(world)
    await records.exclusive((held) => held.list())
    expect(world.quarantined).toEqual([])
    await records.exclusive((held) => held.quarantineInvalid())
    expect(world.quarantined).toHaveLength(2)
  })

  test('a quarantine that the store rejects is logged, and the valid records are returned', async () => {
    const world = await withInvalid({
      exclusive: () => Promise.reject(new TurnbellError('store_unavailable', { detail: 'disk full' })),
    })
    expect(await fruits(world).list()).toHaveLength(1)
    expect(world.messages).toEqual(['invalid records could not be quarantined'])
  })

  test('a list returns the same array while nothing has changed', async () => {
    const world = noting()
    const rows = [{ id: 'apple', body: { name: 'apple', weight: 100 } }]
    const records = createTypedRecords(
      { ...world.store, list: async () => rows },
      schemaCodec('fruit', Fruit, ({ name }) => name),
      world.log,
    )
    expect(await records.list()).toBe(await records.list())
  })

  test('a get of an invalid record returns null and leaves it', async () => {
    const world = await withInvalid()
    expect(await fruits(world).get('pear')).toBeNull()
    expect(world.quarantined).toEqual([])
  })
})

describe('records of the hub', () => {
  test.each(['lease', 'blocking', 'subscription', 'persona', 'project'])(
    'an invalid %s is quarantined when a hub starts',
    async (kind) => {
      const { store, quarantined, log } = noting()
      await store.put(kind, 'x', { id: 'x', kind, status: 'held' })
      if (kind === 'project') {
        const clock = fakeClock()
        const ids = createIds(clock, seededRandom(1))
        await openProjects({ records: store, places: AS_WRITTEN, clock, ids, log })
      } else await coordinatorWorld({ records: store })
      expect(quarantined).toEqual([[kind, 'x', expect.any(String)]])
    },
  )

  test('the generation of a hub record grows with every change, also after a restart', async () => {
    const { store, log } = noting()
    const open = () =>
      createHubRecords<Fruit>(
        { records: store, clock: fakeClock(), log },
        {
          kind: 'fruit',
          item: Fruit,
          toRecord: (fruit) => ({
            id: fruit.name,
            status: 'ripe',
            agent_id: 'ada',
            created_at: '2026-03-01T12:00:00.000Z',
            fields: { ...fruit },
          }),
          fromRecord: ({ fields }) => fields,
        },
      )
    const generations = async () => (await store.list('fruit')).map(({ body }) => body['generation'])
    const first = open()
    await first.put({ name: 'apple', weight: 100 })
    await first.put({ name: 'pear', weight: 150 })
    const second = open()
    await second.get('apple')
    await second.put({ name: 'plum', weight: 20 })
    expect(await generations()).toEqual([1, 2, 3])
    expect(await second.list()).toHaveLength(3)
  })
})
