/** Records of a project memory in its three file formats: invalid ones are quarantined. */
import fs from 'node:fs'
import { expect, test } from 'vitest'
import { openProjectMemory, type ProjectMemory } from '../../../../src/modules/memory/project-memory.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { projectFiles } from '../../../support/disk/project-files.ts'
import { rejectedIn } from '../../../support/disk/rejected-lines.ts'

const ID = '01JZ0000000000000000000000'
const OTHER = '01JZ0000000000000000000001'
const GOOD = { id: ID, entry_type: 'finding', summary: 'x', domain: 'api', name: 'a', type: 'file' }

const KINDS: [string, 'entries' | 'entities' | 'decisions', (text: string) => [string, string], RegExp][] = [
  ['entry', 'entries', (text) => ['blackboard.jsonl', `${text}\n`], /entry_type/],
  ['entity', 'entities', (text) => ['graph/entities.json', `[${text}]`], /name/],
  ['decision', 'decisions', (text) => [`decisions/${OTHER}.json`, text], /domain/],
]

test.each(KINDS)('an invalid %s is quarantined with the reason', async (kind, kept, written, why) => {
  const { store, inside } = projectFiles()
  const memory: ProjectMemory = openProjectMemory(store, null, silentLog)
  await store.put(kind, ID, GOOD)
  const [name, text] = written(JSON.stringify({ id: OTHER, scope: 'src/' }))
  fs[kind === 'entry' ? 'appendFileSync' : 'writeFileSync'](inside(name), text)
  if (kind === 'entity') fs.writeFileSync(inside(name), `[${JSON.stringify(GOOD)},${text.slice(1)}`)
  expect((await memory[kept].list()).map(({ id }) => id)).toEqual([ID])
  expect((await store.list(kind)).map(({ id }) => id)).toEqual([ID])
  const reasons = {
    entry: () => rejectedIn(inside('rejected/blackboard.jsonl')).map(({ reason }) => reason),
    entity: () => rejectedIn(inside('rejected/graph/entities.jsonl')).map(({ reason }) => reason),
    decision: () => [fs.readFileSync(inside('rejected', `${name}.reason`), 'utf8')],
  }
  expect(reasons[kind as keyof typeof reasons]()).toEqual([expect.stringMatching(why)])
  expect((await memory[kept].list()).map(({ id }) => id)).toEqual([ID])
})

test.each([
  ['entry', 'entries', { relates_to: null, tags: null, detail: null, scope: null }],
  ['entity', 'entities', { properties: null }],
] as const)(
  'null in an optional field of an %s counts as absent, and its file stays as it is',
  async (kind, kept, nulls) => {
    const { store, inside } = projectFiles()
    const memory: ProjectMemory = openProjectMemory(store, null, silentLog)
    const file = inside(kind === 'entry' ? 'blackboard.jsonl' : 'graph/entities.json')
    await store.put(kind, ID, { ...GOOD, ...nulls })
    const before = fs.readFileSync(file, 'utf8')
    const [item] = await memory[kept].list()
    expect(item).toMatchObject({
      id: ID,
      ...(kind === 'entry' ? { tags: [], scope: 'project' } : { name: 'a' }),
    })
    expect(fs.readFileSync(file, 'utf8')).toBe(before)
  },
)

test('null in a required field makes a record invalid', async () => {
  const { store, inside } = projectFiles()
  const memory: ProjectMemory = openProjectMemory(store, null, silentLog)
  await store.put('entry', ID, { ...GOOD, summary: null })
  expect(await memory.entries.list()).toEqual([])
  expect(rejectedIn(inside('rejected/blackboard.jsonl'))).toMatchObject([
    { reason: expect.stringContaining('summary') as string },
  ])
})
