/** What every record store promises, in the order of `ports/record-store.ts`. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { RecordBody, RecordStore } from '../../src/ports/record-store.ts'

export interface OpenedRecordStore {
  store: RecordStore
  /** What is there after the process was killed; itself, where nothing survives. */
  afterKill(): Promise<RecordStore>
}

/** Of a store whose place another process can take. */
export interface OpenedTakeable extends OpenedRecordStore {
  /** Does so, while exclusive work is being done. */
  take(): void
}

/** The kinds that the suite uses: where a store keeps some of them in places of their own, it is run with each. */
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

    test('a record that was put is there, with all it says, also after a kill', async () => {
      const body = { text: 'ünï "quoted"\n', deep: { list: [1, null, true, []] }, empty: '' }
      await store.put(kinds.one, 'ada', body)
      expect(await store.get(kinds.one, 'ada')).toEqual(body)
      store = await opened.afterKill()
      expect(await store.get(kinds.one, 'ada')).toEqual(body)
      expect(await store.list(kinds.one)).toEqual([{ id: 'ada', body }])
    })

    test('putting again replaces the whole record', async () => {
      await store.put(kinds.one, 'ada', { a: 1, b: 2 })
      await store.put(kinds.one, 'ada', { c: 3 })
      expect(await store.get(kinds.one, 'ada')).toEqual({ c: 3 })
      expect(await store.list(kinds.one)).toHaveLength(1)
    })

    test('what is done to one record is done in the order of the calls', async () => {
      const puts = Array.from({ length: 20 }, (_, count) => store.put(kinds.one, 'ada', { count }))
      const seen = store.get(kinds.one, 'ada')
      const removed = store.remove(kinds.one, 'ada')
      const last = store.put(kinds.one, 'ada', { count: 'last' })
      await Promise.all([...puts, removed, last])
      expect(await seen).toEqual({ count: 19 })
      expect(await store.get(kinds.one, 'ada')).toEqual({ count: 'last' })
    })

    test('a reader sees the old one or the new one, never a mixture', async () => {
      const body = (letter: string) => ({ first: letter, text: letter.repeat(50_000), last: letter })
      await store.put(kinds.one, 'ada', body('a'))
      const writes = Promise.all(['b', 'c', 'd'].map((letter) => store.put(kinds.one, 'ada', body(letter))))
      const reads = await Promise.all(Array.from({ length: 10 }, () => store.list(kinds.one)))
      for (const [record] of reads) expect(record?.body['first']).toBe(record?.body['last'])
      await writes
      expect(await store.get(kinds.one, 'ada')).toEqual(body('d'))
    })

    test('what is not there is null, and removing it is no error', async () => {
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

    test('kinds are kept apart, and a list is ordered by id', async () => {
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

    test('an answer may be changed without changing what is kept', async () => {
      const body = { list: [1] }
      await store.put(kinds.one, 'ada', body)
      body.list.push(2)
      const found = (await store.get(kinds.one, 'ada')) as { list: number[] }
      found.list.push(3)
      expect(await store.get(kinds.one, 'ada')).toEqual({ list: [1] })
    })

    test('a record that has not changed is listed as the very same object, whatever is done to others', async () => {
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

    test('what many ask for at once is all there, in the order of the calls for each record', async () => {
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

    test('a record that says its own kind and id is kept as any other', async () => {
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

    test('what is set aside is there no more, and setting aside what is not there is no error', async () => {
      await store.put(kinds.one, 'ada', { bad: true })
      await store.put(kinds.one, 'bob', { bad: false })
      await store.setAside(kinds.one, 'ada', 'it is bad')
      await store.setAside(kinds.one, 'ada', 'it is bad')
      await store.setAside(kinds.empty, 'ada', 'it is bad')
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

      test('reads and then writes while nobody else does', async () => {
        const counts = await Promise.all(Array.from({ length: 20 }, () => addOne(store)))
        expect(counts).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
        store = await opened.afterKill()
        expect(await store.get(kinds.one, 'it')).toEqual({ count: 20 })
      })

      test('has all that a store can do with its kind', async () => {
        await store.put(kinds.another, 'ada', {})
        const seen = await store.exclusive(kinds.one, async (records) => {
          await records.put('b', { b: 1 })
          await records.put('a', { a: 1 })
          await records.put('c', {})
          await records.remove('c')
          await records.put('d', {})
          await records.setAside('d', 'it is bad')
          return [await records.get('a'), await records.get('c'), await records.list()]
        })
        const rows = [
          { id: 'a', body: { a: 1 } },
          { id: 'b', body: { b: 1 } },
        ]
        expect(seen).toEqual([{ a: 1 }, null, rows])
        expect(await store.list(kinds.one)).toEqual(rows)
      })

      test('sees what it asked for before, though it did not wait for that', async () => {
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

      test('keeps writes from outside waiting, but not those of other kinds nor a list', async () => {
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

      test('that breaks hands its error on, keeps what it had put, and lets the next one go', async () => {
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

/** Beside the others, where another process can take the place. */
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
      await expect(records.setAside('carl', 'it is bad')).rejects.toMatchObject(refused)
    })
    expect(await store.list(one)).toEqual(rows)
  })
}
