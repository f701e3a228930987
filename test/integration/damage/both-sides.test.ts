/**
 * Merges a decision that two branches have changed, in the formats in which git and people leave its file; changes of
 * both sides are applied.
 */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { mergeRecords } from '../../../src/storage/file/records/merge-records.ts'
import { openProjectRecords } from '../../../src/storage/file/project/project-records.ts'
import { recordText } from '../../../src/storage/file/records/record-file.ts'
import { projectFiles } from '../../support/disk/project-files.ts'

const BASE = { id: 'a', summary: 'x', status: 'active', commit_hashes: ['0'], entry_id: 'e' }
const OURS = '  "status": "provisional",\n  "commit_hashes": ["0", "1"],\n  "updated_at": "2026-01-02",'
const THEIRS = '  "status": "overridden",\n  "commit_hashes": ["0", "2"],\n  "updated_at": "2026-01-01",'
const around = (middle: string) => `{\n  "id": "a",\n  "summary": "x",\n${middle}\n  "entry_id": "e"\n}\n`
/** One side doubted the decision without knowing that the other had overridden it. */
const WHOLE = {
  ...{ id: 'a', summary: 'x', status: 'overridden', commit_hashes: ['0', '1', '2'] },
  ...{ updated_at: '2026-01-02', entry_id: 'e' },
}

const BOTH: [string, string][] = [
  ['the marks of a conflict', around(`<<<<<<< HEAD\n${OURS}\n=======\n${THEIRS}\n>>>>>>> theirs`)],
  [
    'them with what both came from',
    around(`<<<<<<< HEAD\n${OURS}\n||||||| 1\n=======\n${THEIRS}\n>>>>>>> x`),
  ],
  ['the sides the other way round', around(`<<<<<<< HEAD\n${THEIRS}\n=======\n${OURS}\n>>>>>>> theirs`)],
  ['both sides without the marks', around(`${OURS}\n${THEIRS}`)],
  ['marks that were half taken out', around(`${THEIRS}\n=======\n${OURS}\n>>>>>>> theirs`)],
  ['both sides and a comma too few', around(`${OURS.slice(0, -1)}\n${THEIRS.slice(0, -1)}`)],
  ['both sides whole, one behind the other', `${around(OURS)}${around(THEIRS)}`],
  ['the same the other way round', `${around(THEIRS)}${around(OURS)}`],
  ['ends of lines of another system', around(`${OURS}\n${THEIRS}`).replaceAll('\n', '\r\n')],
]

const CONFLICT = 'the file contains an unresolved merge conflict'
/** Conflicts that only the author can resolve. */
const UNJOINED: [string, string][] = [
  ['no end', around(`<<<<<<< HEAD\n${OURS}\n=======\n${THEIRS}`).slice(0, -3)],
  ['words between the sides', around(`<<<<<<< HEAD\n${OURS}\nor so\n=======\n>>>>>>> x`)],
  ['another id on each side', around(`<<<<<<< HEAD\n  "id": "b",\n=======\n  "id": "c",\n>>>>>>> x`)],
]

function decisions() {
  const project = projectFiles()
  const file = project.inside('decisions', 'a.json')
  return { ...project, file, rejected: () => project.inside('rejected', 'decisions', 'a.json') }
}

describe('the file of a decision', () => {
  test.each(BOTH)('a decision file with %s is rewritten, and the original is preserved', async (_, text) => {
    const { store, file, rejected, notices, read } = decisions()
    await store.put('decision', 'a', BASE)
    fs.writeFileSync(file, text)
    expect(await store.get('decision', 'a')).toEqual(WHOLE)
    expect(await store.list('decision')).toEqual([{ id: 'a', body: WHOLE }])
    expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual(WHOLE)
    expect(fs.readFileSync(rejected(), 'utf8')).toBe(text)
    expect(fs.readFileSync(`${rejected()}.reason`, 'utf8')).toMatch(/both sides of a merge/)
    expect(notices).toHaveLength(1)
    expect(JSON.parse(read('decisions', 'index.json'))).toMatchObject([{ id: 'a', status: 'overridden' }])
    expect(await store.list('decision')).toEqual([{ id: 'a', body: WHOLE }])
    expect(notices).toHaveLength(1)
  })

  test.each([
    ['another id on one side', around(OURS).replace('"a"', '"b"'), /id is b/],
    ['no end and no marks', around(OURS).slice(0, -3), /JSON/],
  ])('a decision file with %s is quarantined', async (_, text, reason) => {
    const { store, file, rejected } = decisions()
    await store.put('decision', 'a', BASE)
    fs.writeFileSync(file, text)
    expect(await store.list('decision')).toEqual([])
    expect(fs.readFileSync(rejected(), 'utf8')).toBe(text)
    expect(fs.readFileSync(`${rejected()}.reason`, 'utf8')).toMatch(reason)
  })

  test.each(UNJOINED)(
    'a decision file with a conflict with %s stays in place and is reported',
    async (_, text) => {
      const { store, file, rejected, root, inside } = decisions()
      await store.put('decision', 'b', { ...BASE, id: 'b' })
      fs.writeFileSync(file, text)
      expect(await store.get('decision', 'a')).toBeNull()
      for (const one of [store, openProjectRecords({ root })])
        expect((await one.list('decision')).map(({ id }) => id)).toEqual(['b'])
      expect(fs.readFileSync(file, 'utf8')).toBe(text)
      expect(fs.existsSync(rejected())).toBe(false)
      expect(await store.unreadableFiles()).toEqual([
        { file: inside('decisions', 'a.json'), reason: CONFLICT },
      ])
    },
  )

  test('a decision file has lists of scalars on one line, and other lists unchanged', () => {
    const body = {
      ...{ id: 'a', plain: ['[\n', '"],', 1, null, true], none: [] },
      deep: [{ list: ['x', 'y'] }, [1, 2]],
    }
    const text = recordText('bare', 'decision', 'a', body)
    expect(JSON.parse(text)).toEqual(body)
    expect(text.split('\n').slice(2, 4)).toEqual([
      String.raw`  "plain": ["[\n", "\"],", 1, null, true],`,
      '  "none": [],',
    ])
    expect(text).toContain('"list": ["x", "y"]')
  })
})

test.each(['a note', '}', '{}'])('a decision followed by %s is not treated as a merge', async (more) => {
  const { store, file, rejected } = decisions()
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, `${around(OURS)}${more}\n`)
  expect(await store.get('decision', 'a')).toBeNull()
  await store.list('decision')
  expect(fs.readFileSync(rejected(), 'utf8')).toContain(more)
})

describe('the file of a record of any other kind', () => {
  const BASE_PIN = { id: 'a', kind: 'pin', text: 'base', tags: ['0'] }
  const said = (text: string, tag: string, generation: number, day: number) =>
    `  "text": "${text}",\n  "tags": ["0", "${tag}"],\n  "generation": ${generation},\n  "updated_at": "2026-01-0${day}"`
  const [main, side] = [said('main side', '1', 4, 2), said('x side', '2', 7, 1)]
  const pin = (middle: string) => `{\n  "id": "a",\n  "kind": "pin",\n${middle}\n}\n`
  const JOINED = {
    ...{ id: 'a', kind: 'pin', text: 'main side', tags: ['0', '2', '1'], generation: 8 },
    updated_at: '2026-01-02',
  }

  function pins() {
    const project = projectFiles()
    const file = project.inside('records', 'pin', 'a.json')
    return { ...project, file, rejected: project.inside('rejected', 'pin', 'a.json') }
  }

  test.each([
    ['the marks of a conflict', pin(`<<<<<<< HEAD\n${main}\n=======\n${side}\n>>>>>>> x`)],
    ['them with what both came from', pin(`<<<<<<< HEAD\n${main}\n||||||| 1\n=======\n${side}\n>>>>>>> x`)],
    ['the sides the other way round', pin(`<<<<<<< HEAD\n${side}\n=======\n${main}\n>>>>>>> main`)],
    ['both sides without the marks', pin(`${main},\n${side}`)],
    ['both sides and a comma too few', pin(`${main}\n${side}`)],
    ['marks around the whole', `<<<<<<< HEAD\n${pin(main)}=======\n${pin(side)}>>>>>>> x\n`],
  ])('a record file with %s is merged: the later version wins and no addition is lost', async (_, text) => {
    const { store, file, rejected, notices } = pins()
    await store.put('pin', 'a', BASE_PIN)
    fs.writeFileSync(file, text)
    expect(await store.get('pin', 'a')).toEqual(JOINED)
    expect(await store.list('pin')).toEqual([{ id: 'a', body: JOINED }])
    expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual(JOINED)
    expect(fs.readFileSync(rejected, 'utf8')).toBe(text)
    expect(fs.readFileSync(`${rejected}.reason`, 'utf8')).toMatch(/both sides of a merge/)
    expect(await store.list('pin')).toEqual([{ id: 'a', body: JOINED }])
    expect(notices).toHaveLength(1)
    expect(await store.unreadableFiles()).toEqual([])
  })

  test('a merged persona record with the status wrapped is merged in its body', async () => {
    const { store, file } = pins()
    await store.put('pin', 'a', { text: 'base' })
    const wrapped = (n: number, list: string) => `  "body": {"n": ${n}, "list": ["${list}"]}`
    fs.writeFileSync(file, pin(`<<<<<<< HEAD\n${wrapped(1, 'x')}\n=======\n${wrapped(2, 'y')}\n>>>>>>> x`))
    expect(await store.list('pin')).toEqual([{ id: 'a', body: { n: 2, list: ['x', 'y'] } }])
  })

  test.each([
    ['no end', pin(`<<<<<<< HEAD\n${main}\n=======\n${side}`).slice(0, -3)],
    ['words between the sides', pin(`<<<<<<< HEAD\n${main}\nor so\n=======\n>>>>>>> x`)],
    ['another id on one side', pin(`<<<<<<< HEAD\n  "id": "b",\n=======\n>>>>>>> x\n${main}`)],
    ['another kind on one side', pin(`<<<<<<< HEAD\n  "kind": "issue",\n=======\n>>>>>>> x\n${main}`)],
    ['no content', '<<<<<<< HEAD\n=======\n>>>>>>> x\n'],
  ])('a record file with a conflict with %s stays in place and is logged once', async (_, text) => {
    const { store, file, inside, notices } = pins()
    await store.put('pin', 'b', { ...BASE_PIN, id: 'b' })
    fs.writeFileSync(file, text)
    for (let lists = 1; lists <= 3; lists += 1) expect(await store.list('pin')).toHaveLength(1)
    expect(await store.get('pin', 'a')).toBeNull()
    expect(fs.readFileSync(file, 'utf8')).toBe(text)
    expect(fs.existsSync(inside('rejected'))).toBe(false)
    expect(notices).toEqual([{ file, kept_in: null, reason: CONFLICT }])
    expect(await store.unreadableFiles()).toEqual([{ file, reason: CONFLICT }])
    fs.writeFileSync(file, pin(main))
    expect(await store.list('pin')).toHaveLength(2)
    expect(await store.unreadableFiles()).toEqual([])
  })

  test('the original of a merge is preserved when it is overwritten or removed unread', async () => {
    const { store, file, rejected } = pins()
    const text = pin(`<<<<<<< HEAD\n${main}\nor so\n=======\n${side}\n>>>>>>> x`)
    await store.put('pin', 'a', BASE_PIN)
    fs.writeFileSync(file, text)
    await store.put('pin', 'a', BASE_PIN)
    expect(await store.get('pin', 'a')).toEqual(BASE_PIN)
    expect(fs.readFileSync(rejected, 'utf8')).toBe(text)
    fs.writeFileSync(file, text)
    await store.remove('pin', 'a')
    expect(fs.existsSync(file)).toBe(false)
    expect(fs.readFileSync(`${rejected}-2`, 'utf8')).toBe(text)
  })

  test('a record file without repeated fields is not treated as a merge, whatever its formatting', async () => {
    const { store, file, notices } = pins()
    await store.put('pin', 'a', BASE_PIN)
    const text = '{"id":"a","kind":"pin","more":{\n  "x":1,\n  "y":2,\n  "z":3,\n  "w":4}}\n'
    fs.writeFileSync(file, text)
    expect((await store.list('pin'))[0]?.body['more']).toEqual({ x: 1, y: 2, z: 3, w: 4 })
    expect(fs.readFileSync(file, 'utf8')).toBe(text)
    expect(notices).toEqual([])
  })
})

test('of two versions with the same time the higher generation wins, and the result follows both', () => {
  const some = { n: 1, generation: 5, updated_at: '2026-01-01' }
  const other = { n: 2, generation: 3, updated_at: '2026-01-01' }
  expect(mergeRecords('issue', some, other)).toEqual({ n: 1, generation: 6, updated_at: '2026-01-01' })
  expect(mergeRecords('issue', other, some)).toEqual({ n: 1, generation: 6, updated_at: '2026-01-01' })
})

test('the later of two versions wins, and additions of both are kept', () => {
  const some = { n: 1, only: 1, list: [{ a: 1 }], map: { x: 1, y: 1 }, updated_at: '2026-01-02' }
  const other = { n: 2, list: [{ a: 1 }, { b: 1 }], map: { x: 2, z: 2 }, updated_at: '2026-01-01' }
  const whole = {
    ...{ n: 1, only: 1, list: [{ a: 1 }, { b: 1 }], map: { x: 1, y: 1, z: 2 } },
    updated_at: '2026-01-02',
  }
  expect(mergeRecords('issue', some, other)).toEqual(whole)
  expect(mergeRecords('issue', other, some)).toEqual(whole)
  expect(mergeRecords('issue', { n: 1 }, { n: 2 })).toEqual({ n: 2 })
})

test('a status that is final on one side is final after the merge, whatever the times', () => {
  const over = { status: 'overridden', overridden_by: 'ada', updated_at: '2026-01-01' }
  const doubted = { status: 'provisional', reconsidered_at: '2026-01-02', updated_at: '2026-01-02' }
  const whole = { ...over, reconsidered_at: '2026-01-02', updated_at: '2026-01-02' }
  expect(mergeRecords('decision', over, doubted)).toEqual(whole)
  expect(mergeRecords('decision', doubted, over)).toEqual(whole)
  // The meaning of statuses is unknown for a kind that this version does not know.
  expect(mergeRecords('task', over, doubted)).toMatchObject({ status: 'provisional' })
  // Of two final states the later wins.
  const replaced = { status: 'superseded', updated_at: '2026-01-03' }
  expect(mergeRecords('decision', replaced, over)).toMatchObject({ status: 'superseded' })
})

test('outbox items of both sides of a decision are delivered', () => {
  const owes = (...entries: string[]) => ({ outbox: { entries: entries.map((id) => ({ id })), graph: true } })
  const whole = owes('a', 'b', 'c')
  expect(mergeRecords('decision', owes('a', 'b'), owes('b', 'c'))).toEqual(whole)
})
