/** The promises of every record store, in the order of `ports/record-store.ts`. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { RecordBody, RecordStore } from '../../src/ports/record-store.ts'

export interface OpenedRecordStore {
  store: RecordStore
  /** Returns the store after a kill; the same store for one that is only in memory. */
  afterKill(): Promise<RecordStore>
}

/** A store whose place another process can take. */
export interface OpenedTakeable extends OpenedRecordStore {
  /** Lets another process take the place during exclusive work. */
  take(): void
}

/** The kinds that the suite uses. A store that has separate places for some kinds runs the suite with each. */
export interface SuiteKinds {
  one: string
  another: string
  odd: string
  empty: string
}

const KINDS: SuiteKinds = { one: 'persona', another: 'project', odd: 'odd kind/..', empty: 'nothing' }

export function describeRecordStore(
  name: string,
  open: () => Promise<OpenedRecordStore>,
  kinds: SuiteKinds = KINDS,
): void {
  describe(`record store: ${name}`, () => {
    let opened: OpenedRecordStore
    let store: RecordStore

    beforeEach(async () => {
      opened = await open()
      store = opened.store
    })

    test('a put record is returned completely, also after a kill', async () => {
      const body = { text: 'ünï "quoted"\n', deep: { list: [1, null, true, []] }, empty: '' }
      await store.put(kinds.one, 'ada', body)
      expect(await store.get(kinds.one, 'ada')).toEqual(body)
      store = await opened.afterKill()
      expect(await store.get(kinds.one, 'ada')).toEqual(body)
      expect(await store.list(kinds.one)).toEqual([{ id: 'ada', body }])
    })

    test('a second put replaces the whole record', async () => {
      await store.put(kinds.one, 'ada', { a: 1, b: 2 })
      await store.put(kinds.one, 'ada', { c: 3 })
      expect(await store.get(kinds.one, 'ada')).toEqual({ c: 3 })
      expect(await store.list(kinds.one)).toHaveLength(1)
    })

    test('calls about one record run in their order', async () => {
      const puts = Array.from({ length: 20 }, (_, count) => store.put(kinds.one, 'ada', { count }))
      const seen = store.get(kinds.one, 'ada')
      const removed = store.remove(kinds.one, 'ada')
      const last = store.put(kinds.one, 'ada', { count: 'last' })
      await Promise.all([...puts, removed, last])
      expect(await seen).toEqual({ count: 19 })
      expect(await store.get(kinds.one, 'ada')).toEqual({ count: 'last' })
    })

    test('a reader sees the old or the new record, never a mixture', async () => {
      const body = (letter: string) => ({ first: letter, text: letter.repeat(50_000), last: letter })
      await store.put(kinds.one, 'ada', body('a'))
      const writes = Promise.all(['b', 'c', 'd'].map((letter) => store.put(kinds.one, 'ada', body(letter))))
      const reads = await Promise.all(Array.from({ length: 10 }, () => store.list(kinds.one)))
      for (const [record] of reads) expect(record?.body['first']).toBe(record?.body['last'])
      await writes
      expect(await store.get(kinds.one, 'ada')).toEqual(body('d'))
    })

    test('a missing record is null, and removing it is not an error', async () => {
      expect(await store.get(kinds.one, 'nobody')).toBeNull()
      expect(await store.list(kinds.empty)).toEqual([])
      await store.remove(kinds.one, 'nobody')
      await store.put(kinds.one, 'ada', {})
      await store.remove(kinds.one, 'ada')
      await store.remove(kinds.one, 'ada')
      expect(await store.get(kinds.one, 'ada')).toBeNull()
      store = await opened.afterKill()
      expect(await store.list(kinds.one)).toEqual([])
    })

    test('kinds are separate, and a list is ordered by id', async () => {
      for (const id of ['carl', 'ada', 'bob']) await store.put(kinds.one, id, { id })
      await store.put(kinds.another, 'ada', { project: true })
      expect((await store.list(kinds.one)).map(({ id }) => id)).toEqual(['ada', 'bob', 'carl'])
      expect(await store.list(kinds.another)).toEqual([{ id: 'ada', body: { project: true } }])
    })

    test('an id may be any text', async () => {
      const ids = [
        '',
        '.',
        '..',
        '../../escape',
        '/root',
        'a/b\\c',
        'a%2Fb',
        '%',
        'con',
        'NUL.txt',
        'trailing.',
        '.hidden',
        'space and "quotes"',
        'ünï 🔔',
        'new\nline',
        'null\u0000byte',
        'x'.repeat(300),
        `${'x'.repeat(299)}y`,
        '🔔'.repeat(100),
        'a.json',
        'a.json.new',
        'a~b',
      ]
      for (const id of ids) await store.put(kinds.odd, id, { id })
      for (const id of ids) expect(await store.get(kinds.odd, id)).toEqual({ id })
      store = await opened.afterKill()
      expect((await store.list(kinds.odd)).map(({ id }) => id)).toEqual(
        [...ids].sort((a, b) => (a < b ? -1 : 1)),
      )
      for (const id of ids) await store.remove(kinds.odd, id)
      expect(await store.list(kinds.odd)).toEqual([])
    })

    test('a returned record may be changed without changing the stored one', async () => {
      const body = { list: [1] }
      await store.put(kinds.one, 'ada', body)
      body.list.push(2)
      const found = (await store.get(kinds.one, 'ada')) as { list: number[] }
      found.list.push(3)
      expect(await store.get(kinds.one, 'ada')).toEqual({ list: [1] })
    })

    test('an unchanged record is listed as the same object, whatever happens to others', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await store.put(kinds.one, id, { id, deep: { list: [1] } })
      const [a, b, , d] = await store.list(kinds.one)
      await store.put(kinds.one, 'b', { id: 'b', deep: { list: [2] } })
      await store.remove(kinds.one, 'c')
      await store.put(kinds.one, 'e', { id: 'e' })
      const outside = await store.list(kinds.one)
      const inside = await store.exclusive(kinds.one, (records) => records.list())
      for (const rows of [outside, inside]) {
        expect(rows.map(({ id }) => id)).toEqual(['a', 'b', 'd', 'e'])
        expect(rows[0]).toBe(a)
        expect(rows[0]?.body).toBe(a?.body)
        expect(rows[2]).toBe(d)
      }
      expect(b?.body).toEqual({ id: 'b', deep: { list: [1] } })
      expect(outside[1]?.body).toEqual({ id: 'b', deep: { list: [2] } })
      const got = await store.get(kinds.one, 'a')
      expect(got).toEqual(a?.body)
      expect(got).not.toBe(a?.body)
    })

    test('concurrent puts are all stored, in the order of the calls for each record', async () => {
      const ids = Array.from({ length: 60 }, (_, count) => `n${String(count).padStart(2, '0')}`)
      const early = ids.map((id) => store.put(kinds.one, id, { id, turn: 'first' }))
      const between = store.exclusive(kinds.one, async (records) => {
        const seen = (await records.list()).map(({ body }) => body['turn'])
        await Promise.all(ids.slice(0, 20).map((id) => records.remove(id)))
        return seen
      })
      const late = ids.slice(10, 30).map((id) => store.put(kinds.one, id, { id, turn: 'second' }))
      const last = store.remove(kinds.one, 'n29')
      await Promise.all([...early, ...late, last])
      expect(await between).toEqual(ids.map(() => 'first'))
      store = await opened.afterKill()
      const expected = ids.slice(10).filter((id) => id !== 'n29')
      const rows = await store.list(kinds.one)
      expect(rows.map(({ id }) => id)).toEqual(expected)
      for (const { id, body } of rows) expect(body).toEqual({ id, turn: id < 'n30' ? 'second' : 'first' })
    })

    test('a record that contains its own kind and id is stored like any other', async () => {
      const bodies: Record<string, RecordBody> = {
        own: { kind: kinds.one, id: 'own', text: 'x' },
        bare: { kind: kinds.one, id: 'bare' },
        tricky: { kind: kinds.one, id: 'tricky', body: { kind: kinds.one, id: 'tricky', body: {} } },
        other: { kind: 'persona', id: 'somebody', body: 'text' },
      }
      for (const [id, body] of Object.entries(bodies)) await store.put(kinds.one, id, body)
      store = await opened.afterKill()
      for (const [id, body] of Object.entries(bodies)) expect(await store.get(kinds.one, id)).toEqual(body)
    })

    test('a quarantined record is gone, and quarantining a missing one is not an error', async () => {
      await store.put(kinds.one, 'ada', { bad: true })
      await store.put(kinds.one, 'bob', { bad: false })
      await store.quarantine(kinds.one, 'ada', 'it is bad')
      await store.quarantine(kinds.one, 'ada', 'it is bad')
      await store.quarantine(kinds.empty, 'ada', 'it is bad')
      expect(await store.get(kinds.one, 'ada')).toBeNull()
      store = await opened.afterKill()
      expect((await store.list(kinds.one)).map(({ id }) => id)).toEqual(['bob'])
    })

    describe('exclusive work', () => {
      const addOne = (to: RecordStore) =>
        to.exclusive(kinds.one, async (records) => {
          const count = Number((await records.get('it'))?.['count'] ?? 0)
          await records.put('it', { count: count + 1 })
          return count + 1
        })

      test('exclusive work reads and writes without other writers', async () => {
        const counts = await Promise.all(Array.from({ length: 20 }, () => addOne(store)))
        expect(counts).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
        store = await opened.afterKill()
        expect(await store.get(kinds.one, 'it')).toEqual({ count: 20 })
      })

      test('exclusive work can make every call about its kind', async () => {
        await store.put(kinds.another, 'ada', {})
        const seen = await store.exclusive(kinds.one, async (records) => {
          await records.put('b', { b: 1 })
          await records.put('a', { a: 1 })
          await records.put('c', {})
          await records.remove('c')
          await records.put('d', {})
          await records.quarantine('d', 'it is bad')
          return [await records.get('a'), await records.get('c'), await records.list()]
        })
        const rows = [
          { id: 'a', body: { a: 1 } },
          { id: 'b', body: { b: 1 } },
        ]
        expect(seen).toEqual([{ a: 1 }, null, rows])
        expect(await store.list(kinds.one)).toEqual(rows)
      })

      test('exclusive work sees its earlier calls without awaiting them', async () => {
        await store.put(kinds.one, 'b', { n: 1 })
        const seen = await store.exclusive(kinds.one, async (records) => {
          const asked = [records.put('a', { n: 1 }), records.put('a', { n: 2 }), records.remove('b')]
          const found = [await records.get('a'), await records.get('b')]
          void records.put('c', { n: 3 })
          return [found, await Promise.all(asked)]
        })
        expect(seen[0]).toEqual([{ n: 2 }, null])
        expect((await store.list(kinds.one)).map(({ id }) => id)).toEqual(['a', 'c'])
      })

      test('exclusive work delays other writes of its kind, but not other kinds or lists', async () => {
        const order: string[] = []
        let outside: Promise<unknown> = Promise.resolve()
        await store.exclusive(kinds.one, async (records) => {
          await records.put('it', { by: 'the work' })
          outside = Promise.all([
            store.put(kinds.one, 'it', { by: 'another' }).then(() => order.push('put')),
            addOne(store).then(() => order.push('next work')),
          ])
          await store.put(kinds.another, 'ada', {})
          expect(await store.list(kinds.one)).toEqual([{ id: 'it', body: { by: 'the work' } }])
          expect(await records.get('it')).toEqual({ by: 'the work' })
          order.push('the work')
        })
        await outside
        expect(order).toEqual(['the work', 'put', 'next work'])
        expect(await store.get(kinds.one, 'it')).toEqual({ count: 1 })
      })

      test('exclusive work that fails rethrows its error, keeps its puts, and lets the next work run', async () => {
        const broken = store.exclusive(kinds.one, async (records) => {
          await records.put('it', { count: 6 })
          throw new Error('broke')
        })
        await expect(broken).rejects.toThrow('broke')
        expect(await addOne(store)).toBe(7)
      })
    })
  })
}

/** Additional promises of a store whose place another process can take. */
export function describeTakenRecordStore(
  name: string,
  open: () => Promise<OpenedTakeable>,
  { one }: Pick<SuiteKinds, 'one'> = KINDS,
): void {
  test(`record store: ${name}, whose place another has taken, refuses every change and makes none`, async () => {
    const opened = await open()
    const { store } = opened
    const rows = ['ada', 'bob', 'carl'].map((id) => ({ id, body: { id, n: 1 } }))
    for (const { id, body } of rows) await store.put(one, id, body)
    const refused = { code: expect.stringMatching(/^store_(fenced|unavailable)$/) as string }
    await store.exclusive(one, async (records) => {
      opened.take()
      await expect(records.put('ada', { id: 'ada', n: 2 })).rejects.toMatchObject(refused)
      await expect(records.put('dora', { id: 'dora', n: 2 })).rejects.toMatchObject(refused)
      await expect(records.remove('bob')).rejects.toMatchObject(refused)
      await expect(records.quarantine('carl', 'it is bad')).rejects.toMatchObject(refused)
    })
    expect(await store.list(one)).toEqual(rows)
  })
}
