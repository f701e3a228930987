import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { StoredVectors } from '../../../../src/ports/vector-store.ts'
import { createVectorFile } from '../../../../src/storage/file/project/vector-file.ts'
import { seededRandom } from '../../../support/fakes/fake-clock.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

let root: string
let file: string
beforeEach(() => {
  root = temporaryDirectory()
  file = path.join(root, '.turnbell', 'embeddings', 'blackboard.index')
})

const shelf = () => createVectorFile(root, 'blackboard')
const SMALL: StoredVectors = {
  model: 'all-MiniLM-L6-v2',
  dimension: 3,
  entries: [
    { id: '01A', digest: 'abc', vector: Float32Array.of(1, 0, 0) },
    { id: '01B', digest: null, vector: Float32Array.of(0.6, -0.8, 0) },
  ],
}

function write(text: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text)
}

describe('vectors of a project', () => {
  test('vectors are loaded as they were saved', async () => {
    await shelf().save(SMALL)
    expect(await shelf().load()).toEqual(SMALL)
  })

  test('vectors are stored as JSON of model, dimension and entries, one entry per line', async () => {
    await shelf().save(SMALL)
    const text = fs.readFileSync(file, 'utf8')
    expect(JSON.parse(text)).toEqual({
      model: 'all-MiniLM-L6-v2',
      dimension: 3,
      entries: [
        { id: '01A', digest: 'abc', vector: [1, 0, 0] },
        { id: '01B', vector: [0.6, -0.8, 0] },
      ],
    })
    expect(text.split('\n')).toHaveLength(5)
  })

  test('vectors and their drafts are ignored by git', async () => {
    await shelf().save(SMALL)
    execFileSync('git', ['init', '-q'], { cwd: root })
    const ignored = execFileSync('git', ['check-ignore', file, `${file}.new`], {
      cwd: root,
      encoding: 'utf8',
    })
    expect(ignored.trim().split('\n')).toEqual([file, `${file}.new`])
  })

  test('a file may contain no vectors, or many', async () => {
    await shelf().save({ ...SMALL, entries: [] })
    expect(await shelf().load()).toEqual({ ...SMALL, entries: [] })
    const entries = Array.from({ length: 1_001 }, (_, at) => ({
      ...{ id: `e${at}`, digest: `${at}`, vector: Float32Array.of(0, 0, 1) },
    }))
    await shelf().save({ ...SMALL, entries })
    expect(await shelf().load()).toEqual({ ...SMALL, entries })
  })

  test('a save replaces the former vectors', async () => {
    await shelf().save(SMALL)
    await shelf().save({ ...SMALL, model: 'other', entries: SMALL.entries.slice(1) })
    expect(await shelf().load()).toEqual({ ...SMALL, model: 'other', entries: SMALL.entries.slice(1) })
    expect(fs.readdirSync(path.dirname(file))).toEqual(['blackboard.index'])
  })

  test('vectors keep their directions', async () => {
    const seeded = seededRandom(7)
    const random = () => {
      const raw = Array.from({ length: 384 }, () => seeded.next() - 0.5)
      const length = Math.hypot(...raw)
      return Float32Array.from(raw, (value) => value / length)
    }
    const entries = Array.from({ length: 40 }, (_, at) => ({ id: `e${at}`, digest: null, vector: random() }))
    await shelf().save({ model: 'm', dimension: 384, entries })
    const loaded = (await shelf().load())?.entries ?? []
    const cosine = (a: Float32Array, b: Float32Array) => {
      const dot = (x: Float32Array, y: Float32Array) =>
        x.reduce((sum, value, at) => sum + value * Number(y[at]), 0)
      return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
    }
    for (const [at, { vector }] of entries.entries()) {
      const other = Number(at) === 0 ? entries[1] : entries[0]
      const now = cosine(Float32Array.from(loaded[at]?.vector ?? []), other?.vector ?? vector)
      expect(Math.abs(now - cosine(vector, other?.vector ?? vector))).toBeLessThan(0.0002)
    }
  })

  test('components outside of the range of a unit vector are clamped', async () => {
    const vector = Float32Array.of(NaN, 7, -0)
    await shelf().save({ ...SMALL, entries: [{ id: 'odd', digest: null, vector }] })
    expect((await shelf().load())?.entries[0]?.vector).toEqual(Float32Array.of(0, 0, 0))
  })
})

describe('unreadable vectors are ignored:', () => {
  test('no file, no folder, no project', async () => {
    expect(await shelf().load()).toBeNull()
    expect(await createVectorFile(path.join(root, 'gone'), 'blackboard').load()).toBeNull()
  })

  test.each([
    ['nothing', ''],
    ['half of it', '{"model":"m","dim'],
    ['no object', '[]'],
    ['null', 'null'],
    ['no model', '{"dimension":3,"entries":[]}'],
    ['no dimension', '{"model":"m","entries":[]}'],
    ['a dimension of nothing', '{"model":"m","dimension":0,"entries":[]}'],
    ['a broken dimension', '{"model":"m","dimension":1.5,"entries":[\n]}'],
    ['a dimension beyond all', '{"model":"m","dimension":1e9,"entries":[\n]}'],
    ['no entries', '{"model":"m","dimension":3}'],
    ['entries that are no list', '{"model":"m","dimension":3,"entries":{}}'],
    ['a merge conflict', '<<<<<<< ours\n{"model":"m","dimension":3,"entries":[\n'],
    ['zeros', '\0'.repeat(4_096)],
  ])('%s', async (_, text) => {
    write(text)
    expect(await shelf().load()).toBeNull()
  })

  test('a folder, a link and a pipe in place of the file', async () => {
    const elsewhere = path.join(root, 'elsewhere')
    await shelf().save(SMALL)
    fs.renameSync(file, elsewhere)
    fs.symlinkSync(elsewhere, file)
    expect(await shelf().load()).toBeNull()
    fs.unlinkSync(file)
    fs.mkdirSync(file)
    expect(await shelf().load()).toBeNull()
    fs.rmdirSync(file)
    execFileSync('mkfifo', [file])
    expect(await shelf().load()).toBeNull()
  })

  test('single damaged entries, without affecting the others', async () => {
    const good = '{"id":"good","vector":[1,0,0]}'
    const bad = [
      '{"id":7,"vector":[1,0,0]}',
      '{"id":"short","vector":[1,0]}',
      '{"id":"text","vector":[1,0,"0"]}',
    ]
    const worse = ['{"id":"null","vector":[1,0,null]}', '{"id":"none"}', 'null', '[]', '{"id":"to']
    for (const line of [...bad, ...worse]) {
      write(`{"model":"m","dimension":3,"entries":[\n${line},\n${good}\n]}\n`)
      expect((await shelf().load())?.entries.map(({ id }) => id)).toEqual(['good'])
    }
    write(`{"model":"m","dimension":3,"entries":[\n${good},\n{"id":"torn","vec`)
    expect((await shelf().load())?.entries.map(({ id }) => id)).toEqual(['good'])
  })
})

test('a file that was reformatted is still read', async () => {
  await shelf().save(SMALL)
  write(JSON.stringify(JSON.parse(fs.readFileSync(file, 'utf8')), null, 2))
  expect(await shelf().load()).toEqual(SMALL)
})

describe('vectors are not written', () => {
  test.each(['.turnbell', '.turnbell/embeddings'])('through a link at %s', async (name) => {
    const elsewhere = temporaryDirectory()
    if (name !== '.turnbell') fs.mkdirSync(path.join(root, '.turnbell'))
    fs.symlinkSync(elsewhere, path.join(root, name))
    await expect(shelf().save(SMALL)).rejects.toThrow('store_unavailable')
    expect(fs.readdirSync(elsewhere)).toEqual([])
    expect(await shelf().load()).toBeNull()
  })

  test('through a link in place of the file or of its draft', async () => {
    const theirs = path.join(temporaryDirectory(), 'theirs')
    fs.writeFileSync(theirs, 'theirs')
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.symlinkSync(theirs, file)
    fs.symlinkSync(theirs, `${file}.new`)
    await shelf().save(SMALL)
    expect(fs.readFileSync(theirs, 'utf8')).toBe('theirs')
    expect(await shelf().load()).toEqual(SMALL)
  })

  test('if the project is gone', async () => {
    const gone = path.join(root, 'gone')
    await expect(createVectorFile(gone, 'blackboard').save(SMALL)).rejects.toThrow()
    expect(fs.existsSync(gone)).toBe(false)
  })
})
