/** Tests which repository a call refers to, and which requests are allowed. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { Revision, RevisionRange, RepositoryPath, Since } from '../../../src/contracts/git.ts'
import { repositoryAt } from '../../support/worlds/git-world.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testRepository } from '../../support/disk/test-repository.ts'

describe('the repository of a project', () => {
  test('the repository of a project is the one that contains its root', async () => {
    const repository = testRepository()
    repository.write('a/b/file', 'x')
    const top = fs.realpathSync(repository.root)
    expect((await repositoryAt(repository.root)).top).toBe(top)
    expect((await repositoryAt(path.join(repository.root, 'a/b'))).top).toBe(top)
  })

  test('the repository of a project may be a linked work tree or a submodule', async () => {
    const repository = testRepository()
    repository.commit('one')
    const tree = path.join(temporaryDirectory(), 'tree')
    repository.git('worktree', 'add', '--quiet', '--detach', tree)
    expect((await repositoryAt(tree)).top).toBe(fs.realpathSync(tree))
    const inner = testRepository()
    const sha = inner.commit('inner')
    repository.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.root, 'inner')
    const submodule = await repositoryAt(path.join(repository.root, 'inner'))
    expect(submodule.top).toBe(fs.realpathSync(path.join(repository.root, 'inner')))
    expect(await submodule.commit('HEAD')).toBe(sha)
  })

  test('the repository of a project may have any name', async () => {
    const root = path.join(temporaryDirectory(), '-- \'a\n"b" ünd c')
    fs.mkdirSync(root)
    testRepository(root)
    expect((await repositoryAt(root)).top).toBe(fs.realpathSync(root))
  })

  test.each([
    ['a directory without one', () => temporaryDirectory()],
    ['a missing directory', () => path.join(temporaryDirectory(), 'none')],
    ['a bare repository', () => testRepository(temporaryDirectory(), ['--bare']).root],
    ['its own .git', () => path.join(testRepository().root, '.git')],
    [
      'a file',
      () => {
        const repository = testRepository()
        repository.write('file', 'x')
        return path.join(repository.root, 'file')
      },
    ],
  ])('the repository is unknown in %s', async (_, root) => {
    await expect(repositoryAt(root())).rejects.toMatchObject({ code: 'repository_unknown' })
  })

  // Only root can change the owner of a directory.
  test.skipIf(process.getuid?.() !== 0)('a repository of another user is not read', async () => {
    const repository = testRepository()
    fs.chownSync(repository.root, 12_345, 12_345)
    await expect(repositoryAt(repository.root)).rejects.toMatchObject({
      code: 'git_failed',
      detail: expect.stringContaining('safe.directory') as string,
    })
  })

  test('a repository that claims to be elsewhere is unknown here', async () => {
    const repository = testRepository()
    repository.git('config', 'core.worktree', temporaryDirectory())
    await expect(repositoryAt(repository.root)).rejects.toMatchObject({ code: 'repository_unknown' })
  })
})

describe('a revision', () => {
  test('a revision is found by branch, tag, short hash and expression', async () => {
    const repository = testRepository()
    const [first, second] = [repository.commit('one'), repository.commit('two')]
    repository.git('tag', '-a', '-m', 'release', 'v1')
    repository.git('branch', 'fünf/#7')
    const found = await repositoryAt(repository.root)
    for (const name of ['HEAD', '@', 'main', 'v1', 'fünf/#7', second, second.slice(0, 8)])
      expect(await found.commit(name), name).toBe(second)
    for (const name of ['HEAD~1', 'main^', 'v1~']) expect(await found.commit(name), name).toBe(first)
  })

  test.each([
    ['nothing', 'revision_unknown'],
    ['HEAD~9', 'revision_unknown'],
    ['--all', 'revision_unknown'],
    ['-n1', 'revision_unknown'],
    ['^main', 'revision_unknown'],
    ['main..main', 'revision_unknown'],
    ['HEAD:file', 'revision_unknown'],
    ['', 'revision_unknown'],
  ])('a revision %j is invalid, also behind validation', async (name, code) => {
    const repository = testRepository()
    repository.write('file', 'x')
    repository.commit('one')
    const found = await repositoryAt(repository.root)
    await expect(found.commit(name)).rejects.toMatchObject({ code })
  })

  test('no revision exists before the first commit', async () => {
    const repository = await repositoryAt(testRepository().root)
    await expect(repository.commit('HEAD')).rejects.toMatchObject({ code: 'revision_unknown' })
    expect(await repository.find('HEAD')).toBeNull()
  })

  test.each(['HEAD', 'HEAD~2', 'v1.0.0', 'feature/ä', 'main@{1}', 'a'.repeat(40), '@', 'v1^2'])(
    'a revision %j is well-formed',
    (name) => expect(Revision.safeParse(name).success).toBe(true),
  )
  test.each([
    ...[
      '',
      '-n',
      '--output=/tmp/x',
      '^main',
      'a..b',
      'a...b',
      'a b',
      'a:b',
      ':/x',
      'a\nb',
      'a\0b',
      'a*',
      'a?',
    ],
    ...['a[', 'a\\b', 'x'.repeat(257)],
  ])('a revision %j is malformed', (name) => expect(Revision.safeParse(name).success).toBe(false))

  test.each(['a..b', '..b', 'a..', 'v1..HEAD~1'])('a range %j is valid', (range) =>
    expect(RevisionRange.safeParse(range).success).toBe(true),
  )
  test.each(['a', 'a...b', 'a b..c', 'a..\n', ''])('a range %j is invalid', (range) =>
    expect(RevisionRange.safeParse(range).success).toBe(false),
  )
})

describe('a moment', () => {
  test.each([
    '2026-01-31',
    '2026-01-31T10:00Z',
    '2026-01-31T10:00:00.123Z',
    '2 weeks ago',
    '1 day',
    '90 minutes',
  ])('a time %j is valid', (since) => expect(Since.safeParse(since).success).toBe(true))
  test.each([
    'yesterday',
    'never',
    '--all',
    '2026',
    '31.1.2026',
    '2026-01-31T10:00:00+01:00',
    '2 weeks\n',
    '',
  ])('a time %j is invalid', (since) => expect(Since.safeParse(since).success).toBe(false))
})

describe('a path', () => {
  test('a path is relative to the repository root, or below it by any of its names', async () => {
    const repository = testRepository()
    repository.write('sub/file', 'x')
    const link = path.join(temporaryDirectory(), 'link')
    fs.symlinkSync(path.join(repository.root, 'sub'), link)
    const found = await repositoryAt(link)
    expect(found.inside('sub/file')).toBe('sub/file')
    expect(found.inside('./sub//file')).toBe('sub/file')
    expect(found.inside('.')).toBe('.')
    expect(found.inside('-rf')).toBe('-rf')
    expect(found.inside('..file')).toBe('..file')
    expect(found.inside(':(top)file')).toBe(':(top)file')
    expect(found.inside(path.join(found.top, 'sub/file'))).toBe('sub/file')
    expect(found.inside(path.join(link, 'file'))).toBe('sub/file')
    expect(found.inside(found.top)).toBe('.')
  })

  test.each(['..', '../x', 'a/../../x', '/', '/etc/passwd', '/no/such'])(
    'a path %j leads outside',
    async (given) => {
      const found = await repositoryAt(testRepository().root)
      expect(() => found.inside(given)).toThrow('is outside')
    },
  )

  test('a path has no NUL and is not empty', () => {
    expect(RepositoryPath.safeParse('a\0b').success).toBe(false)
    expect(RepositoryPath.safeParse('').success).toBe(false)
  })
})
