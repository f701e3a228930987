/**
 * Texts that are cheap to write and expensive to read: deeply nested, or invalid so that they are scanned repeatedly.
 */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { mergeRecords, parseVersions } from '../../../src/storage/file/records/merge-records.ts'
import { conflictMarkerReason } from '../../../src/storage/file/records/conflict-markers.ts'
import { scanObjects } from '../../../src/storage/file/records/lenient-json.ts'
import { createFileRecordStore } from '../../../src/storage/file/records/record-store.ts'
import { parseJsonArray } from '../../../src/storage/file/project/json-array-text.ts'
import { projectFiles } from '../../support/disk/project-files.ts'
import { rejectedIn } from '../../support/disk/rejected-lines.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const DEPTH = LIMITS.json_depth_max
/** Returns this many nested mappings. */
const nested = (depth: number) => `${'{"x":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
/** Returns a record with this total depth. */
const record = (id: string, depth: number) => `{"kind":"issue","id":"${id}","x":${nested(depth - 1)}}`
/** Old enough that it cannot be an unfinished write. */
function writeLongAgo(file: string, text: string): void {
  fs.writeFileSync(file, text)
  fs.utimesSync(file, new Date(), new Date(Date.now() - 5_000))
}
const TOO_DEEP = /^the value is nested more than 64 deep/

describe('a deeply nested record', () => {
  const DEPTHS = [DEPTH + 1, 20_000, 150_000]

  test.each(DEPTHS)(
    'a record %i levels deep is quarantined from a log, and the other lines are unchanged',
    async (depth) => {
      const { store, inside, notices, read } = projectFiles(async () => undefined)
      await store.put('entry', 'a', { id: 'a' })
      const bad = record('deep', depth)
      fs.appendFileSync(inside('blackboard.jsonl'), `${bad}\n{"id":"b"}\n`)
      expect((await store.list('entry')).map(({ id }) => id)).toEqual(['a', 'b'])
      expect(read('blackboard.jsonl')).toBe('{"id":"a"}\n{"id":"b"}\n')
      expect(rejectedIn(inside('rejected/blackboard.jsonl'))).toMatchObject([
        { line: bad, reason: expect.stringMatching(TOO_DEEP) as string },
      ])
      expect(notices).toHaveLength(1)
    },
  )

  test.each(DEPTHS)(
    'a record %i levels deep is quarantined from a table, whatever its neighbours are',
    async (depth) => {
      const bad = record('deep', depth)
      for (const [before, behind] of [
        ['[\n{"id":"a"}\n,', '\n,{"id":"b"}\n]\n'],
        ['[{"id":"a"},', ',{"id":"b"}]'],
      ]) {
        const { store, inside, read } = projectFiles(async () => undefined)
        await store.put('entity', 'a', { id: 'a' })
        writeLongAgo(inside('graph/entities.json'), `${before}${bad}${behind}`)
        expect((await store.list('entity')).map(({ id }) => id)).toEqual(['a', 'b'])
        expect(read('graph/entities.json')).toBe('[\n{"id":"a"}\n,{"id":"b"}\n]\n')
        expect(rejectedIn(inside('rejected/graph/entities.jsonl'))).toMatchObject([
          { line: bad, reason: expect.stringMatching(TOO_DEEP) as string },
        ])
      }
    },
  )

  test.each(DEPTHS)('a record %i levels deep in its own file is quarantined', async (depth) => {
    const { store, inside, read } = projectFiles()
    for (const [kind, folder, rejected] of [
      ['decision', 'decisions', 'rejected/decisions'],
      ['issue', 'records/issue', 'rejected/issue'],
    ] as const) {
      await store.put(kind, 'a', { kind, id: 'a' })
      writeLongAgo(inside(folder, 'deep.json'), record('deep', depth))
      expect(await store.get(kind, 'deep')).toBeNull()
      expect((await store.list(kind)).map(({ id }) => id)).toEqual(['a'])
      expect(read(rejected, 'deep.json.reason')).toMatch(TOO_DEEP)
      expect(read(rejected, 'deep.json')).toBe(record('deep', depth))
    }
  })

  test('a put of a record that is too deep to be read again is rejected', async () => {
    const { store, inside } = projectFiles(async () => undefined)
    const hub = createFileRecordStore({ directory: temporaryDirectory() })
    const body = JSON.parse(record('deep', DEPTH + 1)) as Record<string, never>
    for (const kind of ['entry', 'entity', 'decision', 'issue'])
      await expect(store.put(kind, 'deep', body)).rejects.toMatchObject({ code: 'record_too_large' })
    await expect(hub.put('issue', 'deep', body)).rejects.toMatchObject({ code: 'record_too_large' })
    for (const kind of ['entry', 'entity', 'decision', 'issue']) expect(await store.list(kind)).toEqual([])
    expect(await hub.list('issue')).toEqual([])
    expect(fs.existsSync(inside('rejected'))).toBe(false)
  })

  test('a record with the maximum depth is accepted', async () => {
    const { root, store, inside } = projectFiles(async () => undefined)
    const body = JSON.parse(record('a', DEPTH)) as Record<string, never>
    for (const kind of ['entry', 'entity', 'decision', 'issue']) {
      await store.put(kind, 'a', body)
      expect(await store.list(kind)).toEqual([{ id: 'a', body }])
    }
    const table = fs.readFileSync(inside('graph/entities.json'), 'utf8')
    const [row] = parseJsonArray('entity', Buffer.from(table), null).lines.values()
    expect(row?.row.body).toEqual(body)
    expect(parseJsonArray('entity', Buffer.from(table), null).is_clean).toBe(true)
    expect(fs.existsSync(path.join(root, '.turnbell/rejected'))).toBe(false)
  })
})

/** Would take hours if every part were compared with every other. */
describe('a text with many errors', () => {
  const MANY = 150_000
  const BROKEN: [string, string][] = [
    ['objects that never end', '{"a":[\n'.repeat(MANY)],
    ['objects in each other that never end', '{"a":'.repeat(MANY)],
    ['objects that end, with a mistake in the innermost', `${'{"a":\n'.repeat(MANY)}oops${'}'.repeat(MANY)}`],
    ['texts that never end', '{"a":"\n'.repeat(MANY)],
    ['texts that go on over the end of a line', '{"a":"\\\n'.repeat(MANY)],
    ['a mistake and many empty lines', `{"a":[${'\n'.repeat(MANY)}x`],
    ['a mistake and many blanks', `{"a":[x${' '.repeat(MANY)}y`],
    ['commas', `oops${','.repeat(MANY)}x`],
    ['more ends than objects', '{"a":1}}\n'.repeat(MANY)],
    ['words', 'oops\n{\n'.repeat(MANY)],
  ]
  test.each(BROKEN)('a text with many errors is read in linear time: %s', (_, text) => {
    const { objects, unparsed } = scanObjects(`{"id":"first"}\n${text}`)
    expect(objects[0]).toEqual({ id: 'first' })
    expect(unparsed.length).toBeGreaterThan(0)
    // Everything except the separators is kept.
    const kept = unparsed.reduce((sum, one) => sum + one.text.replaceAll(/[\s,[\]]/g, '').length, 0)
    const said = objects.slice(1).reduce((sum, one) => sum + JSON.stringify(one).length, 0)
    expect(kept + said).toBeGreaterThanOrEqual(text.replaceAll(/[\s,[\]]/g, '').length)
  })

  test('valid objects between unclosed ones are recovered', () => {
    const text = Array.from({ length: 2_000 }, (_, n) => `{"id":"bad${n}","x":{"y":[\n,{"id":"${n}"}\n`).join(
      '',
    )
    const { objects, unparsed } = scanObjects(text)
    expect(objects).toHaveLength(2_000)
    expect(unparsed).toHaveLength(2_000)
  })

  test('a merge conflict with many objects without an id is merged', () => {
    const rows = Array.from({ length: 50_000 }, (_, n) => `{"name":"n${n}","type":"file"}`)
    const twice = `[${[...rows, ...rows.map((row) => row.replace(/\{(.*),(.*)\}/, '{$2,$1}'))].join('\n,')} oops]`
    expect(parseJsonArray('entity', Buffer.from(twice), null).without_id).toHaveLength(rows.length)
  })

  test('an object with many nested ids is read in linear time', () => {
    const shared = Array.from({ length: 20_000 }, (_, n) => `"k${n}":1`)
    const ids = Array.from({ length: 20_000 }, (_, n) => `"id":"${n}"`)
    for (const fields of [
      [...shared, ...ids],
      [...ids, ...shared],
    ]) {
      const text = `{${fields.join(',')}}`
      expect(scanObjects(text)).toMatchObject({ objects: [], unparsed: [{ text }] })
    }
    expect(scanObjects(`{${ids.join(',')},"type":"file"}`).objects).toHaveLength(ids.length)
  })

  test('objects that repeat one id are merged partly, and the rest is quarantined', () => {
    const rows = Array.from({ length: 30_000 }, (_, n) => `{"id":"a","list":["${n}"]}`)
    const { lines, unparsed } = parseJsonArray('entity', Buffer.from(`[${rows.join('\n,')}]`), null)
    const list = lines.get('a')?.row.body['list'] as string[]
    expect(list.length).toBeGreaterThan(1)
    expect(unparsed).toHaveLength(rows.length - list.length)
    expect(unparsed[0]?.reason).toMatch(/have the same id/)
  })

  test('a long list with a merge conflict is merged', () => {
    const list = (word: string) => Array.from({ length: 60_000 }, (_, n) => `${word}${n}`)
    const [ours, theirs] = [{ list: ['x', ...list('a')] }, { list: ['x', ...list('b')] }]
    expect((mergeRecords('decision', ours, theirs)['list'] as string[]).length).toBe(120_001)
    const text = `{\n<<<<<<< ours\n"list": ${JSON.stringify(ours.list)}\n=======\n"list": ${JSON.stringify(theirs.list)}\n>>>>>>> theirs\n}`
    expect(parseVersions(text)?.reduce((some, other) => mergeRecords('decision', some, other))).toEqual({
      list: ['x', ...list('a'), ...list('b')],
    })
  })

  test('a text that starts like a conflict marker and continues with spaces is read', () => {
    expect(conflictMarkerReason(`<<<<<<< ${' '.repeat(MANY)}\rx`)).toMatch(/merge/)
    expect(conflictMarkerReason(`=======${' '.repeat(MANY)}x`)).toBeNull()
  })
})

test('a table with an implausible size is neither read nor written', async () => {
  const { store, inside } = projectFiles(async () => undefined)
  await store.put('entity', 'a', { id: 'a' })
  const file = inside('graph/entities.json')
  const refused = {
    code: 'store_unavailable',
    detail: expect.stringContaining(`${file} is larger`) as string,
  }
  const large = Array.from(
    { length: 18 },
    (_, n) => [`b${n}`, { id: `b${n}`, text: 'x'.repeat(999_000) }] as const,
  )
  await expect(Promise.all(large.map(([id, body]) => store.put('entity', id, body)))).rejects.toMatchObject(
    refused,
  )
  expect(await store.list('entity')).toEqual([{ id: 'a', body: { id: 'a' } }])
  fs.truncateSync(file, LIMITS.table_bytes_max + 1)
  await expect(store.list('entity')).rejects.toMatchObject(refused)
  await expect(store.put('entity', 'c', { id: 'c' })).rejects.toMatchObject(refused)
  expect(fs.statSync(file).size).toBe(LIMITS.table_bytes_max + 1)
})
