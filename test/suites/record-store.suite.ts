/** What every record store promises, in the order of `ports/record-store.ts`. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { RecordStore } from '../../src/ports/record-store.ts'

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
  })
}
