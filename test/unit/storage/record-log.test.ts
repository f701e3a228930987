/** The blackboard as a file: what people, git, crashes and other processes may do to its lines. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openProjectRecords } from '../../../src/storage/file/project-records.ts'
import { eventually } from '../../support/eventually.ts'
import { projectFiles } from '../../support/project-files.ts'
import { rejectedIn } from '../../support/rejected-lines.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** Nobody is in the middle of a line, unless a test says so. */
function board({
  pause = async () => undefined,
  newId,
}: { pause?: (ms: number) => Promise<unknown>; newId?: () => string } = {}) {
  const project = projectFiles(pause, newId)
  const file = project.inside('blackboard.jsonl')
  return {
    ...{ ...project, file },
    post: (id: string, fields: object = {}) => project.store.put('entry', id, { id, ...fields }),
    add: (text: string) => fs.appendFileSync(file, text),
    text: () => fs.readFileSync(file, 'utf8'),
    /** As if everything had been written just now, however slow the disk is. */
    keepFresh: () => {
      const now = vi.spyOn(Date, 'now').mockImplementation(() => fs.statSync(file).mtimeMs)
      onTestFinished(() => now.mockRestore())
    },
    /** As if everything had been written a while ago. */
    settle: () => fs.utimesSync(file, new Date(), new Date(Date.now() - 5_000)),
    ids: async () => (await project.store.list('entry')).map(({ id }) => id),
    rejected: () => rejectedIn(project.inside('rejected', 'blackboard.jsonl')),
  }
}

const line = (id: string, fields: object = {}) => `${JSON.stringify({ id, ...fields })}\n`

describe('the lines of a log', () => {
  test('are the records themselves, in the order they were put', async () => {
    const { post, text, store } = board()
    await post('b', { summary: 'one' })
    await post('a', { summary: 'ünï\n"two"' })
    await store.put('entry', 'c', { summary: 'does not say its id' })
    expect(
      text()
        .split('\n')
        .slice(0, 2)
        .map((one) => JSON.parse(one) as unknown),
    ).toEqual([
      { id: 'b', summary: 'one' },
      { id: 'a', summary: 'ünï\n"two"' },
    ])
    expect(text().trimEnd().split('\n')).toHaveLength(3)
    expect(await store.get('entry', 'c')).toEqual({ summary: 'does not say its id' })
  })

  test('are only added to by a put, and the last one of an id counts', async () => {
    const { post, text, store, ids } = board()
    await post('a', { n: 1 })
    await post('b')
    const before = text()
    await post('a', { n: 2 })
    expect(text()).toBe(before + line('a', { n: 2 }))
    expect(await ids()).toEqual(['a', 'b'])
    expect(await store.get('entry', 'a')).toEqual({ id: 'a', n: 2 })
  })

  test('are all gone with the record', async () => {
    const { post, text, store } = board()
    for (const n of [1, 2, 3]) await post('a', { n })
    await post('b')
    await store.remove('entry', 'a')
    expect(text()).toBe(line('b'))
    await store.remove('entry', 'a')
    expect(text()).toBe(line('b'))
  })

  test('are written together where they are asked for together', async () => {
    const { post, store, file, text } = board()
    await post('a')
    const before = fs.statSync(file).ino
    await Promise.all(Array.from({ length: 50 }, (_, n) => post(`n${n}`)))
    expect(text().trimEnd().split('\n')).toHaveLength(51)
    expect(fs.statSync(file).ino).toBe(before)
    // Fifty that go leave the file written anew once: as a rule a new file each time would be seen here.
    await store.exclusive('entry', async (held) => {
      await Promise.all(Array.from({ length: 50 }, (_, n) => held.remove(`n${n}`)))
    })
    expect(text()).toBe(line('a'))
  })

  test('have the modes of the user, and keep those that somebody has set', async () => {
    const { post, store, file } = board()
    await post('a')
    await post('b')
    expect(fs.statSync(file).mode & 0o777).toBe(0o666 & ~process.umask())
    fs.chmodSync(file, 0o640)
    await store.remove('entry', 'a')
    expect(fs.statSync(file).mode & 0o777).toBe(0o640)
  })

  test('of an archive stand in the file of its day', async () => {
    const { store, read, post, ids } = board()
    await store.put('archive/2026-11-23', 'a', { id: 'a' })
    await post('b')
    expect(read('archive', '2026-11-23-blackboard.jsonl')).toBe(line('a'))
    expect(await ids()).toEqual(['b'])
    expect(await store.list('archive/2026-11-23')).toEqual([{ id: 'a', body: { id: 'a' } }])
    expect(await store.list('archive/2026-11-24')).toEqual([])
  })

  test('are refused where they would be larger than a reader takes', async () => {
    const { post, ids, text } = board()
    await post('a')
    await expect(post('b', { text: 'x'.repeat(1024 * 1024) })).rejects.toMatchObject({
      code: 'record_too_large',
    })
    await post('c')
    expect(await ids()).toEqual(['a', 'c'])
    expect(text().trimEnd().split('\n')).toHaveLength(2)
  })
})

describe('what others write into a log', () => {
  test('is taken in at the next read, however they write', async () => {
    const { post, add, file, text, store, ids } = board()
    await post('a', { n: 1 })
    add(line('b'))
    expect(await ids()).toEqual(['a', 'b'])
    expect(await store.get('entry', 'b')).toEqual({ id: 'b' })
    for (const n of [2, 3, 4]) {
      // In place, at once, and of the same length.
      fs.writeFileSync(file, text().replace(/"n":\d/, `"n":${n}`))
      expect(await store.get('entry', 'a')).toEqual({ id: 'a', n })
      expect((await store.list('entry'))[0]?.body).toEqual({ id: 'a', n })
    }
    fs.writeFileSync(`${file}~`, line('c') + line('b'))
    fs.renameSync(`${file}~`, file)
    expect(await ids()).toEqual(['b', 'c'])
    await post('d')
    expect(await ids()).toEqual(['b', 'c', 'd'])
    fs.truncateSync(file, line('c').length)
    expect(await ids()).toEqual(['c'])
    fs.truncateSync(file, 0)
    expect(await ids()).toEqual([])
    fs.rmSync(file)
    expect(await ids()).toEqual([])
    await post('e')
    expect(text()).toBe(line('e'))
  })

  test('leaves the rows of all other lines the same objects', async () => {
    const { post, add, file, text, store } = board()
    for (const id of ['a', 'b', 'c']) await post(id, { n: 1 })
    const [a, b, c] = await store.list('entry')
    add(line('d').trimEnd())
    await post('e')
    fs.writeFileSync(file, line('0') + text().replace(line('b', { n: 1 }), line('b', { n: 2 })))
    const rows = await store.list('entry')
    expect(rows.map(({ id }) => id)).toEqual(['0', 'a', 'b', 'c', 'd', 'e'])
    expect(rows[1]).toBe(a)
    expect(rows[2]).not.toBe(b)
    expect(rows[3]).toBe(c)
    await store.remove('entry', '0')
    const [again] = await store.list('entry')
    expect(again).toBe(a)
  })

  test('is not read again as long as nothing has changed', async () => {
    const { post, file, store } = board()
    await post('a')
    await eventually('the clock has gone on', () => Date.now() - fs.statSync(file).ctimeMs > 60)
    const first = await store.list('entry')
    expect(await store.list('entry')).toBe(first)
  })

  test('may have the ends of lines, blank lines and the mark in front of other editors', async () => {
    const { post, add, file, text, ids, rejected } = board()
    await post('a')
    fs.writeFileSync(file, `\uFEFF${text()}\r\n\n  \n${line('b').trimEnd()}\r\n`)
    add('\n\uFEFF\n')
    expect(await ids()).toEqual(['a', 'b'])
    await post('c')
    expect(await ids()).toEqual(['a', 'b', 'c'])
    expect(rejected()).toEqual([])
  })

  test('says the same once where it stands there twice, and the later where it differs', async () => {
    const { post, add, store, text } = board()
    await post('a', { n: 1 })
    add(line('a', { n: 1 }) + line('b', { n: 2 }) + line('b', { n: 1 }))
    const before = text()
    expect(await store.list('entry')).toEqual([
      { id: 'a', body: { id: 'a', n: 1 } },
      { id: 'b', body: { id: 'b', n: 1 } },
    ])
    expect(text()).toBe(before)
  })

  const BAD: [string, string, RegExp][] = [
    ['a torn object', '{"id":"torn","te', /no JSON/],
    ['words', 'remember the milk', /no JSON/],
    [
      'a number that would be rounded',
      '{"id":"x","n":[9007199254740993]}',
      /^n\.0: 9007199254740993 is beyond/,
    ],
    ['a list', '[{"id":"x"}]', /no object/],
    ['a text', '"id"', /no object/],
    ['null', 'null', /no object/],
    ['an id that is no text', '{"id":7}', /id is no text/],
    ['an id that is null', '{"id":null}', /id is no text/],
    ['the beginning of a conflict', '<<<<<<< HEAD', /merge conflict/],
    ['the common side of a conflict', '||||||| 1234abc', /merge conflict/],
    ['the middle of a conflict', '=======', /merge conflict/],
    ['the end of a conflict', '>>>>>>> feature/x', /merge conflict/],
    ['zeros of a crashed file system', '\0\0\0\0', /no JSON/],
    ['more than a record may have', line('x', { text: 'x'.repeat(1024 * 1024) }).trimEnd(), /larger/],
    ['no id where nobody can give one', '{"text":"by hand"}', /does not say its id/],
  ]

  test.each(BAD)(
    'is set aside with the reason where it is %s, and the rest is as it was',
    async (_, bad, reason) => {
      const { post, add, text, ids, rejected, notices } = board()
      await post('a')
      add(`${bad}\n${line('b')}`)
      expect(await ids()).toEqual(['a', 'b'])
      expect(text()).toBe(line('a') + line('b'))
      expect(rejected()).toMatchObject([{ line: bad, reason: expect.stringMatching(reason) as string }])
      expect(rejected()[0]?.at).toMatch(/^\d{4}-\d\d-\d\dT/)
      expect(notices).toHaveLength(1)
      await post('c')
      expect(await ids()).toEqual(['a', 'b', 'c'])
      expect(rejected()).toHaveLength(1)
    },
  )

  test('keeps byte for byte what is no text', async () => {
    const { post, file, ids, rejected } = board()
    await post('a')
    const latin = Buffer.from(line('b', { text: 'grün' }), 'latin1')
    fs.appendFileSync(file, latin)
    expect(await ids()).toEqual(['a'])
    expect(Buffer.from(String(rejected()[0]?.base64), 'base64')).toEqual(latin.subarray(0, -1))
    expect(rejected()[0]?.reason).toMatch(/UTF-8/)
  })

  test('keeps both sides of a conflict', async () => {
    const { post, add, ids, rejected, text } = board()
    await post('a')
    add(`<<<<<<< HEAD\n${line('b')}||||||| base\n=======\n${line('c')}>>>>>>> theirs\n${line('d')}`)
    expect(await ids()).toEqual(['a', 'b', 'c', 'd'])
    expect(text()).toBe(line('a') + line('b') + line('c') + line('d'))
    expect(rejected().map(({ line: one }) => one[0])).toEqual(['<', '|', '=', '>'])
  })

  test('is given an id where it says none, once, and keeps it', async () => {
    let last = 0
    const { root, post, add, settle, text, ids, store, rejected } = board({
      newId: () => `new-${(last += 1)}`,
    })
    await post('a')
    add('{"type":"finding","summary":"by hand"}\n{"summary":"another"}')
    settle()
    expect(await ids()).toEqual(['a', 'new-1', 'new-2'])
    expect(await ids()).toEqual(['a', 'new-1', 'new-2'])
    expect(await store.get('entry', 'new-1')).toEqual({ id: 'new-1', type: 'finding', summary: 'by hand' })
    expect(text().split('\n')[1]).toBe('{"id":"new-1","type":"finding","summary":"by hand"}')
    expect((await openProjectRecords({ root }).list('entry')).map(({ id }) => id)).toEqual([
      'a',
      'new-1',
      'new-2',
    ])
    expect(rejected()).toEqual([])
  })
})

describe('what others add while a log is written anew', () => {
  test('is taken along, however often that is', async () => {
    const { file, store, post, ids, rejected } = board()
    const going = Array.from({ length: 40 }, (_, n) => `go-${n}`)
    await Promise.all(going.map((id) => post(id, { text: 'x'.repeat(2_000) })))
    const by_hand = Array.from({ length: 300 }, (_, n) => `hand-${n}`)
    const adding = (async () => {
      for (const id of by_hand) {
        // At once: between the opening and the writing the log may be replaced, which nobody can find out.
        fs.appendFileSync(file, line(id))
        await new Promise(setImmediate)
      }
    })()
    for (const id of going) {
      await store.remove('entry', id)
      await post(`after-${id}`)
    }
    await adding
    expect(await ids()).toEqual([...by_hand, ...going.map((id) => `after-${id}`)].sort())
    expect(rejected()).toEqual([])
  })
})

describe('half a line at the end', () => {
  const HALF = '{"id":"b","te'

  test('waits for whoever ends it, however old it is and however often it is looked at', async () => {
    const { post, add, settle, ids, rejected, text, file, store } = board()
    await post('a')
    add(HALF)
    for (let looks = 1; looks <= 3; looks += 1) {
      expect(await ids()).toEqual(['a'])
      expect(await store.unread()).toEqual([{ file, reason: 'its last line has no end, and waits for it' }])
      settle()
    }
    expect(text()).toBe(line('a') + HALF)
    expect(rejected()).toEqual([])
    add('xt":1}\n')
    expect(await ids()).toEqual(['a', 'b'])
    expect(await store.unread()).toEqual([])
  })

  test('holds up no reader', async () => {
    const { post, add, ids } = board({ pause: () => Promise.reject(new Error('it waited')) })
    await post('a')
    add(HALF)
    expect(await ids()).toEqual(['a'])
  })

  test('stays where others are set aside, named or removed in front of it', async () => {
    const { post, add, settle, ids, store, rejected, text } = board({ newId: () => 'new' })
    await post('a')
    add(`no entry\n{"n":1}\n${HALF}`)
    settle()
    expect(await ids()).toEqual(['a', 'new'])
    expect(text()).toBe(`${line('a')}${line('new', { n: 1 })}${HALF}`)
    settle()
    await store.remove('entry', 'a')
    expect(text()).toBe(`${line('new', { n: 1 })}${HALF}`)
    expect(rejected()).toMatchObject([{ line: 'no entry' }])
    add('xt":1}\n')
    expect(await ids()).toEqual(['b', 'new'])
  })

  test('is left where it is while it is being written, however long that takes', async () => {
    const { post, add, ids, rejected, text } = board({ pause: async () => add(' ') })
    await post('a')
    add('no entry\n{')
    expect(await ids()).toEqual(['a'])
    expect(rejected()).toEqual([])
    expect(text()).toMatch(/^\{"id":"a"\}\nno entry\n\{ +$/)
  })

  test('that a killed process left is set aside with the next put, which stands on a line of its own', async () => {
    const { post, add, settle, ids, store, rejected, text } = board()
    await post('a')
    add(HALF)
    settle()
    await post('c')
    expect(text()).toBe(`${line('a')}${HALF}\n${line('c')}`)
    expect(await ids()).toEqual(['a', 'c'])
    expect(rejected()).toMatchObject([{ line: HALF, reason: expect.stringMatching(/no JSON/) as string }])
    add('{"id":"d"')
    settle()
    await store.exclusive('entry', (held) =>
      Promise.all([held.remove('a'), held.put('e', { id: 'e' })]).then(() => undefined),
    )
    expect(await ids()).toEqual(['c', 'e'])
    expect(text()).toBe(line('c') + line('e'))
    expect(rejected()).toMatchObject([{ line: HALF }, { line: '{"id":"d"' }])
  })

  // Each look falls into another line of somebody who writes one after the other, in two steps each.
  test('is waited for by a put, also where the next one has begun by then', async () => {
    let lines = 0
    const { post, add, ids, rejected, keepFresh } = board({
      async pause() {
        lines += 1
        add(lines < 20 ? `${lines}"}\n{"id":"b` : `${lines}"}\n`)
      },
    })
    await post('a')
    keepFresh()
    add('{"id":"b')
    await post('c')
    expect(rejected()).toEqual([])
    expect(await ids()).toHaveLength(22)
    expect(lines).toBe(20)
  })

  describe('of somebody who keeps the log open while it is written anew', () => {
    const { renameSync } = fs
    const { open } = fs.promises
    afterEach(() => {
      fs.renameSync = renameSync
      fs.promises.open = open
    })

    async function opened() {
      const world = board({ pause: async () => void fs.writeSync(writer, 'xt":1}\n') })
      await world.post('a')
      await world.post('c')
      world.keepFresh()
      const writer = fs.openSync(world.file, 'a')
      onTestFinished(() => fs.closeSync(writer))
      return { ...world, begin: () => void fs.writeSync(writer, HALF) }
    }

    test('is waited for where it comes before the log is replaced', async () => {
      const { begin, store, ids, rejected } = await opened()
      let drafts = 0
      fs.promises.open = async (file, ...how) => {
        if (String(file).endsWith('.new') && (drafts += 1) === 1) begin()
        return open(file, ...how)
      }
      await store.remove('entry', 'a')
      expect(await ids()).toEqual(['b', 'c'])
      expect(drafts).toBe(2)
      expect(rejected()).toEqual([])
    })

    test('is taken along with its rest where it comes at the last moment', async () => {
      const { begin, store, ids, file, rejected } = await opened()
      fs.renameSync = (from, to) => {
        if (String(to) === file) begin()
        renameSync(from, to)
      }
      await store.remove('entry', 'a')
      expect(await ids()).toEqual(['b', 'c'])
      expect(rejected()).toEqual([])
    })
  })

  test('is waited for by a put, so that two lines do not become one', async () => {
    const { post, add, ids, rejected, keepFresh } = board({ pause: async () => add('}\n') })
    await post('a')
    keepFresh()
    add('{"id":"b"')
    await post('c')
    expect(await ids()).toEqual(['a', 'b', 'c'])
    expect(rejected()).toEqual([])
  })

  test('that is a whole record is one, with or without its end', async () => {
    const { post, add, ids, settle } = board()
    await post('a')
    add(line('b').trimEnd())
    expect(await ids()).toEqual(['a', 'b'])
    settle()
    await post('c')
    expect(await ids()).toEqual(['a', 'b', 'c'])
  })
})

describe('where a log cannot be mended', () => {
  test('it is read all the same, and what is bad is told of once', async () => {
    const { post, add, file, text, ids, notices, inside } = board()
    await post('a')
    add(`{\n${line('b')}`)
    const before = text()
    // Nobody may write here: something else stands in the place of the lock.
    fs.writeFileSync(`${file}.lock`, '')
    for (let reads = 1; reads <= 3; reads += 1) expect(await ids()).toEqual(['a', 'b'])
    expect(notices).toMatchObject([{ file, kept_in: null }])
    add('[\n')
    expect(await ids()).toEqual(['a', 'b'])
    expect(notices).toHaveLength(2)
    expect(text()).toBe(`${before}[\n`)
    expect(fs.existsSync(inside('rejected'))).toBe(false)
    await expect(post('c')).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('because another process is writing, a later look does it', async () => {
    const { post, add, file, ids, rejected } = board()
    await post('a')
    add('{\n')
    fs.mkdirSync(`${file}.lock`)
    expect(await ids()).toEqual(['a'])
    expect(rejected()).toEqual([])
    fs.rmdirSync(`${file}.lock`)
    expect(await ids()).toEqual(['a'])
    expect(rejected()).toHaveLength(1)
  })

  test('it is found by the one who holds the lock, too', async () => {
    const { add, post, store, rejected } = board()
    await post('a')
    await store.exclusive('entry', async (held) => {
      add('{\n')
      expect(await held.list()).toHaveLength(1)
      add('[\n')
      expect(await store.list('entry')).toHaveLength(1)
      await held.put('b', { id: 'b' })
    })
    expect(rejected()).toHaveLength(2)
    expect(await store.list('entry')).toHaveLength(2)
  })

  test('what is bad is not lost with what goes, whatever the name of that', async () => {
    const { post, add, store, text, ids, rejected } = board()
    await post('')
    await post('a')
    add(`{\n\n${line('b')}`)
    await store.remove('entry', '')
    expect(text()).toBe(`${line('a')}{\n\n${line('b')}`)
    expect(await ids()).toEqual(['a', 'b'])
    expect(rejected()).toMatchObject([{ line: '{' }])
  })

  test('a setting aside is kept with its reason, with all that was ever said of it', async () => {
    const { post, store, text, rejected } = board()
    await post('a', { n: 1 })
    await post('b')
    await post('a', { n: 2 })
    await store.setAside('entry', 'a', 'it is misshapen')
    expect(text()).toBe(line('b'))
    expect(rejected()).toMatchObject([
      { reason: 'it is misshapen', line: line('a', { n: 1 }).trimEnd() },
      { reason: 'it is misshapen', line: line('a', { n: 2 }).trimEnd() },
    ])
  })

  test('the lock that was lost meanwhile makes every change refused', async () => {
    const { post, store, file, text } = board()
    await post('a')
    const refused = store.exclusive('entry', async (held) => {
      fs.rmdirSync(`${file}.lock`)
      fs.mkdirSync(`${file}.lock`)
      await expect(held.remove('a')).rejects.toMatchObject({ code: 'store_unavailable' })
      await held.put('b', { id: 'b' })
    })
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable', hint: /call again/ })
    expect(text()).toBe(line('a'))
    expect(fs.existsSync(`${file}.new`)).toBe(false)
  })
})

describe('what a repository brought along in place of a log', () => {
  const PLACES: [string, string[]][] = [
    ['the log', ['blackboard.jsonl']],
    ['all of it', []],
  ]
  test.each(PLACES)('is neither read nor written where %s is a link', async (_, names) => {
    const { store, inside, post, notices } = board()
    const foreign = temporaryDirectory()
    const target = names.length === 0 ? foreign : path.join(foreign, 'file')
    fs.writeFileSync(path.join(foreign, 'file'), 'not json\n')
    fs.mkdirSync(path.dirname(inside(...names)), { recursive: true })
    fs.rmSync(inside(...names), { recursive: true, force: true })
    fs.symlinkSync(target, inside(...names))
    const refused = { code: 'store_unavailable', detail: expect.stringContaining('is a link') as string }
    for (const work of [
      () => store.list('entry'),
      () => store.get('entry', 'a'),
      () => post('a'),
      () => store.remove('entry', 'a'),
      () => store.exclusive('entry', (held) => held.list()),
    ])
      await expect(work()).rejects.toMatchObject(refused)
    expect(fs.readFileSync(path.join(foreign, 'file'), 'utf8')).toBe('not json\n')
    expect(fs.readdirSync(foreign)).toEqual(['file'])
    expect(notices).toEqual([])
  })

  test('is never written through: a link where the rejected go, or where the file is drafted', async () => {
    const { post, add, store, inside, ids, file, text, notices } = board()
    const foreign = path.join(temporaryDirectory(), 'profile')
    fs.writeFileSync(foreign, 'mine\n')
    await post('a')
    await post('b')
    fs.mkdirSync(inside('rejected'))
    fs.symlinkSync(foreign, inside('rejected', 'blackboard.jsonl'))
    fs.symlinkSync(foreign, `${file}.new`)
    add('{\n')
    expect(await ids()).toEqual(['a', 'b'])
    expect(notices).toMatchObject([{ kept_in: null }])
    fs.rmSync(inside('rejected', 'blackboard.jsonl'))
    await store.remove('entry', 'a')
    expect(await ids()).toEqual(['b'])
    expect(text()).toBe(line('b'))
    expect(fs.readFileSync(foreign, 'utf8')).toBe('mine\n')
  })
})
