/** Tests decisions as files with an index: the index matches the files, whatever happens to either. */
import fs from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openProjectRecords } from '../../../../src/storage/file/project/project-records.ts'
import { projectFiles } from '../../../support/disk/project-files.ts'

function decisions() {
  const project = projectFiles(async () => undefined)
  const { inside, read, store } = project
  const index = inside('decisions', 'index.json')
  return {
    ...{ ...project, index },
    file: (id: string) => inside('decisions', `${id}.json`),
    decide: (id: string, fields: object = {}) => store.put('decision', id, decision(id, fields)),
    indexed: () => JSON.parse(read('decisions', 'index.json')) as Record<string, unknown>[],
    ids: async () => (await store.list('decision')).map(({ id }) => id),
  }
}

const decision = (id: string, fields: object = {}) => ({
  ...{ id, timestamp: '2026-11-23T00:00:00.000Z', agent_id: 'ada', domain: 'storage', scope: 'src/' },
  ...{ summary: `decided ${id}`, context: 'long', rationale: 'longer', confidence: 'high', status: 'active' },
  ...{ affected_files: ['a.ts'], affected_symbols: [], commit_hashes: ['abc'], ...fields },
})

const summary = (id: string) => {
  const { agent_id: _, context: _c, rationale: _r, ...said } = decision(id)
  return said
}

describe('the index of a folder', () => {
  test('the index contains the main fields of every record, ordered by id, one record per line', async () => {
    const { decide, read, file, indexed, store } = decisions()
    await decide('b')
    await decide('a')
    await store.put('decision', 'c', { text: 'says nothing of what the index asks' })
    expect(indexed()).toEqual([summary('a'), summary('b'), { id: 'c' }])
    expect(read('decisions', 'index.json').split('\n')).toHaveLength(6)
    expect(JSON.parse(fs.readFileSync(file('a'), 'utf8'))).toEqual(decision('a'))
    expect(fs.readFileSync(file('a'), 'utf8')).toMatch(/^\{\n {2}"id": "a",\n/)
    await store.remove('decision', 'a')
    await store.quarantine('decision', 'c', 'it is misshapen')
    expect(indexed()).toEqual([summary('b')])
    await store.remove('decision', 'b')
    expect(indexed()).toEqual([])
  })

  test('the index is written once for all changes of one work, also if the work fails', async () => {
    const { decide, store, index, indexed } = decisions()
    await decide('a')
    const broken = store.exclusive('decision', async (held) => {
      const before = fs.statSync(index).ino
      for (const id of ['b', 'c', 'd']) {
        await held.put(id, decision(id))
        expect(await held.list()).toContainEqual({ id, body: decision(id) })
      }
      expect(fs.statSync(index).ino).toBe(before)
      throw new Error('broke')
    })
    await expect(broken).rejects.toThrow('broke')
    expect(indexed().map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('the index file is not a record, but a record of that name is one', async () => {
    const { decide, ids, file, store } = decisions()
    await decide('a')
    await store.put('decision', 'index', decision('index'))
    expect(await ids()).toEqual(['a', 'index'])
    expect(await store.get('decision', 'index')).toEqual(decision('index'))
    expect(Array.isArray(JSON.parse(fs.readFileSync(file('index'), 'utf8')))).toBe(true)
  })

  test('the index follows files that other programs change, add or remove, at the next list', async () => {
    const { decide, file, ids, indexed } = decisions()
    for (const id of ['a', 'b']) await decide(id)
    fs.writeFileSync(file('a'), JSON.stringify(decision('a', { status: 'superseded' })))
    fs.rmSync(file('b'))
    fs.writeFileSync(file('c'), JSON.stringify(decision('c')))
    fs.writeFileSync(file('d'), '{')
    fs.utimesSync(file('d'), 1e9, 1e9)
    expect(await ids()).toEqual(['a', 'c'])
    expect(indexed()).toEqual([{ ...summary('a'), status: 'superseded' }, summary('c')])
    expect(fs.existsSync(file('d'))).toBe(true)
  })

  const SPOILT: [string, (index: string, text: string) => void][] = [
    ['was edited', (index, text) => fs.writeFileSync(index, text.replace('decided', 'DECIDED'))],
    ['lost a line', (index, text) => fs.writeFileSync(index, text.replace(/\n,.*/, ''))],
    ['is gone', (index) => fs.rmSync(index)],
    ['is empty', (index) => fs.writeFileSync(index, '')],
    [
      'holds a conflict',
      (index, text) => fs.writeFileSync(index, `<<<<<<< HEAD\n${text}=======\n${text}>>>>>>> x\n`),
    ],
    ['is a link', (index) => (fs.rmSync(index), fs.symlinkSync('/nonexistent/file', index))],
  ]
  test.each(SPOILT)('the index is rewritten by a list if it %s', async (_, spoil) => {
    const { root, decide, index, ids, read } = decisions()
    for (const id of ['a', 'b']) await decide(id)
    const text = read('decisions', 'index.json')
    spoil(index, text)
    expect(await ids()).toEqual(['a', 'b'])
    expect(read('decisions', 'index.json')).toBe(text)
    expect(fs.lstatSync(index).isFile()).toBe(true)
    spoil(index, text)
    await openProjectRecords({ root }).list('decision')
    expect(read('decisions', 'index.json')).toBe(text)
  })

  test('the index does not take its mode from a link in its place', async () => {
    const { decide, index, ids } = decisions()
    await decide('a')
    fs.rmSync(index)
    fs.symlinkSync('/nonexistent/file', index)
    await ids()
    expect(fs.lstatSync(index).mode & 0o777).toBe(0o666 & ~process.umask())
  })

  test('a list without changes does not rewrite the index, and does not create it without a folder', async () => {
    const { root, decide, index, ids, inside } = decisions()
    expect(await ids()).toEqual([])
    expect(fs.readdirSync(root)).toEqual([])
    await decide('a')
    const before = fs.statSync(index, { bigint: true })
    for (let lists = 1; lists <= 3; lists += 1) await ids()
    expect(fs.statSync(index, { bigint: true })).toEqual({
      ...before,
      atimeMs: expect.anything() as bigint,
      atimeNs: expect.anything() as bigint,
      atime: expect.anything() as Date,
    })
    fs.rmSync(inside('decisions'), { recursive: true })
    expect(await ids()).toEqual([])
    expect(fs.existsSync(inside('decisions'))).toBe(false)
  })

  test('an index that cannot be written blocks no call and is reported once', async () => {
    const { decide, index, ids, notices } = decisions()
    await decide('a')
    fs.rmSync(index)
    fs.mkdirSync(index)
    fs.writeFileSync(`${index}/mine`, '')
    await decide('b')
    for (let lists = 1; lists <= 3; lists += 1) expect(await ids()).toEqual(['a', 'b'])
    expect(notices).toMatchObject([
      { file: index, kept_in: null, reason: expect.stringMatching(/not up to date/) as string },
    ])
    expect(fs.readdirSync(index)).toEqual(['mine'])
  })

  test('a list with an outdated index leaves the draft of a put alone', async () => {
    const { decide, index, ids, indexed, inside, notices } = decisions()
    await decide('a')
    const { open } = fs.promises
    onTestFinished(() => void (fs.promises.open = open))
    const listed: Promise<unknown>[] = []
    fs.promises.open = async (file, ...how) => {
      const handle = await open(file, ...how)
      if (String(file) !== `${index}.new` || listed.length > 0) return handle
      listed.push(ids())
      // Enough time for the list to start its own draft, if it did.
      for (let turns = 1; turns <= 50; turns += 1) await fs.promises.stat(inside('decisions'))
      return handle
    }
    await decide('b')
    expect(await Promise.all(listed)).toEqual([['a', 'b']])
    expect(notices).toEqual([])
    expect(indexed().map(({ id }) => id)).toEqual(['a', 'b'])
    expect(fs.readdirSync(inside('decisions')).sort()).toEqual(['a.json', 'b.json', 'index.json'])
  })

  test('an outdated index waits for a later list while another process is writing', async () => {
    const { decide, file, ids, indexed, inside } = decisions()
    await decide('a')
    fs.writeFileSync(file('b'), JSON.stringify(decision('b')))
    fs.mkdirSync(inside('decisions', '.lock'))
    expect(await ids()).toEqual(['a', 'b'])
    expect(indexed()).toHaveLength(1)
    fs.rmdirSync(inside('decisions', '.lock'))
    await ids()
    expect(indexed()).toHaveLength(2)
  })
})
