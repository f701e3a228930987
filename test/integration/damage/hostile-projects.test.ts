/** Where a repository was cloned, its `.turnbell` may hold anything: nothing outside of it is touched for that. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProjectRecords } from '../../../src/storage/file/project-records.ts'
import { projectFiles as project } from '../../support/project-files.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

describe('what a repository brought along', () => {
  test('is never written through: a link where a record is drafted', async () => {
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
    ['all of it', []],
    ['the records', ['records']],
    ['a kind', ['records', 'issue']],
    ['the rejected', ['rejected']],
    ['the rejected of a kind', ['rejected', 'issue']],
  ]
  /** Somebody else’s folder, with a record as well as what is none at every depth that a link may lead to. */
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

  test.each(WAYS)('is nothing to look at, nor to write, where %s is a link', async (_, names) => {
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
      () => store.setAside('issue', 'a', 'bad'),
      () => store.exclusive('issue', (records) => records.list()),
    ])
      await expect(work()).rejects.toMatchObject(refused)
    expect(all()).toEqual(before)
    expect(notices).toEqual([])
  })

  test('is refused as well where a link leads nowhere, or a file stands where a folder should', async () => {
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

  test('becomes a link while work is being done, and nothing is written behind it', async () => {
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

  test('is not written over among the rejected: neither what is kept there nor a reason', async () => {
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
    expect(fs.readFileSync(inside('rejected', 'issue', 'b.json-3.reason'), 'utf8')).toMatch(/no JSON/)
  })

  test('is not waited for where it is a pipe, and is set aside', async () => {
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
  test.each(IN_PLACE_OF_THE_LOCK)('%s in place of the lock is said to be there', async (_, make) => {
    const { store, notices, file, inside, put, write } = project()
    fs.mkdirSync(inside('records', 'issue'), { recursive: true })
    write('a.json', '{"kind":"issue","id":"a"}')
    write('bad.json', '{')
    const lock = inside('records', 'issue', '.lock')
    make(lock)
    const refused = { code: 'store_unavailable', detail: expect.stringContaining(lock) as string }
    await expect(put('b')).rejects.toMatchObject(refused)
    await expect(store.remove('issue', 'a')).rejects.toMatchObject(refused)
    // What changes nothing needs no lock; what is bad stays where it is, and is told of once.
    for (let lists = 1; lists <= 3; lists += 1)
      expect((await store.list('issue')).map(({ id }) => id)).toEqual(['a'])
    expect(fs.existsSync(file('bad'))).toBe(true)
    expect(notices[0]).toMatchObject({ file: file('bad'), kept_in: null })
    expect(fs.lstatSync(lock)).toBeDefined()
  })
})

describe('a file that is set aside', () => {
  test('stays where it is while another process is writing, and goes at a later look', async () => {
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

  test('is set aside once, whoever finds it, and every one has a name of its own', async () => {
    const { root, inside, notices, put, write } = project()
    await put('a')
    const others = [1, 2, 3].map(() => openProjectRecords({ root, onRejected: (one) => notices.push(one) }))
    for (const text of ['{', '[', '(']) {
      for (let name = 1; name <= 40; name += 1) write(`bad-${name}.json`, text)
      await Promise.all(others.map((store) => store.list('issue')))
      for (const store of others) await store.list('issue')
    }
    const kept = fs.readdirSync(inside('rejected', 'issue'))
    expect(notices).toHaveLength(120)
    expect(new Set(notices.map(({ kept_in }) => kept_in)).size).toBe(120)
    expect(kept.filter((name) => !name.endsWith('.reason'))).toHaveLength(120)
    expect(fs.readdirSync(inside('records', 'issue'))).toEqual(['a.json'])
  })

  test('is found by the one who holds the lock, too', async () => {
    const { store, notices, put, write } = project()
    await put('a')
    await store.exclusive('issue', async (records) => {
      write('b.json', '{')
      write('c.json', '{')
      expect(await records.get('b')).toBeNull()
      expect(await records.list()).toHaveLength(1)
      // A list asks nobody for a turn, the holder neither.
      write('d.json', '{')
      expect(await store.list('issue')).toHaveLength(1)
    })
    expect(notices).toHaveLength(3)
  })
})
