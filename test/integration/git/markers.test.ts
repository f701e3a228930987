/** Tests TODO markers, found in a real repository. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { MARKERS } from '../../../src/contracts/git.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { findMarkers, type MarkersInput } from '../../../src/modules/git/markers.ts'
import { repositoryAt } from '../../support/worlds/git-world.ts'
import { refusedWith } from '../../support/worlds/small-hub.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testRepository } from '../../support/disk/test-repository.ts'

const find = async (root: string, input: Partial<MarkersInput> = {}) =>
  findMarkers(await repositoryAt(root), { markers: MARKERS, limit: 100, ...input })
const places = async (root: string, input: Partial<MarkersInput> = {}) =>
  (await find(root, input)).markers.map(({ file, line, marker }) => `${file}:${line} ${marker}`)

describe('marked work', () => {
  test('a marker is returned with its place, its word and its line, as on disk', async () => {
    const repository = testRepository()
    repository.write('a.ts', 'one\n')
    repository.write('src/b c.ts', '// TODO: mend it\n')
    repository.commit('begun')
    repository.write('a.ts', 'one\n  /* FIXME(ada) or XXX */\n')
    expect(await find(repository.root)).toEqual({
      markers: [
        { file: 'a.ts', line: 2, marker: 'FIXME', text: '/* FIXME(ada) or XXX */' },
        { file: 'src/b c.ts', line: 1, marker: 'TODO', text: '// TODO: mend it' },
      ],
      counts: { FIXME: 1, TODO: 1 },
      skipped: 0,
      truncated: false,
    })
  })

  test('a marker is a whole word in capitals, or any other requested word', async () => {
    const repository = testRepository()
    const lines = ['TODOS', 'todo', 'TODO_LIST', 'myTODO', 'TODO', 'TODOS(TODO)', '#HACK#', 'OPTIMISE', '.*']
    repository.write('a', `${lines.join('\n')}\n`)
    repository.commit('a')
    expect(await places(repository.root)).toEqual(['a:5 TODO', 'a:6 TODO', 'a:7 HACK'])
    expect(await places(repository.root, { markers: ['OPTIMISE', 'todo', 'todo'] })).toEqual([
      'a:2 todo',
      'a:8 OPTIMISE',
    ])
    expect(await find(repository.root, { markers: ['NOTHING'] })).toEqual({
      ...{ markers: [], counts: {}, skipped: 0, truncated: false },
    })
  })

  test('markers are searched only in tracked text', async () => {
    const repository = testRepository()
    repository.write('.gitignore', 'ignored\n')
    repository.write('binary', Buffer.from('TODO\0TODO\n'))
    repository.write('tracked', 'TODO\n')
    repository.commit('a')
    for (const file of ['ignored', 'untracked', '.git/TODO']) repository.write(file, 'TODO\n')
    repository.write('staged', 'TODO\n')
    repository.git('add', 'staged')
    repository.write('gone', 'TODO\n')
    repository.git('add', 'gone')
    repository.remove('gone')
    expect(await places(repository.root)).toEqual(['staged:1 TODO', 'tracked:1 TODO'])
  })

  test('markers are not searched behind links, whenever they were made', async () => {
    const outside = temporaryDirectory()
    fs.writeFileSync(path.join(outside, 'secret'), 'TODO hunter2\n')
    const repository = testRepository()
    fs.symlinkSync(path.join(outside, 'secret'), path.join(repository.root, 'link'))
    repository.write('directory/secret', 'TODO\n')
    repository.write('file', 'TODO\n')
    repository.write('kept', 'TODO\n')
    repository.commit('a')
    repository.remove('directory')
    fs.symlinkSync(outside, path.join(repository.root, 'directory'))
    repository.remove('file')
    fs.symlinkSync(path.join(outside, 'secret'), path.join(repository.root, 'file'))
    const found = await find(repository.root)
    expect(found.markers).toMatchObject([{ file: 'kept' }])
    expect(JSON.stringify(found)).not.toContain('hunter2')
  })

  test('markers are searched without running the configured programs of a submodule', async () => {
    const outside = temporaryDirectory()
    const ran = path.join(outside, 'ran')
    fs.writeFileSync(path.join(outside, 'evil.sh'), `#!/bin/sh\ntouch '${ran}'\ncat\n`, { mode: 0o755 })
    const inner = testRepository()
    inner.write('file', 'inner\n')
    inner.commit('begun')
    const repository = testRepository()
    repository.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.root, 'inner')
    repository.write('a.ts', '// TODO\n')
    repository.commit('a')
    repository.git('-C', 'inner', 'config', 'filter.evil.clean', path.join(outside, 'evil.sh'))
    repository.write('.git/modules/inner/info/attributes', '* filter=evil\n')
    // Same length, so that only the contents show the change.
    repository.write('inner/file', 'outer\n')
    expect(await places(repository.root)).toEqual(['a.ts:1 TODO'])
    expect(fs.existsSync(ran)).toBe(false)
    // A check-out would have run the filter.
    repository.git('status', '--short')
    expect(fs.existsSync(ran)).toBe(true)
  })

  test('markers are not returned for files that are too large or lines without an end', async () => {
    const repository = testRepository()
    repository.write('large', `TODO\n${'x'.repeat(LIMITS.git_scanned_file_bytes_max)}\n`)
    repository.write('long', `TODO ${'x'.repeat(LIMITS.git_text_length_max)}\n`)
    repository.commit('a')
    const { markers, skipped, counts } = await find(repository.root)
    expect(markers).toMatchObject([{ file: 'long', text_cut: true }])
    expect(markers[0]?.text).toHaveLength(LIMITS.git_text_length_max)
    expect([skipped, counts]).toEqual([1, { TODO: 1 }])
  })

  test('markers are listed up to a limit, and counted beyond it', async () => {
    const repository = testRepository()
    repository.write('a', 'TODO\n'.repeat(30))
    repository.commit('a')
    expect(await find(repository.root, { limit: 3 })).toMatchObject({
      markers: [{ line: 1 }, { line: 2 }, { line: 3 }],
      counts: { TODO: 30 },
      truncated: true,
    })
    expect(await find(repository.root, { limit: 30 })).toMatchObject({ truncated: false })
  })

  test('markers are limited to the project, which may be a part of the repository, or to a part of it', async () => {
    const repository = testRepository()
    for (const file of ['app/a', 'app/lib/b', 'apple/c', 'd']) repository.write(file, 'TODO\n')
    repository.commit('a')
    const app = path.join(repository.root, 'app')
    expect(await places(repository.root)).toHaveLength(4)
    expect(await places(app)).toEqual(['app/a:1 TODO', 'app/lib/b:1 TODO'])
    for (const place of ['app/lib', 'app/lib/', 'app/./lib', path.join(app, 'lib')])
      expect(await places(app, { path: place }), place).toEqual(['app/lib/b:1 TODO'])
    expect(await places(app, { path: 'app' })).toHaveLength(2)
    expect(await places(app, { path: 'app/none' })).toEqual([])
    for (const place of ['.', 'd', 'apple', 'app/..', '../x', '/etc'])
      expect(await refusedWith(() => find(app, { path: place })), place).toBe('params_invalid')
  })

  test('there are no markers before the first commit', async () => {
    const { root } = testRepository()
    expect(await find(root)).toMatchObject({ markers: [], truncated: false })
  })
})
