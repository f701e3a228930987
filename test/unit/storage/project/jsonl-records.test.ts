/** Tests the blackboard as a file, which people, git, crashes and other processes also change. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openProjectRecords } from '../../../../src/storage/file/project/project-records.ts'
import { eventually } from '../../../support/eventually.ts'
import { projectFiles } from '../../../support/disk/project-files.ts'
import { rejectedIn } from '../../../support/disk/rejected-lines.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** No line is being written, unless a test starts one. */
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
    /** Makes all files look recently written, however slow the disk is. */
    keepFresh: () => {
      const now = vi.spyOn(Date, 'now').mockImplementation(() => fs.statSync(file).mtimeMs)
      onTestFinished(() => now.mockRestore())
    },
    /** Makes all files look written a while ago. */
    settle: () => fs.utimesSync(file, new Date(), new Date(Date.now() - 5_000)),
    ids: async () => (await project.store.list('entry')).map(({ id }) => id),
    rejected: () => rejectedIn(project.inside('rejected', 'blackboard.jsonl')),
  }
}

const line = (id: string, fields: object = {}) => `${JSON.stringify({ id, ...fields })}\n`

describe('the lines of a log', () => {
  test('a log contains the records themselves, in the order of the puts', async () => {
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

  test('a put only appends, and the last line of an id is current', async () => {
    const { post, text, store, ids } = board()
    await post('a', { n: 1 })
    await post('b')
    const before = text()
    await post('a', { n: 2 })
    expect(text()).toBe(before + line('a', { n: 2 }))
    expect(await ids()).toEqual(['a', 'b'])
    expect(await store.get('entry', 'a')).toEqual({ id: 'a', n: 2 })
  })

  test('a remove deletes all lines of the record', async () => {
    const { post, text, store } = board()
    for (const n of [1, 2, 3]) await post('a', { n })
    await post('b')
    await store.remove('entry', 'a')
    expect(text()).toBe(line('b'))
    await store.remove('entry', 'a')
    expect(text()).toBe(line('b'))
  })

  test('concurrent changes of a log share one write', async () => {
    const { post, store, file, text } = board()
    await post('a')
    const before = fs.statSync(file).ino
    await Promise.all(Array.from({ length: 50 }, (_, n) => post(`n${n}`)))
    expect(text().trimEnd().split('\n')).toHaveLength(51)
    expect(fs.statSync(file).ino).toBe(before)
    // Fifty removals rewrite the file once: if it were rewritten each time, this would show.
    await store.exclusive('entry', async (held) => {
      await Promise.all(Array.from({ length: 50 }, (_, n) => held.remove(`n${n}`)))
    })
    expect(text()).toBe(line('a'))
  })

  test("a log has the user's default mode and keeps a changed one", async () => {
    const { post, store, file } = board()
    await post('a')
    await post('b')
    expect(fs.statSync(file).mode & 0o777).toBe(0o666 & ~process.umask())
    fs.chmodSync(file, 0o640)
    await store.remove('entry', 'a')
    expect(fs.statSync(file).mode & 0o777).toBe(0o640)
  })

  test('archived entries are in the file of their day', async () => {
    const { store, read, post, ids } = board()
    await store.put('archive/2026-11-23', 'a', { id: 'a' })
    await post('b')
    expect(read('archive', '2026-11-23-blackboard.jsonl')).toBe(line('a'))
    expect(await ids()).toEqual(['b'])
    expect(await store.list('archive/2026-11-23')).toEqual([{ id: 'a', body: { id: 'a' } }])
    expect(await store.list('archive/2026-11-24')).toEqual([])
  })

  test('a log rejects a record that is too large to be read', async () => {
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

describe('changes of a log by other programs', () => {
  test('lines of other programs are read at the next call, however they are written', async () => {
    const { post, add, file, text, store, ids } = board()
    await post('a', { n: 1 })
    add(line('b'))
    expect(await ids()).toEqual(['a', 'b'])
    expect(await store.get('entry', 'b')).toEqual({ id: 'b' })
    for (const n of [2, 3, 4]) {
      // In place, at once, and with the same length.
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

  test('a change of one line keeps the rows of all others the same objects', async () => {
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

  test('an unchanged log is not read again', async () => {
    const { post, file, store } = board()
    await post('a')
    await eventually('the clock has gone on', () => Date.now() - fs.statSync(file).ctimeMs > 60)
    const first = await store.list('entry')
    expect(await store.list('entry')).toBe(first)
  })

  test('a log may have other line ends, blank lines and a byte order mark', async () => {
    const { post, add, file, text, ids, rejected } = board()
    await post('a')
    fs.writeFileSync(file, `\uFEFF${text()}\r\n\n  \n${line('b').trimEnd()}\r\n`)
    add('\n\uFEFF\n')
    expect(await ids()).toEqual(['a', 'b'])
    await post('c')
    expect(await ids()).toEqual(['a', 'b', 'c'])
    expect(rejected()).toEqual([])
  })

  test('a duplicate line counts once, and a later different line replaces an earlier one', async () => {
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
    ['a torn object', '{"id":"torn","te', /JSON/],
    ['words', 'remember the milk', /JSON/],
    [
      'a number that would be rounded',
      '{"id":"x","n":[9007199254740993]}',
      /^n\.0: 9007199254740993 is beyond/,
    ],
    ['a list', '[{"id":"x"}]', /not an object/],
    ['a text', '"id"', /not an object/],
    ['null', 'null', /not an object/],
    ['an id that is no text', '{"id":7}', /id is not a string/],
    ['an id that is null', '{"id":null}', /id is not a string/],
    ['the beginning of a conflict', '<<<<<<< HEAD', /merge conflict/],
    ['the common side of a conflict', '||||||| 1234abc', /merge conflict/],
    ['the middle of a conflict', '=======', /merge conflict/],
    ['the end of a conflict', '>>>>>>> feature/x', /merge conflict/],
    ['zeros of a crashed file system', '\0\0\0\0', /JSON/],
    ['more than a record may have', line('x', { text: 'x'.repeat(1024 * 1024) }).trimEnd(), /larger/],
    ['no id where nobody can give one', '{"text":"by hand"}', /has no id/],
  ]

  test.each(BAD)(
    'an invalid part of a log is quarantined with the reason if it is %s, and the rest is unchanged',
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

  test('an invalid line that is not text is quarantined byte for byte', async () => {
    const { post, file, ids, rejected } = board()
    await post('a')
    const latin = Buffer.from(line('b', { text: 'grün' }), 'latin1')
    fs.appendFileSync(file, latin)
    expect(await ids()).toEqual(['a'])
    expect(Buffer.from(String(rejected()[0]?.base64), 'base64')).toEqual(latin.subarray(0, -1))
    expect(rejected()[0]?.reason).toMatch(/UTF-8/)
  })

  test('both sides of a conflict are read', async () => {
    const { post, add, ids, rejected, text } = board()
    await post('a')
    add(`<<<<<<< HEAD\n${line('b')}||||||| base\n=======\n${line('c')}>>>>>>> theirs\n${line('d')}`)
    expect(await ids()).toEqual(['a', 'b', 'c', 'd'])
    expect(text()).toBe(line('a') + line('b') + line('c') + line('d'))
    expect(rejected().map(({ line: one }) => one[0])).toEqual(['<', '|', '=', '>'])
  })

  test('a line without an id gets one once and keeps it', async () => {
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

describe('lines appended during a rewrite', () => {
  test('lines appended during a rewrite are kept, however often that happens', async () => {
    const { file, store, post, ids, rejected } = board()
    const going = Array.from({ length: 40 }, (_, n) => `go-${n}`)
    await Promise.all(going.map((id) => post(id, { text: 'x'.repeat(2_000) })))
    const by_hand = Array.from({ length: 300 }, (_, n) => `hand-${n}`)
    const adding = (async () => {
      for (const id of by_hand) {
        // Immediately, because between opening and writing the log may be replaced, which cannot be detected.
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

describe('a partial line at the end of a log', () => {
  const HALF = '{"id":"b","te'

  test('a partial line waits for its end, however old it is and however often it is read', async () => {
    const { post, add, settle, ids, rejected, text, file, store } = board()
    await post('a')
    add(HALF)
    for (let looks = 1; looks <= 3; looks += 1) {
      expect(await ids()).toEqual(['a'])
      expect(await store.unreadableFiles()).toEqual([{ file, reason: 'its last line is incomplete' }])
      settle()
    }
    expect(text()).toBe(line('a') + HALF)
    expect(rejected()).toEqual([])
    add('xt":1}\n')
    expect(await ids()).toEqual(['a', 'b'])
    expect(await store.unreadableFiles()).toEqual([])
  })

  test('a partial line blocks no reader', async () => {
    const { post, add, ids } = board({ pause: () => Promise.reject(new Error('it waited')) })
    await post('a')
    add(HALF)
    expect(await ids()).toEqual(['a'])
  })

  test('a partial line stays while lines before it are quarantined, named or removed', async () => {
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

  test('a partial line stays while it is being written, however long that takes', async () => {
    const { post, add, ids, rejected, text } = board({ pause: async () => add(' ') })
    await post('a')
    add('no entry\n{')
    expect(await ids()).toEqual(['a'])
    expect(rejected()).toEqual([])
    expect(text()).toMatch(/^\{"id":"a"\}\nno entry\n\{ +$/)
  })

  test('a partial line of a killed process is quarantined with the next put, which starts a new line', async () => {
    const { post, add, settle, ids, store, rejected, text } = board()
    await post('a')
    add(HALF)
    settle()
    await post('c')
    expect(text()).toBe(`${line('a')}${HALF}\n${line('c')}`)
    expect(await ids()).toEqual(['a', 'c'])
    expect(rejected()).toMatchObject([{ line: HALF, reason: expect.stringMatching(/JSON/) as string }])
    add('{"id":"d"')
    settle()
    await store.exclusive('entry', (held) =>
      Promise.all([held.remove('a'), held.put('e', { id: 'e' })]).then(() => undefined),
    )
    expect(await ids()).toEqual(['c', 'e'])
    expect(text()).toBe(line('c') + line('e'))
    expect(rejected()).toMatchObject([{ line: HALF }, { line: '{"id":"d"' }])
  })

  // Each read finds another incomplete line of a writer that writes each line in two steps.
  test('a put waits for the end of a partial line, also if the next one has begun', async () => {
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

  describe('a writer that keeps the log open during a rewrite', () => {
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

    test('a line that such a writer adds before the rename is waited for', async () => {
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

    test('a line that such a writer adds at the last moment is copied with its rest', async () => {
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

  test('a put waits for the end of a partial line, so that two lines do not become one', async () => {
    const { post, add, ids, rejected, keepFresh } = board({ pause: async () => add('}\n') })
    await post('a')
    keepFresh()
    add('{"id":"b"')
    await post('c')
    expect(await ids()).toEqual(['a', 'b', 'c'])
    expect(rejected()).toEqual([])
  })

  test('a last line that is a whole record counts, with or without its newline', async () => {
    const { post, add, ids, settle } = board()
    await post('a')
    add(line('b').trimEnd())
    expect(await ids()).toEqual(['a', 'b'])
    settle()
    await post('c')
    expect(await ids()).toEqual(['a', 'b', 'c'])
  })
})

describe('a log that cannot be rewritten', () => {
  test('a log that cannot be rewritten is still read, and its invalid lines are reported once', async () => {
    const { post, add, file, text, ids, notices, inside } = board()
    await post('a')
    add(`{\n${line('b')}`)
    const before = text()
    // Writing is impossible: another entry is at the path of the lock.
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

  test('a log that another process is writing is cleaned by a later read', async () => {
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

  test('an invalid line is also found by the holder of the lock', async () => {
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

  test('invalid lines are quarantined when a record is removed, whatever its id', async () => {
    const { post, add, store, text, ids, rejected } = board()
    await post('')
    await post('a')
    add(`{\n\n${line('b')}`)
    await store.remove('entry', '')
    expect(text()).toBe(`${line('a')}{\n\n${line('b')}`)
    expect(await ids()).toEqual(['a', 'b'])
    expect(rejected()).toMatchObject([{ line: '{' }])
  })

  test('a quarantined record is kept with its reason and all its lines', async () => {
    const { post, store, text, rejected } = board()
    await post('a', { n: 1 })
    await post('b')
    await post('a', { n: 2 })
    await store.quarantine('entry', 'a', 'it is misshapen')
    expect(text()).toBe(line('b'))
    expect(rejected()).toMatchObject([
      { reason: 'it is misshapen', line: line('a', { n: 1 }).trimEnd() },
      { reason: 'it is misshapen', line: line('a', { n: 2 }).trimEnd() },
    ])
  })

  test('a lost lock rejects every change', async () => {
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

describe('links and other entries in place of a log', () => {
  const PLACES: [string, string[]][] = [
    ['the log', ['blackboard.jsonl']],
    ['all of it', []],
  ]
  test.each(PLACES)('a log is neither read nor written if %s is a link', async (_, names) => {
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

  test('a link in place of the quarantine or of a draft is never written through', async () => {
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
