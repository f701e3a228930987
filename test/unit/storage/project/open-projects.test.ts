import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { silentLog } from '../../../../src/ports/log.ts'
import { projectOpener } from '../../../../src/storage/file/project/open-projects.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

test('a project is open while its directory exists', async () => {
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

test('an invalid record file is logged with its quarantine path', async () => {
  const root = temporaryDirectory()
  const warned: object[] = []
  const log = { ...silentLog, warn: (fields: object) => void warned.push(fields) }
  const records = projectOpener({ log })(root)?.records
  await records?.put('note', 'a', { text: 'x' })
  fs.writeFileSync(path.join(root, '.turnbell/records/note/b.json'), '{')
  expect(await records?.list('note')).toHaveLength(1)
  const kept_in = path.join(root, '.turnbell/rejected/note/b.json')
  expect(warned).toMatchObject([{ kept_in, reason: /JSON/ }])
  expect(fs.readFileSync(kept_in, 'utf8')).toBe('{')
})

test('a line without an id gets one from the opener of the project', async () => {
  const root = temporaryDirectory()
  const records = projectOpener({ log: silentLog, newId: () => 'new' })(root)?.records
  await records?.put('entry', 'a', { id: 'a' })
  fs.appendFileSync(path.join(root, '.turnbell/blackboard.jsonl'), '{"summary":"by hand"}\n')
  expect(await records?.get('entry', 'new')).toBeNull()
  expect((await records?.list('entry'))?.[1]).toEqual({ id: 'new', body: { id: 'new', summary: 'by hand' } })
  expect(await records?.get('entry', 'new')).toEqual({ id: 'new', summary: 'by hand' })
})

test('quarantined files are returned by their path, and none if there are none', async () => {
  const root = temporaryDirectory()
  const project = projectOpener({ log: silentLog })(root)
  expect(await project?.quarantinedFiles(5)).toEqual([])
  await project?.records.put('entry', 'a', { id: 'a' })
  expect(await project?.quarantinedFiles(5)).toEqual([])
  fs.appendFileSync(path.join(root, '.turnbell/blackboard.jsonl'), 'no entry\n')
  fs.utimesSync(path.join(root, '.turnbell/blackboard.jsonl'), new Date(0), new Date(0))
  fs.mkdirSync(path.join(root, '.turnbell/records/note'), { recursive: true })
  fs.writeFileSync(path.join(root, '.turnbell/records/note/b.json'), '{')
  await project?.records.list('entry')
  await project?.records.list('note')
  expect(await project?.quarantinedFiles(5)).toEqual([
    ...['.turnbell/rejected/blackboard.jsonl', '.turnbell/rejected/note/b.json'],
  ])
  expect(await project?.quarantinedFiles(1)).toHaveLength(1)
})

test('a quarantined folder or link is returned by its name, without its content', async () => {
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
  expect(await project?.quarantinedFiles(5)).toEqual(
    ['b', 'e', 'f'].map((name) => `.turnbell/rejected/decisions/${name}.json`),
  )
})

test('invalid files of every kind that cannot be moved are returned with the reason', async () => {
  const root = temporaryDirectory()
  const open = () => projectOpener({ log: silentLog })(root)
  expect(await open()?.unreadableFiles()).toEqual([])
  expect(fs.readdirSync(root)).toEqual([])
  await open()?.records.put('note', 'a', { text: 'x' })
  expect(await open()?.unreadableFiles()).toEqual([])
  fs.writeFileSync(path.join(root, '.turnbell/records/note/a.json'), '<<<<<<< HEAD\n')
  fs.symlinkSync('/etc', path.join(root, '.turnbell/records/other'))
  expect(await open()?.unreadableFiles()).toEqual([
    { file: '.turnbell/records/note/a.json', reason: 'the file contains an unresolved merge conflict' },
    { file: '.turnbell/records/other', reason: expect.stringContaining('is a link') as string },
  ])
})

test.each<[string, (file: string) => void, RegExp]>([
  [
    'larger than anybody writes by hand',
    (file) => fs.writeFileSync(file, Array.from({ length: 25_000 }, (_, n) => `key${n}: 1\n`).join('')),
    /larger than 16384 bytes/,
  ],
  ['a link', (file) => fs.symlinkSync('/etc/hostname', file), /not a regular file/],
  ['a pipe', (file) => execFileSync('mkfifo', [file]), /not a regular file/],
  ['a folder', (file) => fs.mkdirSync(file), /not a regular file/],
])('settings that are %s are not read, and the reason is returned', async (_, make, reason) => {
  const root = temporaryDirectory()
  const project = projectOpener({ log: silentLog })(root)
  expect(await project?.configText()).toBeNull()
  await project?.records.put('entry', 'a', { id: 'a' })
  expect(await project?.configText()).toMatch(/^version: 1$/m)
  fs.rmSync(path.join(root, '.turnbell/config.yml'))
  make(path.join(root, '.turnbell/config.yml'))
  expect(await project?.configText()).toEqual({ reason: expect.stringMatching(reason) as string })
})

describe('disk errors', () => {
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
    ['what was set aside', (project) => project.quarantinedFiles(5)],
    ['the records of a kind', ({ records }) => records.list('decision')],
    ['what cannot be read', (project) => project.unreadableFiles()],
  ])('a disk error while %s is listed is reported as store_unavailable', async (_, look) => {
    const project = await opened()
    vi.spyOn(fs.promises, 'readdir').mockRejectedValue(failing())
    await expect(look(project)).rejects.toMatchObject({
      ...{ code: 'store_unavailable', detail: expect.stringMatching(/cannot be read: Error: EIO/) as string },
      hint: 'Check the disk, then call again.',
    })
  })

  test.each<[string, 'lstatSync' | 'openSync' | 'readSync']>([
    ['looked at', 'lstatSync'],
    ['opened', 'openSync'],
    ['read', 'readSync'],
  ])('a disk error in %s of a file is reported as store_unavailable', async (_, call) => {
    const { records } = await opened()
    vi.spyOn(fs, call).mockImplementation(() => {
      throw failing()
    })
    await expect(records.list('entry')).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('a disk error while a record is read is reported as store_unavailable', async () => {
    const { records } = await opened()
    vi.spyOn(fs.promises, 'open').mockRejectedValue(failing())
    await expect(records.get('decision', 'a')).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('an error that is not a disk error is rethrown', async () => {
    const project = await opened()
    vi.spyOn(fs.promises, 'readdir').mockRejectedValue(new TypeError('names is no list'))
    await expect(project.archivedDays()).rejects.toThrow(TypeError)
  })
})
