/** Tests records that another program wrote under its own ids, such as `hook-1776798321677`. */
import fs from 'node:fs'
import path from 'node:path'
import { decodeTime } from 'ulid'
import { expect, test } from 'vitest'
import { Ulid } from '../../../../src/contracts/ids.ts'
import { openProjectMemory } from '../../../../src/modules/memory/project-memory.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { ulidForForeignId } from '../../../../src/ports/foreign-id.ts'
import { projectFiles } from '../../../support/disk/project-files.ts'

const TIME = '2026-04-21T19:05:21.677Z'
const HOOK = 'hook-1776798321677'
const ULID = ulidForForeignId(HOOK, { timestamp: TIME }) ?? ''
const entry = (fields: object) => ({ timestamp: TIME, entry_type: 'finding', summary: 'x', ...fields })
const decision = (id: string, fields: object = {}) => ({
  id,
  timestamp: TIME,
  domain: 'api',
  scope: 'src/',
  summary: 'y',
  ...fields,
})

function openFiles(files: Record<string, string>) {
  const project = projectFiles(undefined, undefined, { stable_ids: true })
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(project.inside(name)), { recursive: true })
    fs.writeFileSync(project.inside(name), text)
  }
  return { ...project, memory: openProjectMemory(project.store, null, silentLog) }
}

test('a foreign id and its time give one ULID, which sorts by that time', () => {
  expect(Ulid.safeParse(ULID).success).toBe(true)
  expect(decodeTime(ULID)).toBe(Date.parse(TIME))
  expect(ULID).toBe('01KPRPXK0DC0W3VFQJF1VCT381')
  expect(ulidForForeignId('hook-2', { timestamp: TIME })).not.toBe(ULID)
  expect((ulidForForeignId('a', { created_at: '2026-04-21T19:05:21.676Z' }) ?? '') < ULID).toBe(true)
  expect(ulidForForeignId(HOOK, {})).toBeNull()
  expect(ulidForForeignId(HOOK, { timestamp: '1969-01-01T00:00:00.000Z' })).toBeNull()
})

test('a blackboard line with a foreign id is read under its ULID, and the file does not change', async () => {
  const text = `${JSON.stringify(entry({ id: HOOK }))}\n`
  const { memory, read, store } = openFiles({ 'blackboard.jsonl': text })
  expect(await memory.entries.list()).toMatchObject([{ id: ULID, foreign_id: HOOK, summary: 'x' }])
  expect(await memory.entries.get(ULID)).toMatchObject({ id: ULID })
  expect(read('blackboard.jsonl')).toBe(text)
  const [first] = await memory.entries.list()
  await memory.entries.put({ ...first, summary: 'z' } as never)
  expect(await memory.entries.list()).toMatchObject([{ id: ULID, foreign_id: HOOK, summary: 'z' }])
  await store.remove('entry', ULID)
  expect(await memory.entries.list()).toEqual([])
})

test('a graph with foreign ids is read with resolved links, and stays byte for byte until it changes', async () => {
  const at = { created_at: TIME, updated_at: TIME }
  const entities = `${JSON.stringify([
    { id: 'n1', name: 'a', type: 'file', ...at },
    { id: 'n2', name: 'b', type: 'file', ...at },
  ])}\n`
  const relations = `${JSON.stringify([{ id: 'r', source: 'n1', target: 'n2', type: 'imports', ...at }])}\n`
  const { memory, read } = openFiles({ 'graph/entities.json': entities, 'graph/relations.json': relations })
  const all = await memory.entities.list()
  const idOf = (name: string) => all.find((one) => one.name === name)?.id
  expect(await memory.relations.list()).toMatchObject([{ source: idOf('a'), target: idOf('b') }])
  expect([read('graph/entities.json'), read('graph/relations.json')]).toEqual([entities, relations])
})

test('links by a foreign id resolve to records of any kind', async () => {
  const old = decision('dec-1')
  const { memory } = openFiles({
    'blackboard.jsonl': [
      entry({ id: HOOK, entry_type: 'question' }),
      entry({ id: 'a', relates_to: [HOOK, 'dec-1', 'x'] }),
    ]
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(''),
    'decisions/dec-1.json': JSON.stringify(old),
    'decisions/dec-2.json': JSON.stringify(decision('dec-2', { depends_on: ['dec-1'], supersedes: 'dec-1' })),
  })
  const first = ulidForForeignId('dec-1', old)
  const decisions = await memory.decisions.list()
  expect(decisions.find(({ foreign_id }) => foreign_id === 'dec-2')).toMatchObject({
    depends_on: [first],
    supersedes: first,
  })
  const entries = await memory.entries.list()
  expect(entries.find(({ foreign_id }) => foreign_id === 'a')?.relates_to).toEqual([ULID, first, 'x'])
  expect(await memory.entries.list()).toBe(entries)
  await memory.entries.exclusive(async (held) => {
    expect((await held.list()).flatMap(({ relates_to = [] }) => relates_to)).toEqual([ULID, first, 'x'])
  })
})

test('a decision file with a foreign id is found by its ULID, and a change moves it there', async () => {
  const text = JSON.stringify(decision('dec-1'))
  const { memory, store, inside } = openFiles({ 'decisions/dec-1.json': text })
  const id = ulidForForeignId('dec-1', decision('dec-1')) ?? ''
  expect(await memory.decisions.get(id)).toMatchObject({ id, foreign_id: 'dec-1' })
  expect(fs.readFileSync(inside('decisions/dec-1.json'), 'utf8')).toBe(text)
  await memory.decisions.exclusive(async (held) => {
    const [one] = await held.list()
    await held.put({ ...one, summary: 'changed' } as never)
  })
  expect(await memory.decisions.list()).toMatchObject([{ id, foreign_id: 'dec-1', summary: 'changed' }])
  expect(fs.existsSync(inside('decisions/dec-1.json'))).toBe(false)
  // Another branch still has the file under its former name.
  fs.writeFileSync(inside('decisions/dec-1.json'), text)
  expect(await memory.decisions.list()).toMatchObject([{ summary: 'changed' }])
  await store.remove('decision', id)
  expect(await memory.decisions.list()).toEqual([])
})

test('files quarantined for the same reason give one message with their number', async () => {
  const { store, notices, inside } = openFiles({
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
  const { store } = openFiles({ 'records/issue/bug-7.json': JSON.stringify(issue) })
  const id = ulidForForeignId('bug-7', issue) ?? ''
  expect(await store.get('issue', id)).toMatchObject({ id, foreign_id: 'bug-7' })
  expect(await store.list('issue')).toMatchObject([{ id }])
  await store.remove('issue', id)
  expect(await store.list('issue')).toEqual([])
})
