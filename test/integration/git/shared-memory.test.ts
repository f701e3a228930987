/** Two branches both added to the shared memory, and git merges them: everything from both is there. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
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
      for (const table of TABLES) {
        const rows = JSON.parse(fs.readFileSync(inside(table), 'utf8')) as { id: string }[]
        expect(rows.map(({ id }) => id)).toEqual(wanted)
      }
      expect(fs.readFileSync(inside('blackboard.jsonl'), 'utf8')).not.toMatch(/^[<=>]/m)
      const marks = rejectedIn(inside('rejected/blackboard.jsonl')).map(({ line }) => line.charAt(0))
      expect(marks).toEqual(resolved ? [] : ['<', '=', '>'])
      await add('afterwards', ['q-afterwards'])
      for (const kind of KINDS) expect(await running.list(kind)).toHaveLength(wanted.length + 1)
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
