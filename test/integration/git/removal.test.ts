/** Tests `git find_removal`: the commits that removed a text. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { findRemoval, type RemovalInput } from '../../../src/modules/git/removal.ts'
import { removedLines } from '../../../src/modules/git/removed-lines.ts'
import { repositoryAt } from '../../support/worlds/git-world.ts'
import { testRepository, type TestRepository } from '../../support/disk/test-repository.ts'

const find = async ({ root }: TestRepository, input: Partial<RemovalInput> & { text: string }) =>
  findRemoval(await repositoryAt(root), { limit: 5, ...input })
const subjects = async (repository: TestRepository, input: Partial<RemovalInput> & { text: string }) =>
  (await find(repository, input)).removals.map(({ subject }) => subject)

describe('the removal of a text', () => {
  test('a removal is the commit after which the text occurs less often, with file and lines', async () => {
    const repository = testRepository()
    repository.write('a', 'one\nretry(3)\nthree\n')
    repository.commit('added')
    repository.write('a', 'one\nretry(3)\nthree\nfour\n')
    repository.commit('something else')
    repository.write('a', 'one\nthree\nfour\n')
    const sha = repository.commit('removed', { author: 'Bo <bo@example.org>' })
    expect(await find(repository, { text: 'retry(' })).toEqual({
      truncated: false,
      removals: [
        {
          sha,
          short_sha: repository.git('rev-parse', '--short', sha),
          author_name: 'Bo',
          author_email: 'bo@example.org',
          committed_at: '2026-01-01T02:00:00.000Z',
          subject: 'removed',
          files: [{ path: 'a', removed: 1, lines: [{ line: 2, text: 'retry(3)' }] }],
        },
      ],
    })
    expect(await find(repository, { text: 'never there' })).toEqual({ removals: [], truncated: false })
  })

  test('removals are listed newest first, up to the requested number', async () => {
    const repository = testRepository()
    for (const n of [1, 2, 3]) {
      repository.write('a', 'word\n')
      repository.commit(`added ${n}`)
      repository.write('a', 'none\n')
      repository.commit(`removed ${n}`)
    }
    expect(await subjects(repository, { text: 'word' })).toEqual(['removed 3', 'removed 2', 'removed 1'])
    expect(await subjects(repository, { text: 'word', limit: 2 })).toEqual(['removed 3', 'removed 2'])
    expect(await find(repository, { text: 'word', limit: 2 })).toMatchObject({ truncated: true })
    expect(await find(repository, { text: 'word', limit: 3 })).toMatchObject({ truncated: false })
  })

  test('a removal larger than a response is listed, and so are earlier ones', async () => {
    const repository = testRepository()
    repository.write('small', 'word\n')
    repository.commit('added one')
    repository.write('small', '')
    repository.commit('removed one')
    const files = Array.from({ length: 90 }, (_, n) => `f${n}`)
    for (const file of files) repository.write(file, `word ${'x'.repeat(400)}\n`.repeat(20))
    repository.commit('added many')
    for (const file of files) repository.write(file, '')
    repository.commit('removed many')
    expect(await subjects(repository, { text: 'word' })).toEqual(['removed many', 'removed one'])
    const { removals, truncated } = await find(repository, { text: 'word' })
    expect(truncated).toBe(true)
    expect(removals[0]?.files.length).toBeGreaterThan(1)
    expect(JSON.stringify(removals).length).toBeLessThan(LIMITS.git_list_bytes_max)
  })

  test('moving a text within a file, with a file or to another file is not a removal', async () => {
    const repository = testRepository()
    repository.write('a', 'word\none\ntwo\n')
    repository.write('b', 'three\n')
    repository.commit('added')
    repository.write('a', 'one\ntwo\nword\n')
    repository.commit('moved down')
    repository.git('mv', 'a', 'c')
    repository.commit('renamed')
    repository.write('c', 'one\ntwo\n')
    repository.write('b', 'three\nword\n')
    repository.commit('moved over')
    expect(await subjects(repository, { text: 'word' })).toEqual([])
    // The text was removed from this path.
    expect(await subjects(repository, { text: 'word', path: 'c' })).toEqual(['moved over'])
    expect(await subjects(repository, { text: 'word', path: 'none' })).toEqual([])
  })

  test('deleting the file, or one of several occurrences, is a removal', async () => {
    const repository = testRepository()
    repository.write('a', 'word word\nword\n')
    repository.write('b', 'word\n')
    repository.commit('added')
    repository.write('a', 'word\nword\n')
    repository.commit('one less')
    repository.remove('a')
    repository.write('b', 'word word\n')
    repository.commit('file gone')
    expect((await find(repository, { text: 'word' })).removals).toMatchObject([
      {
        subject: 'file gone',
        files: [
          {
            path: 'a',
            removed: 2,
            lines: [
              { line: 1, text: 'word' },
              { line: 2, text: 'word' },
            ],
          },
        ],
      },
      { subject: 'one less', files: [{ path: 'a', removed: 1, lines: [{ line: 1, text: 'word word' }] }] },
    ])
  })

  test('a merge is a removal if every parent had the text', async () => {
    const repository = testRepository()
    repository.write('a', 'word\n')
    repository.write('b', 'other\n')
    repository.commit('added')
    repository.git('checkout', '--quiet', '-b', 'side')
    repository.write('b', 'none\n')
    repository.commit('other removed')
    repository.git('checkout', '--quiet', 'main')
    repository.write('c', 'c')
    repository.commit('meanwhile')
    repository.git('merge', '--quiet', '--no-ff', '--no-commit', 'side')
    repository.write('a', 'none\n')
    repository.commit('merged')
    expect(await subjects(repository, { text: 'word' })).toEqual(['merged'])
    expect(await subjects(repository, { text: 'other' })).toEqual(['other removed'])
  })

  test('removals are found for any text', async () => {
    const repository = testRepository()
    const texts = [
      '-S',
      '--all',
      '.*',
      '\\',
      '"',
      'tab\tand\r',
      'two\nlines',
      'ünï😀',
      "'; rm -rf /",
      '\n\n',
      '%s',
    ]
    for (const [n, text] of texts.entries()) {
      repository.write(`-f ${n}\n`, `begin ${text} end`)
      repository.commit(`added ${n}`)
      repository.write(`-f ${n}\n`, 'nothing')
      repository.commit(`removed ${n}`)
    }
    for (const [n, text] of texts.entries())
      expect(await subjects(repository, { text, path: `-f ${n}\n` }), text).toEqual([`removed ${n}`])
  })

  test('removals are found in binary files', async () => {
    const repository = testRepository()
    repository.write('a', Buffer.concat([Buffer.from([0xff, 0, 0xfe]), Buffer.from('word')]))
    repository.commit('added')
    repository.write('a', Buffer.from([0xff, 0, 0xfe]))
    repository.commit('removed')
    expect(await subjects(repository, { text: 'word' })).toEqual(['removed'])
  })

  test('removals are not searched in submodules and files that are too large, which is reported', async () => {
    const repository = testRepository()
    const inner = testRepository()
    const sha = inner.commit('inner')
    repository.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.root, 'inner')
    repository.commit('submodule')
    inner.git('-C', path.join(repository.root, 'inner'), 'commit', '--quiet', '--allow-empty', '-m', 'x')
    repository.commit('moved on')
    expect(await find(repository, { text: sha.slice(0, 12) })).toEqual({ removals: [], truncated: false })
    repository.write('large', `word\n${'x'.repeat(LIMITS.git_removal_file_bytes_max)}`)
    repository.commit('large')
    repository.remove('large')
    repository.commit('large gone')
    expect(await find(repository, { text: 'word' })).toEqual({ removals: [], truncated: true })
  })

  test('before the first commit, and in a shallow clone, no removal is known', async () => {
    const empty = testRepository()
    expect(await find(empty, { text: 'word' })).toEqual({ removals: [], truncated: false })
    const repository = testRepository()
    repository.write('a', 'word\n')
    repository.commit('added')
    repository.write('a', 'none\n')
    repository.commit('removed')
    repository.commit('later')
    const root = path.join(fs.mkdtempSync(path.join(empty.root, 'clone')), 'tree')
    repository.git('clone', '--quiet', '--depth=1', `file://${repository.root}`, root)
    expect(await find({ ...repository, root }, { text: 'word' })).toEqual({ removals: [], truncated: false })
  })

  test('a removal lists a limited number of lines', async () => {
    const repository = testRepository()
    repository.write('a', 'word\n'.repeat(1_000))
    repository.commit('added')
    repository.remove('a')
    repository.commit('removed')
    const [removal] = (await find(repository, { text: 'word' })).removals
    expect(removal?.files).toMatchObject([{ removed: 1_000 }])
    expect(removal?.files[0]?.lines).toHaveLength(LIMITS.git_removed_lines_max)
  })

  test('a removal outside of the project is rejected', async () => {
    await expect(find(testRepository(), { text: 'word', path: '..' })).rejects.toMatchObject({
      code: 'params_invalid',
    })
  })
})

describe('the removed lines', () => {
  const lines = (before: string, after: string, text: string) =>
    removedLines(before, after, text).map(({ line, text: shown }) => [line, shown])

  test.each([
    ['a word\nb\n', 'b\n', 'word', [[1, 'a word']]],
    ['b\nword', '', 'word', [[2, 'word']]],
    ['word\nword\n', 'word\n', 'word', [[2, 'word']]],
    ['x word\ny word\n', 'y word\n', 'word', [[1, 'x word']]],
    ['word word\n', 'word\n', 'word', [[1, 'word word']]],
    [
      'one\ntwo\nthree\n',
      'one\nthree\n',
      'one\ntwo',
      [
        [1, 'one'],
        [2, 'two'],
      ],
    ],
    ['one\ntwo\n', 'one\n', 'two\n', [[2, 'two']]],
    [
      '\n\n\nx',
      'x',
      '\n',
      [
        [1, ''],
        [2, ''],
        [3, ''],
      ],
    ],
    ['aaaa\n', 'aa\n', 'aa', [[1, 'aaaa']]],
    ['', '', 'x', []],
  ])('the removed lines of %j changed to %j for %j are found', (before, after, text, expected) =>
    expect(lines(before, after, text)).toEqual(expected),
  )

  test('very long removed lines are shown around the text', () => {
    const long = `${'<'.repeat(5_000)}word${'>'.repeat(5_000)}`
    const [line] = removedLines(`first\n${long}\n`, 'first\n', 'word')
    expect(line).toMatchObject({ line: 2, text_cut: true, text: expect.stringContaining('<word>') as string })
    expect(line?.text.length).toBeLessThanOrEqual(LIMITS.git_text_length_max)
  })
})
