/** Texts that cost nothing to write and much to read: nested without end, or broken so that all is looked at again. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { joined, versionsIn } from '../../../src/storage/file/both-sides.ts'
import { markOfMerge } from '../../../src/storage/file/merge-marks.ts'
import { scanObjects } from '../../../src/storage/file/object-scan.ts'
import { createFileRecordStore } from '../../../src/storage/file/record-store.ts'
import { readTable } from '../../../src/storage/file/table-text.ts'
import { projectFiles } from '../../support/project-files.ts'
import { rejectedIn } from '../../support/rejected-lines.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const DEPTH = LIMITS.json_depth_max
/** So many mappings in each other. */
const nested = (depth: number) => `${'{"x":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
/** A record that is nested so deep altogether. */
const record = (id: string, depth: number) => `{"kind":"issue","id":"${id}","x":${nested(depth - 1)}}`
/** So that nobody can be in the middle of it. */
function writeLongAgo(file: string, text: string): void {
  fs.writeFileSync(file, text)
  fs.utimesSync(file, new Date(), new Date(Date.now() - 5_000))
}
const TOO_DEEP = /^it is nested more than 64 deep/

describe('a record that is nested without end', () => {
  const DEPTHS = [DEPTH + 1, 20_000, 150_000]

  test.each(DEPTHS)('%i deep is set aside from a log, and the rest is as it was', async (depth) => {
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
  })

  test.each(DEPTHS)('%i deep is set aside from a table, whatever stands beside it', async (depth) => {
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
  })

  test.each(DEPTHS)('%i deep is set aside where it is a file of its own', async (depth) => {
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

  test('is refused where it is put, for nobody would read it again', async () => {
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

  test('is taken as any other where it is as deep as it may be', async () => {
    const { root, store, inside } = projectFiles(async () => undefined)
    const body = JSON.parse(record('a', DEPTH)) as Record<string, never>
    for (const kind of ['entry', 'entity', 'decision', 'issue']) {
      await store.put(kind, 'a', body)
      expect(await store.list(kind)).toEqual([{ id: 'a', body }])
    }
    const table = fs.readFileSync(inside('graph/entities.json'), 'utf8')
    const [row] = readTable('entity', Buffer.from(table), null).lines.values()
    expect(row?.row.body).toEqual(body)
    expect(readTable('entity', Buffer.from(table), null).good).toBe(true)
    expect(fs.existsSync(path.join(root, '.turnbell/rejected'))).toBe(false)
  })
})

/** What would take hours where every part of it were compared with, or looked at together with, every other. */
describe('a text that is broken all over', () => {
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
  test.each(BROKEN)('is read in one go: %s', (_, text) => {
    const { objects, left_over } = scanObjects(`{"id":"first"}\n${text}`)
    expect(objects[0]).toEqual({ id: 'first' })
    expect(left_over.length).toBeGreaterThan(0)
    // Nothing of it is lost but what divides it.
    const kept = left_over.reduce((sum, one) => sum + one.text.replaceAll(/[\s,[\]]/g, '').length, 0)
    const said = objects.slice(1).reduce((sum, one) => sum + JSON.stringify(one).length, 0)
    expect(kept + said).toBeGreaterThanOrEqual(text.replaceAll(/[\s,[\]]/g, '').length)
  })

  test('gives back what is sound between objects that never end', () => {
    const text = Array.from({ length: 2_000 }, (_, n) => `{"id":"bad${n}","x":{"y":[\n,{"id":"${n}"}\n`).join(
      '',
    )
    const { objects, left_over } = scanObjects(text)
    expect(objects).toHaveLength(2_000)
    expect(left_over).toHaveLength(2_000)
  })

  test('is put together from two sides, however many say no id', () => {
    const rows = Array.from({ length: 50_000 }, (_, n) => `{"name":"n${n}","type":"file"}`)
    const twice = `[${[...rows, ...rows.map((row) => row.replace(/\{(.*),(.*)\}/, '{$2,$1}'))].join('\n,')} oops]`
    expect(readTable('entity', Buffer.from(twice), null).nameless).toHaveLength(rows.length)
  })

  test('is one object that says many ids, each of which would say all the others say', () => {
    const shared = Array.from({ length: 20_000 }, (_, n) => `"k${n}":1`)
    const ids = Array.from({ length: 20_000 }, (_, n) => `"id":"${n}"`)
    for (const fields of [
      [...shared, ...ids],
      [...ids, ...shared],
    ]) {
      const text = `{${fields.join(',')}}`
      expect(scanObjects(text)).toMatchObject({ objects: [], left_over: [{ text }] })
    }
    expect(scanObjects(`{${ids.join(',')},"type":"file"}`).objects).toHaveLength(ids.length)
  })

  test('says one id again and again: some are put together, the rest is set aside', () => {
    const rows = Array.from({ length: 30_000 }, (_, n) => `{"id":"a","list":["${n}"]}`)
    const { lines, left_over } = readTable('entity', Buffer.from(`[${rows.join('\n,')}]`), null)
    const list = lines.get('a')?.row.body['list'] as string[]
    expect(list.length).toBeGreaterThan(1)
    expect(left_over).toHaveLength(rows.length - list.length)
    expect(left_over[0]?.reason).toMatch(/say the same id/)
  })

  test('is a list that two branches have made long', () => {
    const list = (word: string) => Array.from({ length: 60_000 }, (_, n) => `${word}${n}`)
    const [ours, theirs] = [{ list: ['x', ...list('a')] }, { list: ['x', ...list('b')] }]
    expect((joined('decision', ours, theirs)['list'] as string[]).length).toBe(120_001)
    const text = `{\n<<<<<<< ours\n"list": ${JSON.stringify(ours.list)}\n=======\n"list": ${JSON.stringify(theirs.list)}\n>>>>>>> theirs\n}`
    expect(versionsIn(text)?.reduce((some, other) => joined('decision', some, other))).toEqual({
      list: ['x', ...list('a'), ...list('b')],
    })
  })

  test('begins like the mark of a merge, and goes on with blanks', () => {
    expect(markOfMerge(`<<<<<<< ${' '.repeat(MANY)}\rx`)).toMatch(/merge/)
    expect(markOfMerge(`=======${' '.repeat(MANY)}x`)).toBeNull()
  })
})

test('a table that nobody can have meant is not read, nor made', async () => {
  const { store, inside } = projectFiles(async () => undefined)
  await store.put('entity', 'a', { id: 'a' })
  const file = inside('graph/entities.json')
  const refused = { code: 'store_unavailable', detail: expect.stringContaining(`${file} has more`) as string }
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
