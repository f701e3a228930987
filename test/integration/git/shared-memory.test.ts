/** Tests that git merges two branches that both added to the shared memory, and no addition is lost. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProjectMemory } from '../../../src/modules/memory/project-memory.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { openProjectRecords } from '../../../src/storage/file/project/project-records.ts'
import { rejectedIn } from '../../support/disk/rejected-lines.ts'
import { testRepository } from '../../support/disk/test-repository.ts'

const TABLES = ['graph/entities.json', 'graph/relations.json', 'decisions/index.json']
const FILES = ['blackboard.jsonl', ...TABLES]
const KINDS = ['entry', 'decision', 'entity', 'relation']

/** How the user handles the merge. */
const WAYS: [string, { union: boolean; resolved: boolean }][] = [
  ['and git keeps both sides (merge=union)', { union: true, resolved: true }],
  ['and the user removes the conflict markers', { union: false, resolved: true }],
  ['and the conflict is unresolved', { union: false, resolved: false }],
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
    /** Adds records as a user of the branch. */
    add: async (who: string, ids: readonly string[]) => {
      const store = open()
      for (const kind of KINDS) {
        // Some fields are equal in all records, which is where line-based merges go wrong.
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
  describe.each(WAYS)(
    'two branches that both posted and decided are merged, %s',
    (__, { union, resolved }) => {
      test.each(BEFORE)(
        'all records of both branches are present if both started from %s',
        async (___, base) => {
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
          // The first write creates the folder, whatever is written.
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

          // A hub has the project open during the merge.
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
          // Old enough that no write is unfinished.
          for (const file of FILES) fs.utimesSync(inside(file), new Date(), new Date(Date.now() - 5_000))

          const before = textsOf(FILES)
          const wanted = [...base, 'b-theirs', 'n-theirs', 'z-theirs', 'a-ours', 'n-ours', 'y-ours'].sort()
          for (const store of [running, open()]) {
            for (const kind of KINDS) {
              const rows = await store.list(kind)
              expect([kind, rows.map(({ id }) => id)]).toEqual([kind, wanted])
              for (const { id, body } of rows) {
                const by = id.split('-')[1]
                expect(body).toEqual({
                  id,
                  type: 'concept',
                  name: `${kind} ${id}`,
                  by,
                  tags: [],
                  scope: 'src/',
                })
              }
            }
          }
          // Reading leaves tracked files as the merge left them; a change rewrites them.
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
        },
      )
    },
  )
})

test('an entity changed by both branches exists once, with the last change', async () => {
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
    const store = openProjectRecords({ root: repository.root, newId, onRejected })
    const status = () => repository.git('status', '--porcelain').trim()
    return { repository, inside, notices, store, status }
  }

  test('a line without an id is read under a stable id, and a change writes it', async () => {
    const { store, status, inside, notices } = tracked({ 'blackboard.jsonl': `${JSON.stringify(NOTE)}\n` })
    const [row] = await store.list('entry')
    expect(row?.body).toMatchObject(NOTE)
    expect(await store.list('entry')).toEqual([row])
    expect([status(), notices]).toEqual(['', []])
    await store.put('entry', 'b', { id: 'b' })
    expect((await store.list('entry')).map(({ id }) => id)).toEqual([row?.id, 'b'])
    expect(fs.readFileSync(inside('blackboard.jsonl'), 'utf8')).toContain(row?.id)
  })

  test('invalid lines and files stay in place and are logged once with their number', async () => {
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
    expect(await store.unreadableFiles()).toContainEqual({
      file: inside('blackboard.jsonl'),
      reason: expect.stringContaining('and 1 more') as string,
    })
    await store.remove('entry', 'a')
    expect(rejectedIn(inside('rejected/blackboard.jsonl'))).toHaveLength(2)
    expect(fs.readFileSync(inside('blackboard.jsonl'), 'utf8')).toBe('')
  })

  test('invalid records of a kind stay in place', async () => {
    const { store, status } = tracked({ 'blackboard.jsonl': '{"id":"01JZ0000000000000000000009"}\n' })
    expect(await openProjectMemory(store, null, silentLog).entries.list()).toEqual([])
    expect(status()).toBe('')
  })

  test('an untracked file is rewritten', async () => {
    const { store, inside } = tracked({ 'decisions/x.json': '[]\n' })
    fs.writeFileSync(inside('blackboard.jsonl'), '[1]\n')
    fs.utimesSync(inside('blackboard.jsonl'), new Date(), new Date(Date.now() - 5_000))
    await store.list('entry')
    expect(rejectedIn(inside('rejected/blackboard.jsonl'))).toHaveLength(1)
  })
})

test('only the memory is tracked by git, and no files of running processes', async () => {
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
