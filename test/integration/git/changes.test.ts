/** Tests changed files, and the state of the work tree. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { changedFiles, readDiff, type ChangesInput } from '../../../src/modules/git/changes.ts'
import { readStatus, status } from '../../../src/modules/git/status.ts'
import { repositoryAt } from '../../support/worlds/git-world.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { GIT_ENV, testRepository, type TestRepository } from '../../support/disk/test-repository.ts'

const changes = async (root: string, input: ChangesInput = {}) =>
  changedFiles(await repositoryAt(root), input)
const statusOf = async (root: string) => status(await repositoryAt(root))
const files = async (root: string, input: ChangesInput = {}) => (await changes(root, input)).files

/** Returns a repository with a merge conflict: two branches changed the same line. */
function conflict(): TestRepository {
  const repository = testRepository()
  repository.write('both', 'base\n')
  repository.commit('base')
  repository.git('checkout', '--quiet', '-b', 'side')
  repository.write('both', 'theirs\n')
  repository.commit('theirs')
  repository.git('checkout', '--quiet', 'main')
  repository.write('both', 'ours\n')
  repository.commit('ours')
  expect(() => repository.git('merge', '--quiet', 'side')).toThrow()
  return repository
}

describe('changed files', () => {
  test('changed files are those that differ on disk from HEAD, staged or not, and untracked ones', async () => {
    const repository = testRepository()
    repository.write('changed', 'one\ntwo\n')
    repository.write('gone', 'x\n')
    repository.write('.gitignore', 'ignored\n')
    repository.commit('one')
    repository.write('changed', 'one\n2\n3\n')
    repository.remove('gone')
    repository.write('staged', 'new\n')
    repository.git('add', 'staged')
    repository.write('dir/untracked', 'x')
    repository.write('ignored', 'x')
    expect(await changes(repository.root)).toEqual({
      truncated: false,
      files: [
        { path: 'changed', status: 'modified', insertions: 2, deletions: 1 },
        { path: 'gone', status: 'deleted', insertions: 0, deletions: 1 },
        { path: 'staged', status: 'added', insertions: 1, deletions: 0 },
        { path: 'dir/untracked', status: 'untracked' },
      ],
    })
    expect(await files(repository.root, { staged: true })).toEqual([
      { path: 'staged', status: 'added', insertions: 1, deletions: 0 },
    ])
    expect(await files(repository.root, { path: 'dir' })).toEqual([
      { path: 'dir/untracked', status: 'untracked' },
    ])
    expect(await files(repository.root, { path: 'changed', staged: true })).toEqual([])
  })

  test('changed files of a commit are relative to its first parent, and of the first commit to an empty tree', async () => {
    const repository = testRepository()
    repository.write('a', 'a\n')
    const first = repository.commit('one')
    repository.git('checkout', '--quiet', '-b', 'side')
    repository.write('b', 'b\n')
    repository.commit('side')
    repository.git('checkout', '--quiet', 'main')
    repository.write('c', 'c\n')
    repository.commit('main')
    repository.git('merge', '--quiet', '--no-ff', '-m', 'merge', 'side')
    repository.write('untracked', 'x')
    const added = (name: string) => ({ path: name, status: 'added', insertions: 1, deletions: 0 })
    expect(await files(repository.root, { to: 'HEAD' })).toEqual([added('b')])
    expect(await files(repository.root, { to: first })).toEqual([added('a')])
    expect(await files(repository.root, { from: first, to: 'HEAD' })).toEqual([added('b'), added('c')])
    expect(await files(repository.root, { from: 'HEAD', to: first })).toMatchObject([
      { path: 'b', status: 'deleted' },
      { path: 'c', status: 'deleted' },
    ])
    expect(await files(repository.root, { from: first })).toEqual([
      added('b'),
      added('c'),
      { path: 'untracked', status: 'untracked' },
    ])
  })

  test('changed files before the first commit are all files', async () => {
    const repository = testRepository()
    repository.write('staged', 'x\n')
    repository.git('add', '.')
    repository.write('untracked', 'x')
    const added = { path: 'staged', status: 'added', insertions: 1, deletions: 0 }
    expect(await files(repository.root)).toEqual([added, { path: 'untracked', status: 'untracked' }])
    expect(await files(repository.root, { staged: true })).toEqual([added])
    await expect(changes(repository.root, { to: 'HEAD' })).rejects.toMatchObject({ code: 'revision_unknown' })
  })

  test('changed files contain renames and copies with the old name, and no line counts of binary files', async () => {
    const repository = testRepository()
    const long = Array.from({ length: 40 }, (_, n) => `line ${n}\n`).join('')
    repository.write('old', long)
    repository.write('source', `source\n${long}`)
    repository.write('binary', Buffer.from([0, 1, 2]))
    repository.commit('one')
    repository.git('mv', 'old', 'new')
    repository.write('new', `${long}more\n`)
    repository.write('copy', `source\n${long}`)
    repository.write('source', `source\n${long}changed\n`)
    repository.write('binary', Buffer.from([0, 3]))
    fs.symlinkSync('new', path.join(repository.root, 'link'))
    repository.git('add', '.')
    expect(await files(repository.root)).toEqual([
      { path: 'binary', status: 'modified' },
      { path: 'copy', status: 'copied', old_path: 'source', insertions: 0, deletions: 0 },
      { path: 'link', status: 'added', insertions: 1, deletions: 0 },
      { path: 'new', status: 'renamed', old_path: 'old', insertions: 1, deletions: 0 },
      { path: 'source', status: 'modified', insertions: 1, deletions: 0 },
    ])
  })

  test('a changed file in conflict is listed once', async () => {
    const repository = conflict()
    expect(await files(repository.root)).toEqual([
      { path: 'both', status: 'conflicted', insertions: 4, deletions: 0 },
    ])
    expect(await files(repository.root, { staged: true })).toEqual([{ path: 'both', status: 'conflicted' }])
    repository.remove('both')
    expect(await files(repository.root)).toMatchObject([{ path: 'both', status: 'conflicted' }])
  })

  test('changed files have names of every kind', async () => {
    const repository = testRepository()
    const names = [
      '-n',
      '--all',
      ':(top)x',
      'a b',
      'tab\there',
      'line\nfeed',
      '"quoted"',
      "it's",
      'ünïcödé',
      '😀',
    ]
    const listed = [...names, '\ufeffmark', ' leading', 'trailing ', '1\t2\tx', ':100644'].toSorted()
    for (const name of listed) repository.write(name, 'x\n')
    const untracked = await files(repository.root)
    expect(untracked.map((file) => file.path).toSorted()).toEqual(listed)
    expect(untracked.every((file) => file.status === 'untracked')).toBe(true)
    repository.git('add', '.')
    const added = await files(repository.root)
    expect(added.map((file) => file.path).toSorted()).toEqual(listed)
    expect(added.every((file) => file.insertions === 1)).toBe(true)
    for (const name of listed)
      expect((await files(repository.root, { path: name })).map((file) => file.path)).toEqual([name])
    repository.commit('all')
    for (const name of listed) repository.git('--literal-pathspecs', 'mv', '--', name, `moved ${name}`)
    const moved = await files(repository.root, { staged: true })
    expect(moved).toHaveLength(listed.length)
    expect(moved.every((file) => file.status === 'renamed')).toBe(true)
  })

  test('changed files with names that are not valid UTF-8 are distinguished from missing ones', async () => {
    const repository = testRepository()
    fs.writeFileSync(Buffer.concat([Buffer.from(`${repository.root}/caf`), Buffer.from([0xe9])]), 'x')
    expect(await files(repository.root)).toEqual([{ path: 'caf\ufffd', status: 'untracked' }])
    expect((await statusOf(repository.root)).untracked).toEqual(['caf\ufffd'])
  })

  test('changed files of a submodule are its commits, not its files', async () => {
    const inner = testRepository()
    inner.commit('inner')
    const repository = testRepository()
    repository.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.root, 'inner')
    repository.commit('one')
    fs.writeFileSync(path.join(repository.root, 'inner/new'), 'x')
    expect(await files(repository.root)).toEqual([])
    expect(await statusOf(repository.root)).toMatchObject({ clean: true })
    repository.git('-C', 'inner', 'commit', '--quiet', '--allow-empty', '-m', 'more')
    expect(await files(repository.root)).toMatchObject([{ path: 'inner', status: 'modified' }])
    expect(await statusOf(repository.root)).toMatchObject({ unstaged: [{ path: 'inner' }] })
  })

  test('changed files of a project in a subdirectory are relative to the repository root', async () => {
    const repository = testRepository()
    repository.write('sub/a', 'x')
    repository.write('b', 'x')
    repository.git('config', 'diff.relative', 'true')
    repository.git('config', 'status.relativePaths', 'true')
    const sub = path.join(repository.root, 'sub')
    expect((await files(sub)).map((file) => file.path)).toEqual(['b', 'sub/a'])
    repository.git('add', '.')
    expect((await files(sub)).map((file) => file.path)).toEqual(['b', 'sub/a'])
    expect((await statusOf(sub)).staged.map((file) => file.path)).toEqual(['b', 'sub/a'])
  })

  test('changed files beyond the response limit are omitted and marked', async () => {
    const repository = testRepository()
    for (let n = 0; n < LIMITS.git_files_max + 1; n += 1) repository.write(`f${n}`, '')
    const found = await changes(repository.root)
    expect(found.truncated).toBe(true)
    expect(found.files).toHaveLength(LIMITS.git_files_max)
    const stood = await statusOf(repository.root)
    expect(stood).toMatchObject({ truncated: true, counts: { untracked: LIMITS.git_files_max + 1 } })
    repository.remove('f0')
    expect(await changes(repository.root)).toMatchObject({ truncated: false })
  })

  test('changed files with long names fit the response limit as well', async () => {
    const repository = testRepository()
    for (let n = 0; n < 400; n += 1) repository.write(`${'d'.repeat(200)}/${'e'.repeat(200)}/${n}`, '')
    const found = await changes(repository.root)
    expect(found.truncated).toBe(true)
    expect(JSON.stringify(found).length).toBeLessThan(LIMITS.git_list_bytes_max + 100)
  })

  test.each([
    [{ from: 'nothing' }, 'revision_unknown'],
    [{ to: '--output=x' }, 'revision_unknown'],
    [{ to: 'HEAD', staged: true }, 'params_invalid'],
    [{ path: '../elsewhere' }, 'params_invalid'],
  ])('changed files for %j are rejected with %s', async (input, code) => {
    const repository = testRepository()
    repository.commit('one')
    await expect(changes(repository.root, input)).rejects.toMatchObject({ code })
  })
})

describe('the status', () => {
  test('the status returns the branch, its upstream and their distance', async () => {
    const origin = testRepository()
    origin.commit('one')
    const root = temporaryDirectory()
    origin.git('clone', '--quiet', `file://${origin.root}`, root)
    origin.commit('theirs')
    const clone = (...args: string[]) => origin.git('-C', root, ...args)
    clone('commit', '--quiet', '--allow-empty', '-m', 'ours')
    clone('commit', '--quiet', '--allow-empty', '-m', 'ours too')
    clone('fetch', '--quiet')
    clone('config', 'status.aheadBehind', 'false')
    expect(await statusOf(root)).toEqual({
      root: fs.realpathSync(root),
      head: clone('rev-parse', 'HEAD'),
      branch: 'main',
      upstream: 'origin/main',
      ahead: 2,
      behind: 1,
      clean: true,
      counts: { staged: 0, unstaged: 0, untracked: 0, conflicted: 0 },
      staged: [],
      unstaged: [],
      untracked: [],
      conflicted: [],
      truncated: false,
    })
    clone('update-ref', '-d', 'refs/remotes/origin/main')
    expect(await statusOf(root)).toMatchObject({ upstream: 'origin/main', ahead: null, behind: null })
  })

  test('the status has no branch for a detached head, and no head before the first commit', async () => {
    const repository = testRepository()
    expect(await statusOf(repository.root)).toMatchObject({ head: null, branch: 'main', upstream: null })
    const sha = repository.commit('one')
    repository.git('checkout', '--quiet', '--detach')
    expect(await statusOf(repository.root)).toMatchObject({ head: sha, branch: null, ahead: null })
  })

  test('the status lists staged, changed and untracked files separately', async () => {
    const repository = testRepository()
    repository.write('a b', 'x\n'.repeat(9))
    repository.write('twice', '1')
    repository.commit('one')
    repository.git('mv', 'a b', 'c\nd')
    repository.write('twice', '2')
    repository.git('add', '.')
    repository.write('twice', '3')
    repository.remove('c\nd')
    repository.write('new/one', 'x')
    repository.write('new/two', 'x')
    expect(await statusOf(repository.root)).toMatchObject({
      clean: false,
      counts: { staged: 2, unstaged: 2, untracked: 1, conflicted: 0 },
      staged: [
        { path: 'c\nd', status: 'renamed', old_path: 'a b' },
        { path: 'twice', status: 'modified' },
      ],
      unstaged: [
        { path: 'c\nd', status: 'deleted' },
        { path: 'twice', status: 'modified' },
      ],
      untracked: ['new/'],
    })
  })

  test('the status lists conflicts', async () => {
    const repository = conflict()
    expect(await statusOf(repository.root)).toMatchObject({
      clean: false,
      conflicted: ['both'],
      counts: { conflicted: 1, staged: 0, unstaged: 0 },
    })
  })

  test('the status of another work tree is independent', async () => {
    const repository = testRepository()
    repository.commit('one')
    const tree = path.join(temporaryDirectory(), 'tree')
    repository.git('worktree', 'add', '--quiet', '-b', 'other', tree)
    repository.write('here', 'x')
    expect(await statusOf(tree)).toMatchObject({ branch: 'other', clean: true })
    expect(await statusOf(repository.root)).toMatchObject({ branch: 'main', clean: false })
  })
})

describe('truncated output of git', () => {
  const torn = (text: string) => ({
    stdout: Buffer.from(text),
    complaint: '',
    exit_code: null,
    stopped: 'output_full' as const,
  })

  test.each([0, 1, 10, 60, 90, 99, 104, 108, 112, 116, 120, 130])(
    'output of git truncated at byte %i is parsed up to its end',
    (at) => {
      const repository = testRepository()
      repository.write('a', '1\n')
      repository.write('old', 'x\n'.repeat(9))
      repository.commit('one')
      repository.write('a', '2\n')
      repository.git('mv', 'old', 'new')
      repository.git('add', '.')
      const run = (...args: string[]) =>
        execFileSync('git', args, { cwd: repository.root, env: GIT_ENV, encoding: 'utf8' })
      const diff = run('diff', '-z', '--raw', '--numstat', '--no-abbrev', '-M', 'HEAD')
      const whole = readDiff({ ...torn(diff), stopped: null })
      expect(whole).toHaveLength(2)
      for (const file of readDiff(torn(diff.slice(0, at))))
        expect(whole.map(({ path: name, status: how }) => [name, how])).toContainEqual([
          file.path,
          file.status,
        ])
      const stood = run('status', '--porcelain=v2', '-z', '--branch')
      for (const file of readStatus(torn(stood.slice(0, at))).staged)
        expect(['a', 'new']).toContain(file.path)
    },
  )
})
