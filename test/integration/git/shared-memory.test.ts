/** Two branches both added to the shared memory, and git merges them: everything from both is there. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openLibrary } from '../../../src/modules/memory/library.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { openProjectRecords } from '../../../src/storage/file/project-records.ts'
import { rejectedIn } from '../../support/rejected-lines.ts'
import { testRepository } from '../../support/test-repository.ts'

const TABLES = ['graph/entities.json', 'graph/relations.json', 'decisions/index.json']
const FILES = ['blackboard.jsonl', ...TABLES]
const KINDS = ['entry', 'decision', 'entity', 'relation']

/** How the person who merges deals with it. */
const WAYS: [string, { union: boolean; resolved: boolean }][] = [
  ['and git keeps both sides by itself', { union: true, resolved: true }],
  ['and a person takes out the marks of the conflicts', { union: false, resolved: true }],
  ['and nobody has resolved it yet', { union: false, resolved: false }],
]
const LAYOUTS: [string, boolean][] = [
  ['as turnbell writes them', false],
  ['as a formatter left them', true],
]
const BEFORE: [string, string[]][] = [
  ['nothing', []],
  ['one record', ['m-base']],
  ['several records', ['c-base', 'm-base', 'x-base']],
]

function memory() {
  const repository = testRepository()
  const inside = (file: string) => path.join(repository.root, '.turnbell', file)
  const open = () => openProjectRecords({ root: repository.root, pause: async () => undefined })
  return {
    ...{ repository, inside, open },
    /** As one who has worked there for a while. */
    add: async (who: string, ids: readonly string[]) => {
      const store = open()
      for (const kind of KINDS) {
        // Some fields of all are the same, which is where merges by lines go wrong.
        const records = ids.map((id) => ({
          id,
          type: 'concept',
          name: `${kind} ${id}`,
          by: who,
          tags: [],
          scope: 'src/',
        }))
        await Promise.all(records.map((one) => store.put(kind, one.id, one)))
      }
    },
    merge: (branch: string): boolean => {
      try {
        repository.git('merge', '--quiet', '--no-edit', branch)
        return true
      } catch {
        return false
      }
    },
  }
}

describe.each(LAYOUTS)('two branches with tables %s', (_, pretty) => {
  describe.each(WAYS)('that both posted and decided are merged %s', (__, { union, resolved }) => {
    test.each(BEFORE)('where both came from %s', async (___, base) => {
      const { repository, inside, open, add, merge } = memory()
      const textsOf = (files: string[]) => files.map((file) => fs.readFileSync(inside(file), 'utf8'))
      const reformat = () => {
        if (!pretty) return
        for (const file of TABLES.filter((one) => one.startsWith('graph'))) {
          const value = JSON.parse(fs.readFileSync(inside(file), 'utf8')) as unknown
          fs.writeFileSync(inside(file), `${JSON.stringify(value, null, 2)}\n`)
        }
      }
      await add('base', base)
      // The first write makes the folder, whatever is written.
      await open().put('issue', 'first', { id: 'first', kind: 'issue' })
      reformat()
      if (!union) fs.writeFileSync(inside('.gitattributes'), '')
      repository.commit('base')
      repository.git('checkout', '--quiet', '-b', 'theirs')
      await add('theirs', ['b-theirs', 'n-theirs', 'z-theirs'])
      reformat()
      repository.commit('theirs')
      repository.git('checkout', '--quiet', 'main')
      await add('ours', ['a-ours', 'n-ours', 'y-ours'])
      reformat()
      repository.commit('ours')

      // A hub has the project open all the while.
      const running = open()
      for (const kind of KINDS) await running.list(kind)
      const merged = merge('theirs')
      expect(merged).toBe(union)
      if (!merged && resolved) {
        for (const file of FILES) {
          const lines = fs.readFileSync(inside(file), 'utf8').split('\n')
          fs.writeFileSync(
            inside(file),
            lines.filter((line) => !/^(<<<<<<<|=======|>>>>>>>)/.test(line)).join('\n'),
          )
        }
      }
      // Nobody is in the middle of writing any more.
      for (const file of FILES) fs.utimesSync(inside(file), new Date(), new Date(Date.now() - 5_000))

      const before = textsOf(FILES)
      const wanted = [...base, 'b-theirs', 'n-theirs', 'z-theirs', 'a-ours', 'n-ours', 'y-ours'].sort()
      for (const store of [running, open()]) {
        for (const kind of KINDS) {
          const rows = await store.list(kind)
          expect([kind, rows.map(({ id }) => id)]).toEqual([kind, wanted])
          for (const { id, body } of rows) {
            const by = id.split('-')[1]
            expect(body).toEqual({ id, type: 'concept', name: `${kind} ${id}`, by, tags: [], scope: 'src/' })
          }
        }
      }
      // Reading leaves what git tracks as the merge left it; a change rewrites it.
      expect(textsOf(FILES)).toEqual(before)
      if (merged) expect(repository.git('status', '--porcelain').trim()).toBe('')
      await add('afterwards', ['q-afterwards'])
      for (const kind of KINDS) expect(await running.list(kind)).toHaveLength(wanted.length + 1)
      for (const table of TABLES) {
        const rows = JSON.parse(fs.readFileSync(inside(table), 'utf8')) as { id: string }[]
        expect(rows.map(({ id }) => id)).toEqual([...wanted, 'q-afterwards'].sort())
      }
      expect(fs.readFileSync(inside('blackboard.jsonl'), 'utf8')).not.toMatch(/^[<=>]/m)
      const marks = rejectedIn(inside('rejected/blackboard.jsonl')).map(({ line }) => line.charAt(0))
      expect(marks).toEqual(resolved ? [] : ['<', '=', '>'])
    })
  })
})

test('an entity that both branches changed is there once, as it was changed last', async () => {
  const { repository, inside, open, merge } = memory()
  const put = (n: number, updated_at: string) => open().put('entity', 'e', { id: 'e', n, updated_at })
  await put(0, '2026-01-01T00:00:00.000Z')
  repository.commit('base')
  repository.git('checkout', '--quiet', '-b', 'theirs')
  await put(1, '2026-03-01T00:00:00.000Z')
  repository.commit('theirs')
  repository.git('checkout', '--quiet', 'main')
  await put(2, '2026-02-01T00:00:00.000Z')
  repository.commit('ours')
  expect(merge('theirs')).toBe(true)
  fs.utimesSync(inside('graph/entities.json'), new Date(), new Date(Date.now() - 5_000))
  expect((await open().list('entity')).map(({ body }) => body['n'])).toEqual([1])
})

describe('a reader of files that git tracks', () => {
  const NOTE = { entry_type: 'warning', summary: 'x' }
  const tracked = (files: Record<string, string>) => {
    const repository = testRepository()
    const inside = (file: string) => path.join(repository.root, '.turnbell', file)
    for (const [file, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(inside(file)), { recursive: true })
      fs.writeFileSync(inside(file), text)
      fs.utimesSync(inside(file), new Date(), new Date(Date.now() - 5_000))
    }
    repository.commit('memory')
    const notices: unknown[] = []
    let ids = 0
    const newId = () => `01JZ000000000000000000000${(ids += 1)}`
    const onRejected = (one: unknown) => notices.push(one)
    const store = openProjectRecords({ root: repository.root, newId, onRejected, group_notices: true })
    const status = () => repository.git('status', '--porcelain').trim()
    return { repository, inside, notices, store, status }
  }

  test('reads a line without an id under one that stays, and a change writes it down', async () => {
    const { store, status, inside, notices } = tracked({ 'blackboard.jsonl': `${JSON.stringify(NOTE)}\n` })
    const [row] = await store.list('entry')
    expect(row?.body).toMatchObject(NOTE)
    expect(await store.list('entry')).toEqual([row])
    expect([status(), notices]).toEqual(['', []])
    await store.put('entry', 'b', { id: 'b' })
    expect((await store.list('entry')).map(({ id }) => id)).toEqual([row?.id, 'b'])
    expect(fs.readFileSync(inside('blackboard.jsonl'), 'utf8')).toContain(row?.id)
  })

  test('leaves lines and files that are no records in their place, and tells them once with their number', async () => {
    const { store, status, notices, inside } = tracked({
      'blackboard.jsonl': '[1]\n[2]\n{"id":"a"}\n',
      'decisions/x.json': '[]\n',
      'decisions/y.json': '[]\n',
    })
    for (let n = 0; n < 3; n += 1) {
      expect(await store.list('entry')).toHaveLength(1)
      expect(await store.list('decision')).toEqual([])
    }
    expect(status()).toBe('')
    expect(notices).toMatchObject([
      { kept_in: null, reason: expect.stringContaining('and 1 more') as string },
      { kept_in: null, count: 2 },
    ])
    expect(await store.unread()).toContainEqual({
      file: inside('blackboard.jsonl'),
      reason: expect.stringContaining('and 1 more') as string,
    })
    await store.remove('entry', 'a')
    expect(rejectedIn(inside('rejected/blackboard.jsonl'))).toHaveLength(2)
    expect(fs.readFileSync(inside('blackboard.jsonl'), 'utf8')).toBe('')
  })

  test('leaves records that do not fit their kind in their place', async () => {
    const { store, status } = tracked({ 'blackboard.jsonl': '{"id":"01JZ0000000000000000000009"}\n' })
    expect(await openLibrary(store, null, silentLog).entries.all()).toEqual([])
    expect(status()).toBe('')
  })

  test('rewrites a file that git does not track', async () => {
    const { store, inside } = tracked({ 'decisions/x.json': '[]\n' })
    fs.writeFileSync(inside('blackboard.jsonl'), '[1]\n')
    fs.utimesSync(inside('blackboard.jsonl'), new Date(), new Date(Date.now() - 5_000))
    await store.list('entry')
    expect(rejectedIn(inside('rejected/blackboard.jsonl'))).toHaveLength(1)
  })
})

test('what is tracked is the memory, and nothing that only a process that runs has a use for', async () => {
  const { repository, open, inside } = memory()
  const store = open()
  await store.put('archive/2026-01-31', 'a', { id: 'a' })
  await store.exclusive('entry', async (held) => {
    await held.put('b', { id: 'b' })
    fs.writeFileSync(`${inside('blackboard.jsonl')}.lock/mine`, '')
    fs.writeFileSync(`${inside('graph/entities.json')}.new`, '')
    repository.git('add', '--all')
    fs.rmSync(`${inside('blackboard.jsonl')}.lock/mine`)
  })
  const tracked = repository.git('ls-files').split('\n')
  const names = ['.gitattributes', '.gitignore', 'blackboard.jsonl', 'config.yml']
  expect(tracked).toEqual([...names, ...TABLES].sort().map((name) => `.turnbell/${name}`))
})
