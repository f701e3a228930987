/** Tests quarantining an invalid record, and both sides of a merge, on a disk that rejects the write. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { QuarantineNotice } from '../../../../src/storage/file/records/quarantine-file.ts'
import { createFileRecordStore } from '../../../../src/storage/file/records/record-store.ts'
import { projectFiles } from '../../../support/disk/project-files.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

afterEach(() => void vi.restoreAllMocks())

const failing = (code: string) =>
  Object.assign(new Error(`${code}: by order of the test`), { code, errno: -1 })
const CODES = ['ENOSPC', 'EROFS', 'EIO']

/** From now on, for such files. */
function fail(call: 'mkdirSync' | 'readdirSync' | 'renameSync' | 'writeFileSync', code: string, ending = '') {
  const real = fs[call] as (...args: unknown[]) => unknown
  vi.spyOn(fs, call as 'writeFileSync').mockImplementation((...args: unknown[]) => {
    if (String(args[0]).endsWith(ending)) throw failing(code)
    return real(...args)
  })
}

describe('an invalid record file', () => {
  async function withBadRecord() {
    const directory = temporaryDirectory()
    const notices: QuarantineNotice[] = []
    const store = createFileRecordStore({ directory, onRejected: (notice) => notices.push(notice) })
    await store.put('persona', 'ada', { good: true })
    const file = path.join(directory, 'persona', 'bob.json')
    fs.writeFileSync(file, '{')
    const lists = async () =>
      expect(await store.list('persona')).toEqual([{ id: 'ada', body: { good: true } }])
    return { directory, notices, store, file, lists }
  }

  const told = (file: string) => ({
    file,
    kept_in: null,
    reason: expect.stringMatching(/JSON/) as string,
  })

  test.each(
    CODES.flatMap((code) =>
      (['mkdirSync', 'readdirSync', 'renameSync'] as const).map((call) => [code, call] as const),
    ),
  )('an invalid file stays in place and is ignored if the disk returns %s for %s', async (code, call) => {
    const { notices, store, file, lists } = await withBadRecord()
    fail(call, code)
    await lists()
    await lists()
    expect(notices).toEqual([told(file)])
    expect(await store.get('persona', 'bob')).toBeNull()
    await store.quarantine('persona', 'bob', 'it is bad')
    expect(notices.slice(1)).toEqual([told(file), { file, kept_in: null, reason: 'it is bad' }])
    expect(fs.readFileSync(file, 'utf8')).toBe('{')
  })

  test('an invalid file stays in place if the quarantine folder is a broken link', async () => {
    const { directory, notices, file, lists } = await withBadRecord()
    fs.symlinkSync(path.join(directory, 'nowhere', 'at', 'all'), path.join(directory, 'rejected'))
    await lists()
    expect(notices).toEqual([told(file)])
  })

  test('an invalid file stays in place if the quarantine folder is a file', async () => {
    const { directory, notices, file, lists } = await withBadRecord()
    fs.writeFileSync(path.join(directory, 'rejected'), 'mine')
    await lists()
    expect(notices).toEqual([told(file)])
    expect(fs.readFileSync(file, 'utf8')).toBe('{')
  })

  test.each(CODES)(
    'an invalid file is moved if the disk returns %s only for its reason, and the log entry contains the reason',
    async (code) => {
      const { directory, notices, file, lists } = await withBadRecord()
      fail('writeFileSync', code, '.reason')
      await lists()
      const kept_in = path.join(directory, 'rejected', 'persona', 'bob.json')
      expect(notices).toEqual([{ ...told(file), kept_in }])
      expect(fs.readFileSync(kept_in, 'utf8')).toBe('{')
      expect(fs.existsSync(file)).toBe(false)
    },
  )

  test('a bug during quarantine is not hidden as a disk error', async () => {
    const { store } = await withBadRecord()
    vi.spyOn(fs, 'renameSync').mockImplementation(() => {
      throw new TypeError('a bug')
    })
    await expect(store.list('persona')).rejects.toThrow(TypeError)
  })
})

describe('a file with both sides of a merge', () => {
  const BODY = { id: 'a', kind: 'issue', title: 'x' }
  const said = (title: string) => JSON.stringify({ ...BODY, title, updated_at: title })
  const TEXT = `<<<<<<< HEAD\n${said('1')}\n=======\n${said('2')}\n>>>>>>> x\n`
  const JOINED = { ...BODY, title: '2', updated_at: '2' }

  async function withConflict() {
    const project = projectFiles()
    await project.put('a')
    fs.writeFileSync(project.file('a'), TEXT)
    // Long ago, or in the future: no write is in progress.
    fs.utimesSync(project.file('a'), 4e9, 4e9)
    const names = () => fs.readdirSync(project.inside('records', 'issue'))
    return { ...project, names, rejected: project.inside('rejected', 'issue') }
  }

  test.each(
    CODES.flatMap((code) =>
      (['writeFileSync', 'mkdirSync', 'renameSync'] as const).map((call) => [code, call] as const),
    ),
  )('a merged file is read as merged if the disk returns %s for %s', async (code, call) => {
    const { store, file, names } = await withConflict()
    fail(call, code)
    expect(await store.list('issue')).toEqual([{ id: 'a', body: JOINED }])
    vi.restoreAllMocks()
    expect(fs.readFileSync(file('a'), 'utf8')).toBe(TEXT)
    expect(names()).toEqual(['a.json'])
  })

  test('a merged file is rewritten if only its reason cannot be written', async () => {
    const { store, file, notices, rejected } = await withConflict()
    fail('writeFileSync', 'ENOSPC', '.reason')
    expect(await store.list('issue')).toEqual([{ id: 'a', body: JOINED }])
    expect(JSON.parse(fs.readFileSync(file('a'), 'utf8'))).toEqual(JOINED)
    expect(fs.readFileSync(path.join(rejected, 'a.json'), 'utf8')).toBe(TEXT)
    expect(notices).toMatchObject([{ kept_in: path.join(rejected, 'a.json') }])
  })

  test('a merged file is neither overwritten nor removed without a copy, and a partial copy is removed', async () => {
    const { store, put, file, rejected, names } = await withConflict()
    const real = fs.writeFileSync
    vi.spyOn(fs, 'writeFileSync').mockImplementation((target, _text, how) => {
      real(target, '<<<', how)
      throw failing('ENOSPC')
    })
    const refused = { code: 'store_unavailable', detail: expect.stringMatching(/a\.json.*ENOSPC/) as string }
    await expect(put('a', { title: 'new' })).rejects.toMatchObject(refused)
    await expect(store.remove('issue', 'a')).rejects.toMatchObject(refused)
    vi.restoreAllMocks()
    expect(fs.readFileSync(file('a'), 'utf8')).toBe(TEXT)
    expect(fs.readdirSync(rejected)).toEqual([])
    await put('a', { title: 'new' })
    expect(fs.readFileSync(path.join(rejected, 'a.json'), 'utf8')).toBe(TEXT)
    expect(names()).toEqual(['a.json'])
  })
})
