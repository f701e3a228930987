/** What every record store promises, in the order of `ports/record-store.ts`. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { RecordBody, RecordStore } from '../../src/ports/record-store.ts'

export interface OpenedRecordStore {
  store: RecordStore
  /** What is there after the process was killed; itself, where nothing survives. */
  afterKill(): Promise<RecordStore>
}

export function describeRecordStore(name: string, open: () => Promise<OpenedRecordStore>): void {
  describe(`record store: ${name}`, () => {
    let opened: OpenedRecordStore
    let store: RecordStore

    beforeEach(async () => {
      opened = await open()
      store = opened.store
    })

    test('a record that was put is there, with all it says, also after a kill', async () => {
      const body = { text: 'ünï "quoted"\n', deep: { list: [1, null, true, []] }, empty: '' }
      await store.put('persona', 'ada', body)
      expect(await store.get('persona', 'ada')).toEqual(body)
      store = await opened.afterKill()
      expect(await store.get('persona', 'ada')).toEqual(body)
      expect(await store.list('persona')).toEqual([{ id: 'ada', body }])
    })

    test('putting again replaces the whole record', async () => {
      await store.put('persona', 'ada', { a: 1, b: 2 })
      await store.put('persona', 'ada', { c: 3 })
      expect(await store.get('persona', 'ada')).toEqual({ c: 3 })
      expect(await store.list('persona')).toHaveLength(1)
    })

    test('what is done to one record is done in the order of the calls', async () => {
      const puts = Array.from({ length: 20 }, (_, count) => store.put('persona', 'ada', { count }))
      const seen = store.get('persona', 'ada')
      const removed = store.remove('persona', 'ada')
      const last = store.put('persona', 'ada', { count: 'last' })
      await Promise.all([...puts, removed, last])
      expect(await seen).toEqual({ count: 19 })
      expect(await store.get('persona', 'ada')).toEqual({ count: 'last' })
    })

    test('a reader sees the old one or the new one, never a mixture', async () => {
      const body = (letter: string) => ({ first: letter, text: letter.repeat(50_000), last: letter })
      await store.put('persona', 'ada', body('a'))
      const writes = Promise.all(['b', 'c', 'd'].map((letter) => store.put('persona', 'ada', body(letter))))
      const reads = await Promise.all(Array.from({ length: 10 }, () => store.list('persona')))
      for (const [record] of reads) expect(record?.body['first']).toBe(record?.body['last'])
      await writes
      expect(await store.get('persona', 'ada')).toEqual(body('d'))
    })

    test('what is not there is null, and removing it is no error', async () => {
      expect(await store.get('persona', 'nobody')).toBeNull()
      expect(await store.list('nothing')).toEqual([])
      await store.remove('persona', 'nobody')
      await store.put('persona', 'ada', {})
      await store.remove('persona', 'ada')
      await store.remove('persona', 'ada')
      expect(await store.get('persona', 'ada')).toBeNull()
      store = await opened.afterKill()
      expect(await store.list('persona')).toEqual([])
    })

    test('kinds are kept apart, and a list is ordered by id', async () => {
      for (const id of ['carl', 'ada', 'bob']) await store.put('persona', id, { id })
      await store.put('project', 'ada', { project: true })
      expect((await store.list('persona')).map(({ id }) => id)).toEqual(['ada', 'bob', 'carl'])
      expect(await store.list('project')).toEqual([{ id: 'ada', body: { project: true } }])
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
      for (const id of ids) await store.put('odd kind/..', id, { id })
      for (const id of ids) expect(await store.get('odd kind/..', id)).toEqual({ id })
      store = await opened.afterKill()
      expect((await store.list('odd kind/..')).map(({ id }) => id)).toEqual(
        [...ids].sort((a, b) => (a < b ? -1 : 1)),
      )
      for (const id of ids) await store.remove('odd kind/..', id)
      expect(await store.list('odd kind/..')).toEqual([])
    })

    test('an answer may be changed without changing what is kept', async () => {
      const body = { list: [1] }
      await store.put('persona', 'ada', body)
      body.list.push(2)
      const found = (await store.get('persona', 'ada')) as { list: number[] }
      found.list.push(3)
      expect(await store.get('persona', 'ada')).toEqual({ list: [1] })
    })

    test('a record that says its own kind and id is kept as any other', async () => {
      const bodies: Record<string, RecordBody> = {
        own: { kind: 'issue', id: 'own', text: 'x' },
        bare: { kind: 'issue', id: 'bare' },
        tricky: { kind: 'issue', id: 'tricky', body: { kind: 'issue', id: 'tricky', body: {} } },
        other: { kind: 'persona', id: 'somebody', body: 'text' },
      }
      for (const [id, body] of Object.entries(bodies)) await store.put('issue', id, body)
      store = await opened.afterKill()
      for (const [id, body] of Object.entries(bodies)) expect(await store.get('issue', id)).toEqual(body)
    })

    test('what is set aside is there no more, and setting aside what is not there is no error', async () => {
      await store.put('persona', 'ada', { bad: true })
      await store.put('persona', 'bob', { bad: false })
      await store.setAside('persona', 'ada', 'it is bad')
      await store.setAside('persona', 'ada', 'it is bad')
      await store.setAside('nothing', 'ada', 'it is bad')
      expect(await store.get('persona', 'ada')).toBeNull()
      store = await opened.afterKill()
      expect((await store.list('persona')).map(({ id }) => id)).toEqual(['bob'])
    })

    describe('exclusive work', () => {
      const addOne = (to: RecordStore) =>
        to.exclusive('counter', async (records) => {
          const count = Number((await records.get('it'))?.['count'] ?? 0)
          await records.put('it', { count: count + 1 })
          return count + 1
        })

      test('reads and then writes while nobody else does', async () => {
        const counts = await Promise.all(Array.from({ length: 20 }, () => addOne(store)))
        expect(counts).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
        store = await opened.afterKill()
        expect(await store.get('counter', 'it')).toEqual({ count: 20 })
      })

      test('has all that a store can do with its kind', async () => {
        await store.put('persona', 'ada', {})
        const seen = await store.exclusive('counter', async (records) => {
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
        expect(await store.list('counter')).toEqual(rows)
      })

      test('keeps writes from outside waiting, but not those of other kinds nor a list', async () => {
        const order: string[] = []
        let outside: Promise<unknown> = Promise.resolve()
        await store.exclusive('counter', async (records) => {
          await records.put('it', { by: 'the work' })
          outside = Promise.all([
            store.put('counter', 'it', { by: 'another' }).then(() => order.push('put')),
            addOne(store).then(() => order.push('next work')),
          ])
          await store.put('persona', 'ada', {})
          expect(await store.list('counter')).toEqual([{ id: 'it', body: { by: 'the work' } }])
          expect(await records.get('it')).toEqual({ by: 'the work' })
          order.push('the work')
        })
        await outside
        expect(order).toEqual(['the work', 'put', 'next work'])
        expect(await store.get('counter', 'it')).toEqual({ count: 1 })
      })

      test('that breaks hands its error on, keeps what it had put, and lets the next one go', async () => {
        const broken = store.exclusive('counter', async (records) => {
          await records.put('it', { count: 6 })
          throw new Error('broke')
        })
        await expect(broken).rejects.toThrow('broke')
        expect(await addOne(store)).toBe(7)
      })
    })
  })
}
