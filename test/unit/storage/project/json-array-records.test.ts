/** Tests entities as one JSON array in one file, which people, git and other processes also edit. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProjectRecords } from '../../../../src/storage/file/project/project-records.ts'
import { eventually } from '../../../support/eventually.ts'
import { projectFiles } from '../../../support/disk/project-files.ts'
import { rejectedIn } from '../../../support/disk/rejected-lines.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

function graph({
  pause = async () => undefined,
  newId,
}: { pause?: (ms: number) => Promise<unknown>; newId?: () => string } = {}) {
  const project = projectFiles(pause, newId)
  const file = project.inside('graph', 'entities.json')
  /** Written by another program a while ago. */
  const write = (text: string) => {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
    fs.utimesSync(file, new Date(), new Date(Date.now() - 5_000))
  }
  return {
    ...{ ...project, file, write },
    add: (id: string, fields: object = {}) => project.store.put('entity', id, { id, ...fields }),
    text: () => fs.readFileSync(file, 'utf8'),
    ids: async () => (await project.store.list('entity')).map(({ id }) => id),
    rejected: () => rejectedIn(project.inside('rejected', 'graph', 'entities.jsonl')),
  }
}

const table = (...records: object[]) => `[\n${records.map((one) => JSON.stringify(one)).join('\n,')}\n]\n`

describe('the text of a table', () => {
  test('a table is one JSON array ordered by id, one record per line', async () => {
    const { add, text, store } = graph()
    await add('b', { name: 'two' })
    await add('a', { name: 'one\nline' })
    await store.put('entity', 'c', { name: 'does not say its id' })
    expect(text()).toBe(
      `[\n{"id":"a","name":"one\\nline"}\n,{"id":"b","name":"two"}\n,{"kind":"entity","id":"c","body":{"name":"does not say its id"}}\n]\n`,
    )
    expect(JSON.parse(text())).toHaveLength(3)
    for (const id of ['a', 'b', 'c']) await store.remove('entity', id)
    expect(text()).toBe('[]\n')
  })

  test('a change of one record changes one line, and tables are separate files', async () => {
    const { add, text, store, inside } = graph()
    await Promise.all(['a', 'b', 'c'].map((id) => add(id, { n: 1 })))
    const before = text().split('\n')
    await add('b', { n: 2 })
    await store.put('relation', 'a-b', { id: 'a-b' })
    const after = text().split('\n')
    expect(after.filter((line, at) => line !== before[at])).toEqual([',{"id":"b","n":2}'])
    expect(JSON.parse(fs.readFileSync(inside('graph', 'relations.json'), 'utf8'))).toEqual([{ id: 'a-b' }])
  })

  test('concurrent changes of a table share one write', async () => {
    const { root, add, file } = graph()
    await add('first')
    let seen = 0
    const watcher = fs.watch(path.dirname(file), (_, name) => {
      if (name === 'entities.json') seen += 1
    })
    await Promise.all(Array.from({ length: 100 }, (_, n) => add(`n${n}`)))
    await openProjectRecords({ root }).put('relation', 'last', {})
    await eventually('the watcher has heard of the writes', () => seen > 0)
    watcher.close()
    expect(seen).toBeLessThan(10)
  })

  test('a table rejects a record that is too large to be read', async () => {
    const { add, ids } = graph()
    await expect(add('a', { text: 'x'.repeat(1024 * 1024) })).rejects.toMatchObject({
      code: 'record_too_large',
    })
    await add('b')
    expect(await ids()).toEqual(['b'])
  })
})

describe('changes of a table by other programs', () => {
  test('a changed table is read at the next call in any layout, and not rewritten', async () => {
    const { add, write, text, ids, store } = graph()
    await add('a', { n: 1 })
    const pretty = JSON.stringify([{ id: 'b' }, { id: 'a', n: 2 }], null, 2)
    for (const written of [pretty, `\uFEFF${pretty}\r\n`, pretty.replaceAll('\n', '\r\n')]) {
      write(written)
      expect(await ids()).toEqual(['a', 'b'])
      expect(await store.get('entity', 'a')).toEqual({ id: 'a', n: 2 })
      expect(text()).toBe(written)
    }
    for (const n of [3, 4, 5]) {
      write(table({ id: 'a', n }))
      expect(await store.list('entity')).toEqual([{ id: 'a', body: { id: 'a', n } }])
    }
    await add('c')
    expect(text()).toBe(table({ id: 'a', n: 5 }, { id: 'c' }))
    write('')
    expect(await ids()).toEqual([])
  })

  test('a change of one record keeps the rows of all others the same objects', async () => {
    const { add, write, store } = graph()
    await Promise.all(['a', 'b', 'c'].map((id) => add(id, { n: 1, deep: { list: [1] } })))
    const [a, b, c] = await store.list('entity')
    const records = [
      { deep: { list: [1] }, n: 1, id: 'a' },
      { id: 'b', n: 2 },
      { id: 'c', n: 1, deep: { list: [1] } },
    ]
    write(JSON.stringify(records, null, 1))
    const rows = await store.list('entity')
    expect(rows[0]).toBe(a)
    expect(rows[1]).not.toBe(b)
    expect(rows[2]).toBe(c)
    await eventually(
      'the clock has gone on',
      async () => (await store.list('entity')) === (await store.list('entity')),
    )
  })

  test('the later version counts if an id occurs twice', async () => {
    const { write, store, rejected } = graph()
    write(
      table(
        { id: 'a', n: 1, updated_at: '2026-02-02T00:00:00.000Z' },
        { id: 'a', n: 2, updated_at: '2026-01-01T00:00:00.000Z' },
        { id: 'b', n: 1, created_at: '2026-01-01T00:00:00.000Z' },
        { id: 'b', n: 2, created_at: '2026-02-02T00:00:00.000Z' },
        { id: 'c', n: 1 },
        { id: 'c', n: 2 },
      ),
    )
    expect((await store.list('entity')).map(({ body }) => body['n'])).toEqual([1, 2, 2])
    expect(rejected()).toEqual([])
  })

  const A = { id: 'a', name: 'a', deep: { id: 'inner', list: [{ id: 'x' }] } }
  const B = { id: 'b', name: 'braces } ] { [ , "quoted" \\ <<<<<<< HEAD' }
  const C = { id: 'c', name: 'c' }
  const lines = (...records: object[]) => records.map((one) => JSON.stringify(one))
  const pretty = (one: object) => JSON.stringify(one, null, 2).replaceAll(/^/gm, '  ')

  const MERGED: [string, string][] = [
    ['a missing comma', `[\n${lines(A, B, C).join('\n')}\n]\n`],
    ['commas too many', `[\n,${lines(A, B, C).join(',\n,')},\n]\n`],
    ['no brackets', `${lines(A, B, C).join('\n')}\n`],
    ['brackets twice', `${table(A, B)}${table(A, C)}`],
    ['an end too early', `[\n${lines(A)[0]}\n]\n,${lines(B, C).join('\n,')}\n]\n`],
    [
      'a conflict',
      `[\n${lines(A)[0]}\n<<<<<<< HEAD\n,${lines(B)[0]}\n=======\n,${lines(C)[0]}\n>>>>>>> theirs\n]\n`,
    ],
    [
      'a conflict with what both came from',
      `[\n<<<<<<< HEAD\n${lines(A, B).join('\n,')}\n||||||| 123\n${JSON.stringify({ ...A, old: true })}\n=======\n${lines(A, C).join('\n,')}\n>>>>>>> theirs\n]\n`,
    ],
    [
      'marks that were half taken out',
      `[\n${lines(A)[0]}\n,${lines(B)[0]}\n=======\n,${lines(C)[0]}\n>>>>>>> theirs\n]\n`,
    ],
    [
      'a conflict within records of several lines',
      `[\n${pretty(A)},\n  {\n<<<<<<< HEAD\n${pretty(B).split('\n').slice(1, -1).join('\n')}\n=======\n${pretty(C).split('\n').slice(1, -1).join('\n')}\n>>>>>>> theirs\n  }\n]\n`,
    ],
    ['records of several lines without commas', `[\n${[A, B, C].map(pretty).join('\n')}\n]\n`],
    ['another mark in front and ends of lines', `\uFEFF[\r\n${lines(A, B, C).join('\r\n')}\r\n]\r\n`],
  ]

  test.each(MERGED)(
    'a table after a merge with %s is complete, and is rewritten in good form',
    async (_, text) => {
      const { write, text: now, store, rejected, add } = graph()
      write(text)
      expect((await store.list('entity')).map(({ body }) => body)).toEqual([A, B, C])
      expect(now()).toBe(table(A, B, C))
      expect(rejected()).toEqual([])
      write(text)
      await add('d')
      expect(now()).toBe(table(A, B, C, { id: 'd' }))
    },
  )

  test('two records that a merge by lines joined are both read', async () => {
    const { write, store, rejected, text } = graph()
    write(
      '[\n  {\n    "id": "b",\n    "name": "b",\n    "id": "c",\n    "name": "c",\n    "type": "concept"\n  }\n]\n',
    )
    expect((await store.list('entity')).map(({ body }) => body)).toEqual([
      { id: 'b', name: 'b', type: 'concept' },
      { id: 'c', name: 'c', type: 'concept' },
    ])
    expect(rejected()).toMatchObject([{ reason: expect.stringContaining('several ids') as string }])
    expect(JSON.parse(text())).toHaveLength(2)
    // Without the comma after the last one of a side.
    write('[\n  {\n    "id": "b",\n    "n": 1\n    "id": "c",\n    "n": -2.5e3\n  }\n]\n')
    expect((await store.list('entity')).map(({ body }) => body)).toEqual([
      { id: 'b', n: 1 },
      { id: 'c', n: -2500 },
    ])
  })

  const BROKEN: [string, string, RegExp][] = [
    ['a torn record', '{"id":"x","name":"to', /not a JSON object/],
    ['a brace too few', '{"id":"x","deep":{"n":1}', /not a JSON object/],
    ['words', 'remember the milk', /not a JSON object/],
    ['a number that would be rounded', '{"id":"x","n":9007199254740993}', /^n: 9007199254740993 is beyond/],
    ['a number', '17', /not a JSON object/],
    ['an id that is no text', '{"id":17}', /id is not a string/],
    ['no id where nobody can give one', '{"name":"by hand"}', /has no id/],
    ['more than a record may have', JSON.stringify({ id: 'x', text: 'x'.repeat(1024 * 1024) }), /larger/],
  ]
  test.each(BROKEN)(
    'an invalid part of a table is quarantined with the reason if it is %s, and the rest is unchanged',
    async (_, bad, reason) => {
      const { write, ids, rejected, text, notices, add } = graph()
      const written = `[\n{"id":"a"}\n,${bad}\n,{"id":"b"}\n]\n`
      write(written)
      expect(await ids()).toEqual(['a', 'b'])
      expect(text()).toBe(table({ id: 'a' }, { id: 'b' }))
      expect(rejected()).toMatchObject([{ line: bad, reason: expect.stringMatching(reason) as string }])
      expect(notices).toHaveLength(1)
      write(written)
      await add('c')
      expect(text()).toBe(table({ id: 'a' }, { id: 'b' }, { id: 'c' }))
      expect(rejected()).toHaveLength(2)
    },
  )

  test('a record without an id gets one and keeps it', async () => {
    const { root, write, text, ids, rejected } = graph({ newId: () => 'new' })
    write('[{"name":"by hand"},{"id":"a"}]')
    expect(await ids()).toEqual(['a', 'new'])
    expect(text()).toBe(table({ id: 'a' }, { id: 'new', name: 'by hand' }))
    expect(await openProjectRecords({ root }).list('entity')).toHaveLength(2)
    expect(rejected()).toEqual([])
  })

  test('a partially written table is waited for, also by a put', async () => {
    const whole = table({ id: 'a' }, { id: 'b' })
    let left = whole
    const { file, add, ids, rejected, store } = graph({
      pause: async () => {
        fs.writeFileSync(file, left)
      },
    })
    await add('a')
    fs.writeFileSync(file, whole.slice(0, 10))
    expect(await ids()).toEqual(['a', 'b'])
    fs.writeFileSync(file, '')
    expect(await store.get('entity', 'b')).toEqual({ id: 'b' })
    left = table({ id: 'a' }, { id: 'b' }, { id: 'c' })
    fs.writeFileSync(file, left.slice(0, 20))
    await add('d')
    expect(await ids()).toEqual(['a', 'b', 'c', 'd'])
    expect(rejected()).toEqual([])
  })
})

describe('a table that cannot be rewritten', () => {
  test('a table that cannot be rewritten is still read, and its invalid parts are reported once', async () => {
    const { write, add, file, text, ids, notices } = graph()
    await add('a')
    const before = '[{"id":"a"} junk\n{"id":"b"}]'
    write(before)
    fs.writeFileSync(`${file}.lock`, '')
    for (let reads = 1; reads <= 3; reads += 1) expect(await ids()).toEqual(['a', 'b'])
    expect(notices).toMatchObject([{ file, kept_in: null }])
    expect(text()).toBe(before)
    await expect(add('c')).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('a quarantined record is kept with its reason', async () => {
    const { add, store, text, rejected } = graph()
    await add('a', { n: 1 })
    await add('b')
    await store.quarantine('entity', 'a', 'it is misshapen')
    expect(text()).toBe(table({ id: 'b' }))
    expect(rejected()).toMatchObject([{ reason: 'it is misshapen', line: '{"id":"a","n":1}' }])
  })

  test('a lost lock rejects every change', async () => {
    const { add, store, file, text } = graph()
    await add('a')
    const refused = store.exclusive('entity', async (held) => {
      fs.rmdirSync(`${file}.lock`)
      fs.mkdirSync(`${file}.lock`)
      await expect(held.remove('a')).rejects.toMatchObject({ code: 'store_unavailable' })
      await held.put('b', { id: 'b' })
    })
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(text()).toBe(table({ id: 'a' }))
    expect(fs.readdirSync(path.dirname(file)).sort()).toEqual([
      'entities.json',
      'entities.json.lock',
      'relations.json',
    ])
  })

  test('a link in place of the table or of its folder is not followed', async () => {
    for (const names of [['graph', 'entities.json'], ['graph']]) {
      const { store, inside, add } = graph()
      const foreign = path.join(temporaryDirectory(), 'entities.json')
      fs.writeFileSync(foreign, 'not json')
      fs.mkdirSync(path.dirname(inside(...names)), { recursive: true })
      fs.symlinkSync(names.length === 1 ? path.dirname(foreign) : foreign, inside(...names))
      const refused = { code: 'store_unavailable', detail: expect.stringContaining('is a link') as string }
      await expect(store.list('entity')).rejects.toMatchObject(refused)
      await expect(store.get('entity', 'a')).rejects.toMatchObject(refused)
      await expect(add('a')).rejects.toMatchObject(refused)
      expect(fs.readFileSync(foreign, 'utf8')).toBe('not json')
      expect(fs.readdirSync(path.dirname(foreign))).toEqual(['entities.json'])
    }
  })
})
