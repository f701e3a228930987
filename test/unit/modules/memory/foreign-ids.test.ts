/** Records that another program wrote under ids of its own, such as `hook-1776798321677`. */
import fs from 'node:fs'
import path from 'node:path'
import { decodeTime } from 'ulid'
import { expect, test } from 'vitest'
import { Ulid } from '../../../../src/contracts/ids.ts'
import { openLibrary } from '../../../../src/modules/memory/library.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { ulidOfForeign } from '../../../../src/ports/foreign-id.ts'
import { projectFiles } from '../../../support/project-files.ts'

const TIME = '2026-04-21T19:05:21.677Z'
const HOOK = 'hook-1776798321677'
const ULID = ulidOfForeign(HOOK, { timestamp: TIME }) ?? ''
const entry = (fields: object) => ({ timestamp: TIME, entry_type: 'finding', summary: 'x', ...fields })
const decision = (id: string, fields: object = {}) => ({
  ...{ id, timestamp: TIME, domain: 'api', scope: 'src/', summary: 'y', ...fields },
})

function memory(files: Record<string, string>) {
  const project = projectFiles(undefined, undefined, { stable_ids: true, group_notices: true })
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(project.inside(name)), { recursive: true })
    fs.writeFileSync(project.inside(name), text)
  }
  return { ...project, library: openLibrary(project.store, null, silentLog) }
}

test('a foreign id and its time give one ULID, which sorts by that time', () => {
  expect(Ulid.safeParse(ULID).success).toBe(true)
  expect(decodeTime(ULID)).toBe(Date.parse(TIME))
  expect(ULID).toBe('01KPRPXK0DC0W3VFQJF1VCT381')
  expect(ulidOfForeign('hook-2', { timestamp: TIME })).not.toBe(ULID)
  expect((ulidOfForeign('a', { created_at: '2026-04-21T19:05:21.676Z' }) ?? '') < ULID).toBe(true)
  expect(ulidOfForeign(HOOK, {})).toBeNull()
  expect(ulidOfForeign(HOOK, { timestamp: '1969-01-01T00:00:00.000Z' })).toBeNull()
})

test('a blackboard line with a foreign id is read under its ULID, and the file stays as it is', async () => {
  const text = `${JSON.stringify(entry({ id: HOOK }))}\n`
  const { library, read, store } = memory({ 'blackboard.jsonl': text })
  expect(await library.entries.all()).toMatchObject([{ id: ULID, foreign_id: HOOK, summary: 'x' }])
  expect(await library.entries.get(ULID)).toMatchObject({ id: ULID })
  expect(read('blackboard.jsonl')).toBe(text)
  const [first] = await library.entries.all()
  await library.entries.put({ ...first, summary: 'z' } as never)
  expect(await library.entries.all()).toMatchObject([{ id: ULID, foreign_id: HOOK, summary: 'z' }])
  await store.remove('entry', ULID)
  expect(await library.entries.all()).toEqual([])
})

test('a graph with foreign ids is read, led together and kept byte for byte until it changes', async () => {
  const at = { created_at: TIME, updated_at: TIME }
  const entities = `${JSON.stringify([
    { id: 'n1', name: 'a', type: 'file', ...at },
    { id: 'n2', name: 'b', type: 'file', ...at },
  ])}\n`
  const relations = `${JSON.stringify([{ id: 'r', source: 'n1', target: 'n2', type: 'imports', ...at }])}\n`
  const { library, read } = memory({ 'graph/entities.json': entities, 'graph/relations.json': relations })
  const all = await library.entities.all()
  const idOf = (name: string) => all.find((one) => one.name === name)?.id
  expect(await library.relations.all()).toMatchObject([{ source: idOf('a'), target: idOf('b') }])
  expect([read('graph/entities.json'), read('graph/relations.json')]).toEqual([entities, relations])
})

test('links to a foreign id lead to its record, whatever its kind', async () => {
  const old = decision('dec-1')
  const { library } = memory({
    'blackboard.jsonl': [
      entry({ id: HOOK, entry_type: 'question' }),
      entry({ id: 'a', relates_to: [HOOK, 'dec-1', 'x'] }),
    ]
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(''),
    'decisions/dec-1.json': JSON.stringify(old),
    'decisions/dec-2.json': JSON.stringify(decision('dec-2', { depends_on: ['dec-1'], supersedes: 'dec-1' })),
  })
  const first = ulidOfForeign('dec-1', old)
  const decisions = await library.decisions.all()
  expect(decisions.find(({ foreign_id }) => foreign_id === 'dec-2')).toMatchObject({
    ...{ depends_on: [first], supersedes: first },
  })
  const entries = await library.entries.all()
  expect(entries.find(({ foreign_id }) => foreign_id === 'a')?.relates_to).toEqual([ULID, first, 'x'])
  expect(await library.entries.all()).toBe(entries)
  await library.entries.exclusive(async (held) => {
    expect((await held.all()).flatMap(({ relates_to = [] }) => relates_to)).toEqual([ULID, first, 'x'])
  })
})

test('a decision file with a foreign id is found by its ULID, and a change moves it there', async () => {
  const text = JSON.stringify(decision('dec-1'))
  const { library, store, inside } = memory({ 'decisions/dec-1.json': text })
  const id = ulidOfForeign('dec-1', decision('dec-1')) ?? ''
  expect(await library.decisions.get(id)).toMatchObject({ id, foreign_id: 'dec-1' })
  expect(fs.readFileSync(inside('decisions/dec-1.json'), 'utf8')).toBe(text)
  await library.decisions.exclusive(async (held) => {
    const [one] = await held.all()
    await held.put({ ...one, summary: 'changed' } as never)
  })
  expect(await library.decisions.all()).toMatchObject([{ id, foreign_id: 'dec-1', summary: 'changed' }])
  expect(fs.existsSync(inside('decisions/dec-1.json'))).toBe(false)
  // Another branch still has the former file.
  fs.writeFileSync(inside('decisions/dec-1.json'), text)
  expect(await library.decisions.all()).toMatchObject([{ summary: 'changed' }])
  await store.remove('decision', id)
  expect(await library.decisions.all()).toEqual([])
})

test('files that are set aside for the same reason are one message with their number', async () => {
  const { store, notices, inside } = memory({
    'records/issue/a.json': '[]',
    'records/issue/b.json': '[]',
    'records/issue/c.json': '[]',
  })
  expect(await store.list('issue')).toEqual([])
  expect(await store.list('issue')).toEqual([])
  expect(notices).toMatchObject([{ count: 3 }])
  expect(fs.readdirSync(inside('rejected/issue')).filter((name) => name.endsWith('.json'))).toHaveLength(3)
})

test('a record file with a foreign id is found by its ULID', async () => {
  const issue = { id: 'bug-7', kind: 'issue', title: 'x', created_at: TIME }
  const { store } = memory({ 'records/issue/bug-7.json': JSON.stringify(issue) })
  const id = ulidOfForeign('bug-7', issue) ?? ''
  expect(await store.get('issue', id)).toMatchObject({ id, foreign_id: 'bug-7' })
  expect(await store.list('issue')).toMatchObject([{ id }])
  await store.remove('issue', id)
  expect(await store.list('issue')).toEqual([])
})
