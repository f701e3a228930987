import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import type { QuarantineNotice } from '../../../src/storage/file/records/quarantine-file.ts'
import { createFileRecordStore } from '../../../src/storage/file/records/record-store.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const BAD = {
  'torn.json': '{"kind":"persona","id":"torn","bo',
  'list.json': '[]',
  'bodyless.json': '{"kind":"persona","id":"bodyless"}',
  'listed.json': '{"kind":"persona","id":"listed","body":[]}',
  'kind.json': '{"kind":"project","id":"kind","body":{}}',
  'moved.json': '{"kind":"persona","id":"another","body":{}}',
  'empty.json': '',
}

test('an invalid record file is quarantined with the reason, and the others are listed', async () => {
  const directory = temporaryDirectory()
  const notices: QuarantineNotice[] = []
  const store = createFileRecordStore({ directory, onRejected: (notice) => notices.push(notice) })
  await store.put('persona', 'ada', { good: true })
  for (const [name, text] of Object.entries(BAD))
    fs.writeFileSync(path.join(directory, 'persona', name), text)
  expect(await store.list('persona')).toEqual([{ id: 'ada', body: { good: true } }])
  expect(notices.map(({ file }) => path.basename(file)).sort()).toEqual(Object.keys(BAD).sort())
  for (const { file, kept_in: moved, reason } of notices) {
    const kept_in = String(moved)
    expect(fs.readFileSync(kept_in, 'utf8')).toBe(BAD[path.basename(file) as keyof typeof BAD])
    expect(fs.readFileSync(`${kept_in}.reason`, 'utf8')).toBe(`${reason}\n`)
    expect(kept_in.startsWith(path.join(directory, 'rejected', 'persona'))).toBe(true)
  }
  expect(fs.readdirSync(path.join(directory, 'persona'))).toEqual(['ada.json'])
})

test('a second invalid file of the same name is quarantined next to the first', async () => {
  const directory = temporaryDirectory()
  const store = createFileRecordStore({ directory })
  for (const text of ['{', '[', '(']) {
    fs.mkdirSync(path.join(directory, 'persona'), { recursive: true })
    fs.writeFileSync(path.join(directory, 'persona', 'ada.json'), text)
    expect(await store.get('persona', 'ada')).toBeNull()
  }
  const kept = fs.readdirSync(path.join(directory, 'rejected', 'persona'))
  expect(kept.filter((name) => !name.endsWith('.reason'))).toHaveLength(3)
})

test('a draft of a killed writer is not a record', async () => {
  const directory = temporaryDirectory()
  const store = createFileRecordStore({ directory })
  await store.put('persona', 'ada', { version: 1 })
  fs.writeFileSync(path.join(directory, 'persona', 'ada.json.new'), '{"kind":"perso')
  expect(await store.list('persona')).toEqual([{ id: 'ada', body: { version: 1 } }])
  await store.put('persona', 'ada', { version: 2 })
  expect(await store.get('persona', 'ada')).toEqual({ version: 2 })
})

test('a record file is readable by its owner only', async () => {
  const directory = temporaryDirectory()
  await createFileRecordStore({ directory }).put('persona', 'ada', {})
  expect(fs.statSync(path.join(directory, 'persona')).mode & 0o777).toBe(0o700)
  expect(fs.statSync(path.join(directory, 'persona', 'ada.json')).mode & 0o777).toBe(0o600)
})

test('no kind can use the quarantine folder', async () => {
  const store = createFileRecordStore({ directory: temporaryDirectory() })
  await expect(store.put('rejected', 'a', {})).rejects.toThrow()
})

test('a disk error of a put is reported with the file', async () => {
  const directory = temporaryDirectory()
  fs.writeFileSync(path.join(directory, 'persona'), 'a file where the folder should be')
  const store = createFileRecordStore({ directory })
  const refused = { code: 'store_unavailable', detail: /persona.*ada/ }
  await expect(store.put('persona', 'ada', {})).rejects.toMatchObject(refused)
  await expect(store.remove('persona', 'ada')).rejects.toMatchObject(refused)
})

test('a put in progress changes nothing after another process has taken the directory', async () => {
  const directory = temporaryDirectory()
  await createFileRecordStore({ directory }).put('persona', 'ada', { state: 'active' })
  let looks = 0
  const mayChange = () => {
    looks += 1
    if (looks === 3) throw new TurnbellError('store_fenced', { detail: 'taken' })
  }
  const store = createFileRecordStore({ directory, mayChange })
  const refused = { code: 'store_fenced' }
  await expect(store.put('persona', 'ada', { state: 'wrapped' })).rejects.toMatchObject(refused)
  expect(await store.get('persona', 'ada')).toEqual({ state: 'active' })
})

test('a draft that another process has replaced does not become a record', async () => {
  const directory = temporaryDirectory()
  await createFileRecordStore({ directory }).put('persona', 'ada', { state: 'active' })
  const draft = path.join(directory, 'persona', 'ada.json.new')
  let looks = 0
  const mayChange = () => {
    looks += 1
    if (looks < 3) return
    fs.rmSync(draft)
    fs.writeFileSync(draft, '{"kind":"persona","id":"ada","body":{"state":"stale"}}')
  }
  const store = createFileRecordStore({ directory, mayChange })
  await expect(store.put('persona', 'ada', { state: 'wrapped' })).rejects.toMatchObject({
    code: 'store_unavailable',
    detail: /ada\.json cannot be written: .*another process writes this file/,
  })
  expect(await store.get('persona', 'ada')).toEqual({ state: 'active' })
})

test('a reader whose directory another process has taken leaves invalid files in place', async () => {
  const directory = temporaryDirectory()
  const notices: QuarantineNotice[] = []
  const store = createFileRecordStore({
    directory,
    onRejected: (notice) => notices.push(notice),
    mayChange() {
      throw new TurnbellError('store_fenced', { detail: 'taken' })
    },
  })
  fs.mkdirSync(path.join(directory, 'persona'))
  fs.writeFileSync(path.join(directory, 'persona', 'ada.json'), '{')
  expect(await store.get('persona', 'ada')).toBeNull()
  expect(await store.list('persona')).toEqual([])
  await expect(store.quarantine('persona', 'ada', 'damaged')).rejects.toMatchObject({ code: 'store_fenced' })
  expect(fs.readdirSync(directory)).toEqual(['persona'])
  expect(notices.map(({ kept_in }) => kept_in)).toEqual([null, null])
})

describe('unsynced records of a killed process', () => {
  /** Records the directories in the order of their syncs; `fails` makes a sync fail. */
  function watchSyncs(fails: (directory: string) => boolean = () => false): string[] {
    const synced: string[] = []
    const open = fsPromises.open.bind(fsPromises)
    vi.spyOn(fsPromises, 'open').mockImplementation(async (file, ...rest) => {
      if (fails(String(file)))
        throw Object.assign(new Error('EIO: by order of the test'), { code: 'EIO', errno: -5 })
      if (fs.statSync(String(file), { throwIfNoEntry: false })?.isDirectory() === true)
        synced.push(String(file))
      return open(file, ...rest)
    })
    onTestFinished(() => void vi.restoreAllMocks())
    return synced
  }

  async function left() {
    const home = temporaryDirectory()
    const directory = path.join(home, 'records')
    await createFileRecordStore({ directory }).put('persona', 'ada', { version: 1 })
    return {
      store: createFileRecordStore({ directory }),
      way: [path.join(directory, 'persona'), directory, home],
    }
  }

  test.each([
    ['listed', (store: RecordStore) => store.list('persona')],
    ['read', (store: RecordStore) => store.get('persona', 'ada')],
    ['missed by a removal', (store: RecordStore) => store.remove('persona', 'bob')],
    ['looked at alone', (store: RecordStore) => store.exclusive('persona', (held) => held.list())],
  ])('unsynced records are synced once before they are %s', async (_, tell) => {
    const { store, way } = await left()
    const synced = watchSyncs()
    await tell(store)
    await tell(store)
    expect(synced).toEqual(way)
  })

  test('unsynced records are not returned until a sync succeeds', async () => {
    const { store, way } = await left()
    let broken = true
    const synced = watchSyncs((directory) => broken && directory === way[1])
    await expect(store.list('persona')).rejects.toMatchObject({ code: 'store_unavailable' })
    broken = false
    expect(await store.list('persona')).toEqual([{ id: 'ada', body: { version: 1 } }])
    expect(synced).toEqual([way[0], ...way])
  })

  test.each([
    ['put', (store: RecordStore) => store.put('persona', 'ada', { version: 2 })],
    ['removal', (store: RecordStore) => store.remove('persona', 'ada')],
  ])('records changed by a %s whose sync failed are synced before they are returned', async (_, change) => {
    const { store, way } = await left()
    let broken = false
    const synced = watchSyncs((directory) => broken && directory === way[0])
    await store.list('persona')
    broken = true
    await expect(change(store)).rejects.toMatchObject({ code: 'store_unavailable' })
    broken = false
    synced.length = 0
    await store.remove('persona', 'ada')
    expect(synced.slice(0, way.length)).toEqual(way)
  })

  test('a put syncs the name of a folder created by a killed process', async () => {
    const home = temporaryDirectory()
    const folder = path.join(home, 'records', 'persona')
    fs.mkdirSync(folder, { recursive: true })
    const synced = watchSyncs()
    await createFileRecordStore({ directory: path.join(home, 'records') }).put('persona', 'ada', {})
    expect(synced).toEqual([folder, path.dirname(folder), home, folder])
  })

  test('a kind without a folder has no records', async () => {
    const store = createFileRecordStore({ directory: path.join(temporaryDirectory(), 'records') })
    expect(await store.list('persona')).toEqual([])
  })
})
