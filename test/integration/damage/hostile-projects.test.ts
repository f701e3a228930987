/** A cloned repository may contain any `.turnbell`: turnbell must not touch anything outside of it. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProjectRecords } from '../../../src/storage/file/project/project-records.ts'
import { projectFiles as project } from '../../support/disk/project-files.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

describe('the content of a cloned repository', () => {
  test('a link at the path of a draft is never written through', async () => {
    const { store, file, inside, put, read } = project()
    const foreign = path.join(temporaryDirectory(), 'profile')
    fs.writeFileSync(foreign, 'mine\n')
    fs.mkdirSync(inside('records', 'issue'), { recursive: true })
    fs.symlinkSync(foreign, `${file('a')}.new`)
    fs.symlinkSync(path.join(path.dirname(foreign), 'made'), `${file('b')}.new`)
    await put('a', { title: 'new' })
    await put('b')
    expect(fs.readdirSync(path.dirname(foreign))).toEqual(['profile'])
    expect(fs.readFileSync(foreign, 'utf8')).toBe('mine\n')
    expect(fs.lstatSync(file('a')).isFile()).toBe(true)
    expect(read('records', 'issue', 'a.json')).toContain('new')
    expect(await store.list('issue')).toHaveLength(2)
  })

  const WAYS: [string, string[]][] = [
    ['the whole folder', []],
    ['the records', ['records']],
    ['a kind', ['records', 'issue']],
    ['the quarantine folder', ['rejected']],
    ['the quarantine folder of a kind', ['rejected', 'issue']],
  ]
  /** A folder of another user, with a valid record and an invalid file at every depth that a link may lead to. */
  function foreign() {
    const place = temporaryDirectory()
    for (const below of ['', 'issue', 'records/issue', 'rejected/issue']) {
      fs.mkdirSync(path.join(place, below), { recursive: true })
      fs.writeFileSync(path.join(place, below, 'settings.json'), '{"mine":true}')
      fs.utimesSync(path.join(place, below, 'settings.json'), 1e9, 1e9)
      fs.writeFileSync(path.join(place, below, 'a.json'), '{"kind":"issue","id":"a"}')
    }
    return { place, all: () => fs.readdirSync(place, { recursive: true }).sort() }
  }

  test.each(WAYS)('a link in place of %s is neither read nor written', async (_, names) => {
    const { store, notices, inside } = project()
    const { place, all } = foreign()
    const before = all()
    const link = inside(...names)
    fs.mkdirSync(inside('records', 'issue'), { recursive: true })
    fs.writeFileSync(inside('records', 'issue', 'bad.json'), '{')
    fs.rmSync(link, { recursive: true, force: true })
    fs.mkdirSync(path.dirname(link), { recursive: true })
    fs.symlinkSync(place, link)
    const refused = {
      code: 'store_unavailable',
      detail: expect.stringContaining(`${link} is a link`) as string,
    }
    for (const work of [
      () => store.list('issue'),
      () => store.get('issue', 'a'),
      () => store.get('issue', 'settings'),
      () => store.put('issue', 'a', { id: 'a', kind: 'issue' }),
      () => store.remove('issue', 'a'),
      () => store.quarantine('issue', 'a', 'bad'),
      () => store.exclusive('issue', (records) => records.list()),
    ])
      await expect(work()).rejects.toMatchObject(refused)
    expect(all()).toEqual(before)
    expect(notices).toEqual([])
  })

  test('a dangling link, and a file in place of a folder, are rejected as well', async () => {
    for (const [, names] of WAYS) {
      for (const make of [
        (at: string) => fs.symlinkSync('/nonexistent/folder', at),
        (at: string) => fs.writeFileSync(at, 'x'),
      ]) {
        const { store, inside, put } = project()
        fs.mkdirSync(path.dirname(inside(...names)), { recursive: true })
        make(inside(...names))
        const refused = {
          code: 'store_unavailable',
          detail: expect.stringContaining(inside(...names)) as string,
        }
        await expect(store.list('issue')).rejects.toMatchObject(refused)
        await expect(store.get('issue', 'a')).rejects.toMatchObject(refused)
        await expect(put('a')).rejects.toMatchObject(refused)
      }
    }
  })

  test('a directory that becomes a link during an operation is not written through', async () => {
    const { store, inside, put } = project()
    await put('a')
    const { place, all } = foreign()
    const before = all()
    const refused = store.exclusive('issue', async (records) => {
      fs.renameSync(inside('records', 'issue'), inside('records', 'moved'))
      fs.symlinkSync(place, inside('records', 'issue'))
      await records.put('a', {})
    })
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(all()).toEqual(before)
  })

  test('a linked quarantine folder is not written through, neither for files nor for reasons', async () => {
    const { store, inside, put, write } = project()
    await put('a')
    const profile = path.join(temporaryDirectory(), 'profile')
    fs.writeFileSync(profile, 'mine\n')
    fs.mkdirSync(inside('rejected', 'issue'), { recursive: true })
    fs.symlinkSync(profile, inside('rejected', 'issue', 'b.json.reason'))
    fs.symlinkSync('/nonexistent/file', inside('rejected', 'issue', 'b.json-2'))
    write('b.json', '{')
    await store.list('issue')
    expect(fs.readFileSync(profile, 'utf8')).toBe('mine\n')
    expect(fs.readFileSync(inside('rejected', 'issue', 'b.json-3'), 'utf8')).toBe('{')
    expect(fs.readFileSync(inside('rejected', 'issue', 'b.json-3.reason'), 'utf8')).toMatch(/JSON/)
  })

  test('a pipe is quarantined without waiting for data', async () => {
    const { store, inside, put } = project()
    await put('a')
    execFileSync('mkfifo', [
      inside('records', 'issue', 'pipe.json'),
      inside('records', 'issue', 'a.json.new'),
    ])
    expect(await store.get('issue', 'pipe')).toBeNull()
    expect((await store.list('issue')).map(({ id }) => id)).toEqual(['a'])
    expect(fs.readdirSync(inside('rejected', 'issue'))).toEqual(['pipe.json', 'pipe.json.reason'])
    await put('a', { title: 'again' })
    expect(await store.get('issue', 'a')).toMatchObject({ title: 'again' })
  })

  const IN_PLACE_OF_THE_LOCK: [string, (lock: string) => void][] = [
    ['a file', (lock) => fs.writeFileSync(lock, '')],
    ['an old file', (lock) => (fs.writeFileSync(lock, ''), fs.utimesSync(lock, 1e9, 1e9))],
    ['a link to a folder', (lock) => fs.symlinkSync(temporaryDirectory(), lock)],
    ['a link to nowhere', (lock) => fs.symlinkSync('/nonexistent/lock', lock)],
    [
      'a folder with something in it',
      (lock) => {
        fs.mkdirSync(lock)
        fs.writeFileSync(path.join(lock, 'keep'), '')
        fs.utimesSync(lock, 1e9, 1e9)
      },
    ],
  ]
  test.each(IN_PLACE_OF_THE_LOCK)('%s in place of the lock is reported', async (_, make) => {
    const { store, notices, file, inside, put, write } = project()
    fs.mkdirSync(inside('records', 'issue'), { recursive: true })
    write('a.json', '{"kind":"issue","id":"a"}')
    write('bad.json', '{')
    const lock = inside('records', 'issue', '.lock')
    make(lock)
    const refused = { code: 'store_unavailable', detail: expect.stringContaining(lock) as string }
    await expect(put('b')).rejects.toMatchObject(refused)
    await expect(store.remove('issue', 'a')).rejects.toMatchObject(refused)
    // Reading needs no lock; an invalid file stays in place and is reported once.
    for (let lists = 1; lists <= 3; lists += 1)
      expect((await store.list('issue')).map(({ id }) => id)).toEqual(['a'])
    expect(fs.existsSync(file('bad'))).toBe(true)
    expect(notices[0]).toMatchObject({ file: file('bad'), kept_in: null })
    expect(fs.lstatSync(lock)).toBeDefined()
  })
})

describe('a quarantined file', () => {
  test('an invalid file stays in place while another process writes, and is quarantined at a later read', async () => {
    const { store, notices, file, inside, put, write } = project()
    await put('a')
    write('b.json', '{')
    fs.mkdirSync(inside('records', 'issue', '.lock'))
    expect((await store.list('issue')).map(({ id }) => id)).toEqual(['a'])
    expect(await store.get('issue', 'b')).toBeNull()
    expect(fs.existsSync(file('b'))).toBe(true)
    expect(notices).toEqual([])
    fs.rmdirSync(inside('records', 'issue', '.lock'))
    expect((await store.list('issue')).map(({ id }) => id)).toEqual(['a'])
    expect(notices).toMatchObject([{ file: file('b') }])
    expect(fs.readdirSync(inside('records', 'issue'))).toEqual(['a.json'])
  })

  test('an invalid file is quarantined once by concurrent readers, under a unique name', async () => {
    const { root, inside, notices, put, write } = project()
    await put('a')
    const others = [1, 2, 3].map(() => openProjectRecords({ root, onRejected: (one) => notices.push(one) }))
    for (const text of ['{', '[', '(']) {
      for (let name = 1; name <= 40; name += 1) write(`bad-${name}.json`, text)
      await Promise.all(others.map((store) => store.list('issue')))
      for (const store of others) await store.list('issue')
    }
    const kept = fs.readdirSync(inside('rejected', 'issue'))
    expect(notices.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(120)
    expect(new Set(notices.map(({ kept_in }) => kept_in)).size).toBe(notices.length)
    expect(kept.filter((name) => !name.endsWith('.reason'))).toHaveLength(120)
    expect(fs.readdirSync(inside('records', 'issue'))).toEqual(['a.json'])
  })

  test('an invalid file is also quarantined by the holder of the lock', async () => {
    const { store, notices, put, write } = project()
    await put('a')
    await store.exclusive('issue', async (records) => {
      write('b.json', '{')
      write('c.json', '{')
      expect(await records.get('b')).toBeNull()
      expect(await records.list()).toHaveLength(1)
      // A list needs no lock, not even one held by another process.
      write('d.json', '{')
      expect(await store.list('issue')).toHaveLength(1)
    })
    expect(notices).toHaveLength(3)
  })
})

describe('a file with a second name outside of the project', () => {
  const foreign = (text: string) => {
    const file = path.join(temporaryDirectory(), 'theirs')
    fs.writeFileSync(file, text)
    return file
  }

  test('a hard-linked record file is not read as a record, stays in place, and is replaced by a new record', async () => {
    const { store, file, put, notices } = project()
    await put('b')
    const theirs = foreign('{"kind":"issue","id":"a","title":"theirs"}')
    fs.linkSync(theirs, file('a'))
    fs.utimesSync(theirs, 1e9, 1e9)
    expect(await store.list('issue')).toMatchObject([{ id: 'b' }])
    expect(await store.get('issue', 'a')).toBeNull()
    expect(notices).toMatchObject([{ file: file('a'), kept_in: null }])
    expect(await store.unreadableFiles()).toMatchObject([{ file: file('a') }])
    await put('a', { title: 'mine' })
    expect(fs.readFileSync(theirs, 'utf8')).toContain('theirs')
    expect(await store.get('issue', 'a')).toMatchObject({ title: 'mine' })
  })

  test('a hard-linked blackboard is neither read nor written', async () => {
    const { store, inside } = project()
    const theirs = foreign('{"id":"a","summary":"theirs"}\n')
    fs.mkdirSync(inside(), { recursive: true })
    fs.linkSync(theirs, inside('blackboard.jsonl'))
    const refused = { code: 'store_unavailable' }
    await expect(store.list('entry')).rejects.toMatchObject(refused)
    await expect(store.put('entry', 'b', { id: 'b' })).rejects.toMatchObject(refused)
    expect(fs.readFileSync(theirs, 'utf8')).toBe('{"id":"a","summary":"theirs"}\n')
  })
})

test('a project whose directory was replaced by a link is neither read nor written', async () => {
  const top = fs.realpathSync(temporaryDirectory())
  for (const name of ['mine', 'theirs']) fs.mkdirSync(path.join(top, name))
  const [mine, theirs] = [path.join(top, 'mine'), path.join(top, 'theirs')]
  const store = openProjectRecords({ root: mine })
  await store.put('issue', 'a', { kind: 'issue', id: 'a' })
  await openProjectRecords({ root: theirs }).put('issue', 'b', { kind: 'issue', id: 'b' })
  fs.renameSync(mine, `${mine}.moved`)
  fs.symlinkSync(theirs, mine)
  const refused = { code: 'store_unavailable' }
  await expect(store.list('issue')).rejects.toMatchObject(refused)
  await expect(store.put('issue', 'c', { kind: 'issue', id: 'c' })).rejects.toMatchObject(refused)
  expect(
    fs.readdirSync(path.join(theirs, '.turnbell/records/issue')).filter((one) => one.endsWith('.json')),
  ).toEqual(['b.json'])
})
