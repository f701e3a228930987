import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { silentLog } from '../../../src/ports/log.ts'
import { projectOpener } from '../../../src/storage/open-projects.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

test('a project is where its directory is, for as long as it is there', async () => {
  const root = path.join(temporaryDirectory(), 'shop')
  const open = projectOpener({ log: silentLog })
  expect(open(root)).toBeNull()
  fs.mkdirSync(root)
  const project = open(root)
  await project?.records.put('note', 'a', { text: 'x' })
  expect(open(root)).toBe(project)
  fs.rmSync(root, { recursive: true })
  expect(open(root)).toBeNull()
  fs.writeFileSync(root, 'a file')
  expect(open(root)).toBeNull()
  for (const name of ['a\0b', 'x'.repeat(300), 'x/'.repeat(5_000)])
    expect(open(path.join(root, '..', name))).toBeNull()
})

test('a file that is no record is told to the log, with where it is kept', async () => {
  const root = temporaryDirectory()
  const warned: object[] = []
  const log = { ...silentLog, warn: (fields: object) => void warned.push(fields) }
  const records = projectOpener({ log })(root)?.records
  await records?.put('note', 'a', { text: 'x' })
  fs.writeFileSync(path.join(root, '.turnbell/records/note/b.json'), '{')
  expect(await records?.list('note')).toHaveLength(1)
  const kept_in = path.join(root, '.turnbell/rejected/note/b.json')
  expect(warned).toMatchObject([{ kept_in, reason: /no JSON/ }])
  expect(fs.readFileSync(kept_in, 'utf8')).toBe('{')
})

test('a line that somebody wrote by hand is given an id by whoever opened the project', async () => {
  const root = temporaryDirectory()
  const records = projectOpener({ log: silentLog, newId: () => 'new' })(root)?.records
  await records?.put('entry', 'a', { id: 'a' })
  fs.appendFileSync(path.join(root, '.turnbell/blackboard.jsonl'), '{"summary":"by hand"}\n')
  expect(await records?.get('entry', 'new')).toBeNull()
  expect((await records?.list('entry'))?.[1]).toEqual({ id: 'new', body: { id: 'new', summary: 'by hand' } })
  expect(await records?.get('entry', 'new')).toEqual({ id: 'new', summary: 'by hand' })
})

test('what was set aside is told by its file, and nothing where nothing was', async () => {
  const root = temporaryDirectory()
  const project = projectOpener({ log: silentLog })(root)
  expect(await project?.setAside(5)).toEqual([])
  await project?.records.put('entry', 'a', { id: 'a' })
  expect(await project?.setAside(5)).toEqual([])
  fs.appendFileSync(path.join(root, '.turnbell/blackboard.jsonl'), 'no entry\n')
  fs.utimesSync(path.join(root, '.turnbell/blackboard.jsonl'), new Date(0), new Date(0))
  fs.mkdirSync(path.join(root, '.turnbell/records/note'), { recursive: true })
  fs.writeFileSync(path.join(root, '.turnbell/records/note/b.json'), '{')
  await project?.records.list('entry')
  await project?.records.list('note')
  expect(await project?.setAside(5)).toEqual([
    ...['.turnbell/rejected/blackboard.jsonl', '.turnbell/rejected/note/b.json'],
  ])
  expect(await project?.setAside(1)).toHaveLength(1)
})

test('a folder or a link that stood in the place of a record is told by its name, and not by what is in it', async () => {
  const root = temporaryDirectory()
  const project = projectOpener({ log: silentLog })(root)
  await project?.records.put('decision', 'a', { id: 'a' })
  const inside = (name: string) => path.join(root, '.turnbell/decisions', name)
  fs.mkdirSync(path.join(inside('b.json'), 'deep'), { recursive: true })
  for (const name of ['notes.txt', 'deep/c.json', 'd.json.reason'])
    fs.writeFileSync(path.join(inside('b.json'), name), 'x')
  fs.mkdirSync(inside('e.json'))
  fs.symlinkSync('/etc/hostname', inside('f.json'))
  expect(await project?.records.list('decision')).toHaveLength(1)
  expect(await project?.setAside(5)).toEqual(
    ['b', 'e', 'f'].map((name) => `.turnbell/rejected/decisions/${name}.json`),
  )
})

test('what is no record and cannot be moved is told with the reason, of every kind', async () => {
  const root = temporaryDirectory()
  const open = () => projectOpener({ log: silentLog })(root)
  expect(await open()?.unread()).toEqual([])
  expect(fs.readdirSync(root)).toEqual([])
  await open()?.records.put('note', 'a', { text: 'x' })
  expect(await open()?.unread()).toEqual([])
  fs.writeFileSync(path.join(root, '.turnbell/records/note/a.json'), '<<<<<<< HEAD\n')
  fs.symlinkSync('/etc', path.join(root, '.turnbell/records/other'))
  expect(await open()?.unread()).toEqual([
    { file: '.turnbell/records/note/a.json', reason: 'it holds an unresolved merge conflict' },
    { file: '.turnbell/records/other', reason: expect.stringContaining('is a link') as string },
  ])
})

test.each<[string, (file: string) => void, RegExp]>([
  [
    'larger than anybody writes by hand',
    (file) => fs.writeFileSync(file, Array.from({ length: 25_000 }, (_, n) => `key${n}: 1\n`).join('')),
    /larger than 16384 bytes/,
  ],
  ['a link', (file) => fs.symlinkSync('/etc/hostname', file), /no plain file/],
  ['a pipe', (file) => execFileSync('mkfifo', [file]), /no plain file/],
  ['a folder', (file) => fs.mkdirSync(file), /no plain file/],
])('settings that are %s are not read, and the reason is told', async (_, make, reason) => {
  const root = temporaryDirectory()
  const project = projectOpener({ log: silentLog })(root)
  expect(await project?.configText()).toBeNull()
  await project?.records.put('entry', 'a', { id: 'a' })
  expect(await project?.configText()).toMatch(/^version: 1$/m)
  fs.rmSync(path.join(root, '.turnbell/config.yml'))
  make(path.join(root, '.turnbell/config.yml'))
  expect(await project?.configText()).toEqual({ reason: expect.stringMatching(reason) as string })
})

describe('a disk that fails', () => {
  afterEach(() => void vi.restoreAllMocks())
  const failing = () => Object.assign(new Error('EIO: i/o error'), { code: 'EIO', errno: -5 })
  const opened = async () => {
    const project = projectOpener({ log: silentLog })(temporaryDirectory())
    if (project === null) throw new Error('the directory is not there')
    for (const kind of ['entry', 'decision', 'archive/2026-03-01'])
      await project.records.put(kind, 'a', { id: 'a' })
    return project
  }
  type Opened = Awaited<ReturnType<typeof opened>>

  test.each<[string, (project: Opened) => Promise<unknown>]>([
    ['the days of which there are archives', (project) => project.archivedDays()],
    ['what was set aside', (project) => project.setAside(5)],
    ['the records of a kind', ({ records }) => records.list('decision')],
    ['what cannot be read', (project) => project.unread()],
  ])('is no mistake of ours where a folder is listed for %s', async (_, look) => {
    const project = await opened()
    vi.spyOn(fs.promises, 'readdir').mockRejectedValue(failing())
    await expect(look(project)).rejects.toMatchObject({
      ...{ code: 'store_unavailable', detail: expect.stringMatching(/cannot be read: Error: EIO/) as string },
      hint: 'Look at the disk and at who may read there, then call again.',
    })
  })

  test.each<[string, 'lstatSync' | 'openSync' | 'readSync']>([
    ['looked at', 'lstatSync'],
    ['opened', 'openSync'],
    ['read', 'readSync'],
  ])('is no mistake of ours where a file is %s', async (_, call) => {
    const { records } = await opened()
    vi.spyOn(fs, call).mockImplementation(() => {
      throw failing()
    })
    await expect(records.list('entry')).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('is no mistake of ours where a record is read', async () => {
    const { records } = await opened()
    vi.spyOn(fs.promises, 'readFile').mockRejectedValue(failing())
    await expect(records.get('decision', 'a')).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('is told apart from a mistake of ours', async () => {
    const project = await opened()
    vi.spyOn(fs.promises, 'readdir').mockRejectedValue(new TypeError('names is no list'))
    await expect(project.archivedDays()).rejects.toThrow(TypeError)
  })
})
