/** Tests `git log_recent`. */
import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { logRecent, type LogInput } from '../../../src/modules/git/log.ts'
import { timeOf } from '../../../src/modules/git/output.ts'
import { repositoryAt } from '../../support/worlds/git-world.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { GIT_ENV, testRepository } from '../../support/disk/test-repository.ts'

const log = async (root: string, input: Partial<LogInput> = {}) =>
  logRecent(await repositoryAt(root), { limit: 20, ...input })
const subjects = async (root: string, input: Partial<LogInput> = {}) =>
  (await log(root, input)).commits.map(({ subject }) => subject)

describe('the log', () => {
  test('the log returns the newest commits first, with author, time, message and size', async () => {
    const repository = testRepository()
    repository.write('a', '1')
    const first = repository.commit('begin')
    repository.write('a', '2')
    repository.write('b', '2')
    const second = repository.commit('go on\n\nThe body says why.', { author: 'Bo <bo@example.org>' })
    const short = (sha: string) => repository.git('rev-parse', '--short', sha)
    expect(await log(repository.root)).toEqual({
      truncated: false,
      commits: [
        {
          sha: second,
          short_sha: short(second),
          author_name: 'Bo',
          author_email: 'bo@example.org',
          committed_at: '2026-01-01T01:00:00.000Z',
          subject: 'go on',
          files_changed: 2,
        },
        {
          sha: first,
          short_sha: short(first),
          author_name: 'Ada Lovelace',
          author_email: 'ada@example.org',
          committed_at: '2026-01-01T00:00:00.000Z',
          subject: 'begin',
          files_changed: 1,
        },
      ],
    })
  })

  test('the log is empty before the first commit', async () => {
    expect(await log(testRepository().root)).toEqual({ commits: [], truncated: false })
  })

  test('the log marks that more commits exist than requested', async () => {
    const repository = testRepository()
    for (const subject of ['one', 'two', 'three']) repository.commit(subject)
    expect(await log(repository.root, { limit: 2 })).toMatchObject({ truncated: true })
    expect(await subjects(repository.root, { limit: 2 })).toEqual(['three', 'two'])
    expect(await log(repository.root, { limit: 3 })).toMatchObject({ truncated: false })
  })

  test('the log counts a rename once, and a merge relative to its first parent', async () => {
    const repository = testRepository()
    repository.write('old name', 'content\n'.repeat(20))
    repository.commit('one')
    repository.git('mv', 'old name', 'new\nname')
    repository.commit('renamed')
    repository.git('checkout', '--quiet', '-b', 'side', 'HEAD~1')
    repository.write('x', 'x')
    repository.write('y', 'y')
    repository.commit('side')
    repository.git('checkout', '--quiet', 'main')
    repository.git('merge', '--quiet', '--no-ff', '-m', 'merged', 'side')
    repository.commit('nothing')
    const { commits } = await log(repository.root)
    expect(Object.fromEntries(commits.map(({ subject, files_changed }) => [subject, files_changed]))).toEqual(
      {
        nothing: 0,
        merged: 2,
        side: 2,
        renamed: 1,
        one: 1,
      },
    )
  })

  test('the log of a path returns the commits that changed it, each with its full size', async () => {
    const repository = testRepository()
    repository.write('a', '1')
    repository.write('-b *', '1')
    repository.commit('both')
    repository.write('a', '2')
    repository.commit('only a')
    const { commits } = await log(repository.root, { path: '-b *' })
    expect(commits).toMatchObject([{ subject: 'both', files_changed: 2 }])
    expect(await subjects(repository.root, { path: '*' })).toEqual([])
  })

  test('the log since a day starts with its first moment and has no end', async () => {
    const repository = testRepository()
    repository.commit('before', { at: '2026-01-30T23:59:59Z' })
    repository.commit('at the stroke', { at: '2026-01-31T00:00:00Z' })
    repository.commit('after', { at: '2026-02-01T12:00:00Z' })
    expect(await subjects(repository.root, { since: '2026-01-31' })).toEqual(['after', 'at the stroke'])
    expect(await subjects(repository.root, { since: '2026-01-31T00:00:01Z' })).toEqual(['after'])
    const now = Date.now()
    repository.commit('long ago', { at: new Date(now - 3 * 86_400_000).toISOString() })
    repository.commit('just now', { at: new Date(now - 3_600_000).toISOString() })
    for (const since of ['2 days ago', '2 days'])
      expect(await subjects(repository.root, { since })).toEqual(['just now'])
  })

  test('the log finds an author by a literal part of the name', async () => {
    const repository = testRepository()
    repository.commit('hers')
    repository.commit('his', { author: 'B.b (x*) <bo@example.org>' })
    expect(await subjects(repository.root, { author: 'lovelace' })).toEqual(['hers'])
    expect(await subjects(repository.root, { author: '(x*)' })).toEqual(['his'])
    expect(await subjects(repository.root, { author: 'b@' })).toEqual([])
    expect(await subjects(repository.root, { author: '.*' })).toEqual([])
    expect(await subjects(repository.root, { author: '--all' })).toEqual([])
  })

  test('the log truncates long messages and marks that', async () => {
    const repository = testRepository()
    repository.commit('😀'.repeat(LIMITS.git_text_length_max))
    repository.commit('ä'.repeat(LIMITS.git_text_length_max))
    const { commits } = await log(repository.root)
    expect(commits[0]?.subject).toHaveLength(LIMITS.git_text_length_max)
    expect(commits[0]).not.toHaveProperty('subject_cut')
    expect(commits[1]).toMatchObject({ subject_cut: true })
    expect(commits[1]?.subject).toBe('😀'.repeat(LIMITS.git_text_length_max / 2))
  })

  test('the log replaces invalid UTF-8 in messages and names', async () => {
    const repository = testRepository()
    const tree = repository.git('write-tree')
    const raw = Buffer.from(
      `tree ${tree}\nauthor caf\xe9 <a@b> 1767225600 +0000\ncommitter c <c@d> 99999999999999 +0000\n\n\xff <b>\t"x"\r\n`,
      'latin1',
    )
    const sha = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], {
      cwd: repository.root,
      env: GIT_ENV,
      input: raw,
    })
    repository.git('update-ref', 'HEAD', sha.toString().trim())
    expect(await log(repository.root)).toMatchObject({
      commits: [{ author_name: 'caf\ufffd', committed_at: '1970-01-01T00:00:00.000Z', files_changed: 0 }],
    })
    expect(await subjects(repository.root)).toEqual(['\ufffd <b>\t"x"'])
    repository.gitWith({}, '-c', 'i18n.commitEncoding=ISO-8859-1', 'commit', '--allow-empty', '-q', '-m', 'x')
    expect(await subjects(repository.root, { limit: 1 })).toEqual(['x'])
  })

  test('the log names authors by the mailmap', async () => {
    const repository = testRepository()
    repository.write('.mailmap', 'Ada King <countess@example.org> <ada@example.org>\n')
    repository.commit('hers')
    expect(await log(repository.root)).toMatchObject({
      commits: [{ author_name: 'Ada King', author_email: 'countess@example.org' }],
    })
    expect(await subjects(repository.root, { author: 'king' })).toEqual(['hers'])
  })

  test('the log ignores display settings of the repository', async () => {
    const repository = testRepository()
    repository.write('a', 'x\n'.repeat(9))
    repository.commit('one')
    repository.git('mv', 'a', 'b')
    repository.commit('two')
    for (const [name, value] of [
      ...[['format.pretty', 'oneline'] as const, ['log.showSignature', 'true'] as const],
      ...[['log.date', 'relative'] as const, ['diff.renames', 'false'] as const],
      ...[['color.ui', 'always'] as const, ['log.follow', 'true'] as const],
      ...[['log.diffMerges', 'remerge'] as const, ['grep.patternType', 'perl'] as const],
    ])
      repository.git('config', name, value)
    expect((await log(repository.root, { author: 'ada' })).commits).toMatchObject([
      { subject: 'two', files_changed: 1 },
      { subject: 'one', files_changed: 1 },
    ])
  })

  test('the log of a shallow clone ends where the clone does', async () => {
    const origin = testRepository()
    for (const subject of ['one', 'two', 'three']) origin.commit(subject)
    const root = temporaryDirectory()
    origin.git('clone', '--quiet', '--depth=2', `file://${origin.root}`, root)
    expect(await subjects(root)).toEqual(['three', 'two'])
  })

  test('the log follows the current head, detached or not', async () => {
    const repository = testRepository()
    const first = repository.commit('one')
    repository.commit('two')
    repository.git('checkout', '--quiet', first)
    expect(await subjects(repository.root)).toEqual(['one'])
  })
})

test('a time outside of the supported years is the earliest time', () => {
  expect(timeOf('1767225600')).toBe('2026-01-01T00:00:00.000Z')
  for (const told of ['', '-1', 'x', '253402300800', '9'.repeat(30)])
    expect(timeOf(told)).toBe('1970-01-01T00:00:00.000Z')
})
