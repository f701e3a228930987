/** Additional tests of a project's records, in which people, git and other processes write. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProjectRecords } from '../../../../src/storage/file/project/project-records.ts'
import type { KindRecords } from '../../../../src/ports/record-store.ts'
import { eventually } from '../../../support/eventually.ts'
import { projectFiles as project } from '../../../support/disk/project-files.ts'
import { prepareHome, resolveHome } from '../../../../src/system/config/home.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

describe('the folder of a project', () => {
  test('the folder is created by the first write, not by a read', async () => {
    const { root, store, inside, put, read } = project()
    expect(await store.list('issue')).toEqual([])
    expect(await store.get('issue', 'a')).toBeNull()
    expect(fs.readdirSync(root)).toEqual([])
    await put('a')
    const names = [
      '.gitattributes',
      '.gitignore',
      'blackboard.jsonl',
      'config.yml',
      'decisions',
      'graph',
      'records',
    ]
    expect(fs.readdirSync(inside()).sort()).toEqual(names)
    expect(read('blackboard.jsonl')).toBe('')
    for (const table of ['decisions/index.json', 'graph/entities.json', 'graph/relations.json']) {
      expect(JSON.parse(read(table))).toEqual([])
    }
    expect(read('config.yml')).toMatch(/^version: 1$/m)
    const ignored = read('.gitignore').split('\n')
    for (const line of ['embeddings/*.index', 'archive/', '*.lock/', '*.new']) expect(ignored).toContain(line)
    for (const file of ['blackboard.jsonl', 'graph/*.json', 'decisions/index.json']) {
      expect(read('.gitattributes').split('\n')).toContain(`${file} merge=union`)
    }
    expect(fs.readdirSync(inside('records', 'issue'))).toEqual(['a.json'])
  })

  test('the folder and all folders in it survive a power cut', async () => {
    const { root, store } = project()
    const events: string[] = []
    const { open, mkdir } = fs.promises
    const told = (event: string, at: unknown) => events.push(`${event} ${path.relative(root, String(at))}`)
    try {
      fs.promises.open = async (file, flags, mode) => {
        if (flags === 'r') told('sync', file)
        return open(file, flags, mode)
      }
      fs.promises.mkdir = (async (at: string, options: object) => {
        const made = await mkdir(at, options)
        told('make', at)
        return made
      }) as typeof mkdir
      await store.put('decision', 'a', { id: 'a' })
    } finally {
      Object.assign(fs.promises, { open, mkdir })
    }
    for (const folder of ['.turnbell', '.turnbell/decisions', '.turnbell/graph']) {
      const made = events.indexOf(`make ${folder}`)
      expect(made).toBeGreaterThan(-1)
      expect(events.slice(made)).toContain(`sync ${folder === '.turnbell' ? '' : '.turnbell'}`)
    }
  })

  test('changed and removed files of the folder stay as a person left them', async () => {
    const { root, inside, put, read } = project()
    await put('a')
    fs.writeFileSync(inside('.gitignore'), 'mine\n')
    fs.writeFileSync(inside('config.yml'), 'version: 2\n')
    fs.rmSync(inside('.gitattributes'))
    await put('b')
    expect(fs.existsSync(inside('.gitattributes'))).toBe(false)
    // The next process may be of a version that knows more files.
    await openProjectRecords({ root }).put('issue', 'c', { id: 'c', kind: 'issue' })
    expect(read('.gitignore')).toBe('mine\n')
    expect(read('config.yml')).toBe('version: 2\n')
    expect(fs.existsSync(inside('.gitattributes'))).toBe(true)
  })

  test('the folder is recreated after a checkout removed it', async () => {
    const { inside, put, read } = project()
    await put('a')
    fs.rmSync(inside(), { recursive: true })
    await put('b')
    expect(JSON.parse(read('graph/entities.json'))).toEqual([])
    expect(read('.gitignore')).toContain('archive/')
  })

  test('the folder is completed around a link of the repository, and never through it', async () => {
    const { inside, put } = project()
    const foreign = temporaryDirectory()
    fs.mkdirSync(inside())
    fs.symlinkSync(foreign, inside('graph'))
    await put('a')
    expect(fs.readdirSync(foreign)).toEqual([])
    expect(fs.existsSync(inside('blackboard.jsonl'))).toBe(true)
  })

  test("each record is a readable file with the user's default mode", async () => {
    const { file, put } = project()
    await put('a', { title: 'Ünï "x"', tags: ['one'] })
    expect(JSON.parse(fs.readFileSync(file('a'), 'utf8'))).toEqual({
      ...{ id: 'a', kind: 'issue', title: 'Ünï "x"', tags: ['one'] },
    })
    const umask = process.umask()
    expect(fs.statSync(file('a')).mode & 0o777).toBe(0o666 & ~umask)
    expect(fs.statSync(path.dirname(file('a'))).mode & 0o777).toBe(0o777 & ~umask)
  })

  // When indented, it exceeds the size that was checked.
  test('a record that is too large to be read is rejected', async () => {
    const { put, store, inside } = project()
    await put('a')
    const lines = Array.from({ length: 1_000 }, () => ({ a: { b: { c: 'x'.repeat(1_000) } } }))
    expect(JSON.stringify(lines).length).toBeLessThan(1024 * 1024)
    await expect(put('a', { lines })).rejects.toMatchObject({ code: 'record_too_large' })
    expect(await store.list('issue')).toHaveLength(1)
    expect(fs.readdirSync(inside('records', 'issue'))).toEqual(['a.json'])
  })

  test("the folder is never created in a person's home, which has the same name", async () => {
    const root = temporaryDirectory()
    prepareHome(resolveHome({}, path.join(root, '.turnbell')))
    const before = fs.readdirSync(path.join(root, '.turnbell'))
    const refused = openProjectRecords({ root }).put('issue', 'a', {})
    await expect(refused).rejects.toMatchObject({ code: 'project_unknown', detail: /a home of turnbell/ })
    expect(fs.readdirSync(path.join(root, '.turnbell'))).toEqual(before)
  })

  test('the folder is not created if the project is not a directory', async () => {
    const root = path.join(temporaryDirectory(), 'gone')
    const store = openProjectRecords({ root })
    expect(await store.list('issue')).toEqual([])
    await expect(store.put('issue', 'a', {})).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(fs.existsSync(root)).toBe(false)
    const file = path.join(temporaryDirectory(), 'file')
    fs.writeFileSync(file, '')
    const refused = openProjectRecords({ root: file }).put('issue', 'a', {})
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})

describe('changes of record files by other programs', () => {
  test('changed, added and removed files are read at the next call', async () => {
    const { store, file, write, put } = project()
    await put('a', { title: 'one' })
    await put('b')
    // Twice, so that the second list uses the cache of the first.
    await store.list('issue')
    await store.list('issue')
    // In place, at once and with the same length: neither the folder nor the size shows the change.
    write('a.json', fs.readFileSync(file('a'), 'utf8').replace('one', 'two'))
    fs.rmSync(file('b'))
    write('c.json', '{"kind":"issue","id":"c","more":[1]}')
    expect(await store.list('issue')).toEqual([
      { id: 'a', body: { id: 'a', kind: 'issue', title: 'two' } },
      { id: 'c', body: { id: 'c', kind: 'issue', more: [1] } },
    ])
    expect(await store.get('issue', 'b')).toBeNull()
    for (const title of ['six', 'ten', 'one']) {
      write('a.json', fs.readFileSync(file('a'), 'utf8').replace(/"title": "\w+"/, `"title": "${title}"`))
      expect((await store.list('issue'))[0]?.body['title']).toBe(title)
      expect((await store.get('issue', 'a'))?.['title']).toBe(title)
    }
  })

  test('changed files are read by a list that caches earlier lists', async () => {
    const { store, file, write, put } = project()
    for (const id of ['a', 'b', 'c', 'd']) await put(id, { title: 'one' })
    const titles = async () => (await store.list('issue')).map(({ body }) => body['title'])
    // Only files older than the resolution of the file system's clock are cached.
    const lain = () =>
      eventually('the clock has gone on', () =>
        ['a', 'b', 'c', 'd'].every((id) => Date.now() - fs.statSync(file(id)).ctimeMs > 60),
      )
    const edit = (id: string, from: string, to: string) =>
      write(`${id}.json`, fs.readFileSync(file(id), 'utf8').replace(from, to))
    await lain()
    for (let lists = 1; lists <= 3; lists += 1) expect(await titles()).toEqual(['one', 'one', 'one', 'one'])
    edit('a', 'one', 'of another length')
    edit('b', 'one', 'two')
    const { atime, mtime } = fs.statSync(file('c'))
    edit('c', 'one', 'six')
    fs.utimesSync(file('c'), atime, mtime)
    expect(await titles()).toEqual(['of another length', 'two', 'six', 'one'])
    await lain()
    expect(await titles()).toEqual(['of another length', 'two', 'six', 'one'])
    // Like editors that write to a temporary file first.
    fs.writeFileSync(`${file('d')}~`, fs.readFileSync(file('d'), 'utf8').replace('one', 'ten'))
    fs.renameSync(`${file('d')}~`, file('d'))
    edit('b', 'two', 'one')
    expect(await titles()).toEqual(['of another length', 'one', 'six', 'ten'])
  })

  test('a file may start with a byte order mark', async () => {
    const { store, file, write, put, notices } = project()
    const written = '\uFEFF{"kind":"issue","id":"a","title":"one"}'
    await put('b')
    write('a.json', written)
    await store.remove('issue', 'b')
    const body = { id: 'a', kind: 'issue', title: 'one' }
    for (let lists = 1; lists <= 2; lists += 1) expect(await store.list('issue')).toEqual([{ id: 'a', body }])
    expect(await store.get('issue', 'a')).toEqual(body)
    expect(fs.readFileSync(file('a'), 'utf8')).toBe(written)
    await put('a', { title: 'two' })
    expect(fs.readFileSync(file('a'), 'utf8')).toMatch(/^\{/)
    expect(notices).toEqual([])
  })

  const BAD: Record<string, [text: string, reason: RegExp]> = {
    'torn.json': ['{"kind":"issue","id":"torn","ti', /JSON/],
    'list.json': ['[]', /object/],
    'rounded.json': [
      '{"kind":"issue","id":"rounded","pr":9007199254740993}',
      /^pr: 9007199254740993 is beyond 2\^53/,
    ],
    'parted.json': ['{"kind":"issue","id":"parted","pr":9007199254740993,"pr":1}', /^pr: 9007199254740993/],
    'nameless.json': ['{"kind":"issue","title":"x"}', /object with its kind and id/],
    'kindless.json': ['{"id":"kindless"}', /kind is undefined/],
    'copied.json': ['{"kind":"issue","id":"a","title":"x"}', /id is a/],
    'huge.json': [`{"kind":"issue","id":"huge","text":"${'x'.repeat(1024 * 1024)}"}`, /larger/],
  }

  test('an empty file is ignored, because an editor may be writing it', async () => {
    const { store, file, write, put, notices } = project()
    await put('a', { title: 'one' })
    const text = fs.readFileSync(file('a'), 'utf8')
    const writer = fs.openSync(file('a'), 'w')
    expect(await store.list('issue')).toEqual([])
    expect(await store.get('issue', 'a')).toBeNull()
    fs.writeSync(writer, text)
    fs.closeSync(writer)
    write('b.json', '')
    expect(await store.list('issue')).toMatchObject([{ id: 'a', body: { title: 'one' } }])
    expect(notices).toEqual([])
  })

  test('an invalid file is quarantined with the reason, and the others are listed', async () => {
    const { store, notices, inside, write, put } = project()
    await put('a')
    for (const [name, [text]] of Object.entries(BAD)) write(name, text)
    fs.mkdirSync(inside('records', 'issue', 'folder.json'))
    fs.symlinkSync('/etc/hostname', inside('records', 'issue', 'link.json'))
    fs.writeFileSync(inside('records', 'issue', 'notes.txt'), 'mine')
    expect((await store.list('issue')).map(({ id }) => id)).toEqual(['a'])
    for (const [name, [text, reason]] of Object.entries(BAD)) {
      expect(fs.readFileSync(inside('rejected', 'issue', name), 'utf8')).toBe(text)
      expect(fs.readFileSync(inside('rejected', 'issue', `${name}.reason`), 'utf8')).toMatch(reason)
    }
    expect(fs.readdirSync(inside('records', 'issue')).sort()).toEqual(['a.json', 'notes.txt'])
    expect(notices.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(Object.keys(BAD).length + 2)
  })

  test('a partially written file is waited for', async () => {
    let looks = 0
    const { store, notices, write, put } = project(async () => {
      looks += 1
      if (looks === 2) write('b.json', '{"kind":"issue","id":"b"}')
      else write('b.json', '{"kind":"iss')
    })
    await put('a')
    write('b.json', '{"ki')
    expect((await store.list('issue')).map(({ id }) => id)).toEqual(['a', 'b'])
    expect(notices).toEqual([])
  })

  test('a file is not quarantined while it is being written, however long that takes', async () => {
    let text = '{'
    const { store, notices, file, write, put } = project(async () => write('b.json', (text += ' ')))
    await put('a')
    write('b.json', text)
    expect(await store.get('issue', 'b')).toBeNull()
    expect((await store.list('issue')).map(({ id }) => id)).toEqual(['a'])
    expect(notices).toEqual([])
    expect(fs.readFileSync(file('b'), 'utf8')).toBe(text)
  })

  test('a quarantined file that a person has fixed and moved back is read again', async () => {
    const { store, inside, write, put } = project()
    await put('a')
    write('b.json', '{"kind":"issue","id":"b"')
    await store.list('issue')
    fs.writeFileSync(inside('rejected', 'issue', 'b.json'), '{"kind":"issue","id":"b"}')
    fs.renameSync(inside('rejected', 'issue', 'b.json'), inside('records', 'issue', 'b.json'))
    expect((await store.list('issue')).map(({ id }) => id)).toEqual(['a', 'b'])
  })
})

describe('a record that another program changes between the read and the write of a work', () => {
  const kinds = { issue: 'records/issue', decision: 'decisions' }
  const REFUSED = { code: 'store_unavailable', detail: expect.stringContaining('another program') as string }

  describe.each(Object.entries(kinds))('of the kind %s', (kind, folder) => {
    async function begun() {
      const { store, inside, notices } = project()
      for (const id of ['a', 'b']) await store.put(kind, id, { id, kind, title: 'x' })
      const file = inside(...folder.split('/'), 'a.json')
      const edited = () => fs.readFileSync(file, 'utf8').replace('"x"', '"edited"')
      const titles = async () => (await store.list(kind)).map(({ id, body }) => [id, body['title']])
      return { store, notices, file, edited, titles }
    }
    const PUT = { id: 'a', kind, title: 'put' }
    const A_EDITED = ['a', 'edited']
    const B = ['b', 'x']

    test.each([
      ['list', (held: KindRecords) => held.list()],
      ['get', (held: KindRecords) => held.get('a')],
    ])('a changed record is neither overwritten nor removed: %s', async (_, read) => {
      const { store, file, edited, titles, notices } = await begun()
      for (const change of [
        (held: KindRecords) => held.put('a', PUT),
        (held: KindRecords) => held.remove('a'),
      ]) {
        const work = store.exclusive(kind, async (held) => {
          await read(held)
          fs.writeFileSync(file, edited())
          await change(held)
        })
        await expect(work).rejects.toMatchObject(REFUSED)
        expect(await titles()).toEqual([A_EDITED, B])
        await store.put(kind, 'a', { ...PUT, title: 'x' })
      }
      expect(notices).toEqual([])
    })

    test('a changed record is not quarantined, because the new content was not read', async () => {
      const { store, file, edited, titles, notices } = await begun()
      await store.exclusive(kind, async (held) => {
        await held.list()
        fs.writeFileSync(file, edited())
        await held.quarantine('a', 'it does not fit')
      })
      expect(await titles()).toEqual([A_EDITED, B])
      expect(notices).toEqual([])
    })

    test('a removed record is not recreated, and its removal succeeds', async () => {
      const { store, file, titles } = await begun()
      const work = store.exclusive(kind, async (held) => {
        await held.list()
        fs.rmSync(file)
        await held.remove('a')
        await held.put('a', PUT)
      })
      await expect(work).rejects.toMatchObject(REFUSED)
      expect(await titles()).toEqual([B])
    })

    test("a changed record is written after the work has read it again, and the work's own writes do not count", async () => {
      const { store, file, edited, titles } = await begun()
      await store.exclusive(kind, async (held) => {
        await held.list()
        fs.writeFileSync(file, edited())
        await held.list()
        await held.put('a', PUT)
        await held.put('a', { ...PUT, title: 'again' })
        await held.remove('b')
        await held.put('b', { ...PUT, id: 'b' })
        await held.quarantine('b', 'it does not fit')
        await held.put('b', { ...PUT, id: 'b' })
        await held.remove('b')
      })
      expect(await titles()).toEqual([['a', 'again']])
    })

    test('a changed record is written by a work that has not read it', async () => {
      const { store, file, edited, titles } = await begun()
      await store.exclusive(kind, async (held) => {
        fs.writeFileSync(file, edited())
        await held.put('a', PUT)
      })
      expect(await titles()).toEqual([['a', 'put'], B])
    })

    test('a record that the read itself has merged is written', async () => {
      const { store, file, titles, notices } = await begun()
      const side = (title: string) => JSON.stringify({ id: 'a', kind, title, updated_at: title })
      fs.writeFileSync(file, `<<<<<<< HEAD\n${side('1')}\n=======\n${side('2')}\n>>>>>>> x\n`)
      // In the future, so no write is in progress.
      fs.utimesSync(file, 4e9, 4e9)
      await store.exclusive(kind, async (held) => {
        expect((await held.list())[0]?.body['title']).toBe('2')
        await held.put('a', PUT)
      })
      expect(await titles()).toEqual([['a', 'put'], B])
      expect(notices).toHaveLength(1)
    })
  })
})

describe('the lock on a kind', () => {
  const lockOf = (inside: (...names: string[]) => string) => inside('records', 'issue', '.lock')

  test('the lock is released when the work has ended', async () => {
    const { inside, put, store } = project()
    await put('a')
    await expect(store.exclusive('issue', () => Promise.reject(new Error('broke')))).rejects.toThrow('broke')
    expect(fs.readdirSync(inside('records', 'issue'))).toEqual(['a.json'])
  })

  test('the lock of a crashed process does not block others forever', async () => {
    const { inside, put, store } = project()
    await put('a')
    fs.mkdirSync(lockOf(inside))
    const old = new Date(Date.now() - 60_000)
    fs.utimesSync(lockOf(inside), old, old)
    await put('b')
    expect(await store.list('issue')).toHaveLength(2)
  })

  // A laptop was suspended during a change, while another process took the lock.
  test('a lost lock rejects every change and is left to its new holder', async () => {
    const { inside, put, store } = project()
    await put('a', { title: 'before' })
    const refused = store.exclusive('issue', async (records) => {
      fs.rmdirSync(lockOf(inside))
      fs.mkdirSync(lockOf(inside))
      await expect(records.remove('a')).rejects.toMatchObject({ code: 'store_unavailable' })
      await expect(records.quarantine('a', 'bad')).rejects.toMatchObject({ code: 'store_unavailable' })
      await records.put('a', { title: 'after' })
    })
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable', hint: /call again/ })
    expect(await store.get('issue', 'a')).toMatchObject({ title: 'before' })
    expect(fs.existsSync(lockOf(inside))).toBe(true)
  })

  test.each([
    ['issue', 'records/issue/.lock', 'records/issue/a.json.new'],
    ['entity', 'graph/entities.json.lock', 'graph/entities.json.new'],
    ['decision', 'decisions/.lock', 'decisions/index.json.new'],
  ])('a lost lock on %s leaves the draft of its new holder alone', async (kind, lock, draft) => {
    const { inside, store, read } = project()
    await store.put(kind, 'a', { id: 'a' })
    await store.exclusive(kind, async (records) => {
      if (kind === 'decision') await records.put('b', { id: 'b' })
      fs.rmdirSync(inside(lock))
      fs.mkdirSync(inside(lock))
      fs.writeFileSync(inside(draft), 'theirs')
      await expect(records.put('a', { id: 'a', n: 1 })).rejects.toMatchObject({ code: 'store_unavailable' })
    })
    expect(read(draft)).toBe('theirs')
  })
})
