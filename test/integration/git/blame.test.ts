/** Tests `git blame_context`: the last change of a line. */
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { blameContext, readBlame, type BlameInput } from '../../../src/modules/git/blame.ts'
import { repositoryAt } from '../../support/worlds/git-world.ts'
import { testRepository } from '../../support/disk/test-repository.ts'

const blame = async (root: string, input: Partial<BlameInput> = {}) =>
  blameContext(await repositoryAt(root), { path: 'file', line: 1, context: 3, ...input })

describe('blame', () => {
  test('blame returns the commit of each line around a line', async () => {
    const repository = testRepository()
    repository.write('file', 'one\ntwo\nthree\nfour\n')
    const first = repository.commit('begin')
    repository.write('file', 'one\ntwo\n3\nfour\n')
    const second = repository.commit('a digit\n\nmore', { author: 'Bo <bo@example.org>' })
    const by_ada = {
      sha: first,
      author_name: 'Ada Lovelace',
      committed_at: '2026-01-01T00:00:00.000Z',
      subject: 'begin',
    }
    expect(await blame(repository.root, { line: 3, context: 1 })).toEqual({
      path: 'file',
      truncated: false,
      lines: [
        { line: 2, text: 'two', ...by_ada },
        {
          line: 3,
          text: '3',
          sha: second,
          author_name: 'Bo',
          committed_at: '2026-01-01T01:00:00.000Z',
          subject: 'a digit',
        },
        { line: 4, text: 'four', ...by_ada },
      ],
    })
    expect((await blame(repository.root, { line: 1, context: 0 })).lines).toHaveLength(1)
    expect((await blame(repository.root, { line: 4, context: 50 })).lines).toHaveLength(4)
  })

  test('blame counts lines as on disk, and uncommitted lines have no author', async () => {
    const repository = testRepository()
    repository.write('file', 'one\n')
    const sha = repository.commit('begin')
    repository.write('file', 'zero\none\n')
    expect((await blame(repository.root)).lines).toMatchObject([
      { line: 1, text: 'zero', sha: null, author_name: null, committed_at: null, subject: null },
      { line: 2, text: 'one', sha },
    ])
  })

  test('blame follows a file through renames', async () => {
    const repository = testRepository()
    repository.write('old name', 'one\ntwo\nthree\n')
    const sha = repository.commit('begin')
    repository.git('mv', 'old name', 'file')
    repository.commit('renamed')
    expect((await blame(repository.root)).lines[0]).toMatchObject({ sha })
  })

  test('blame returns lines of every kind unchanged', async () => {
    const repository = testRepository()
    const lines = ['\ttab', '', 'carriage\r', 'author x', '0'.repeat(40), '\ufeffmark', 'no feed at the end']
    repository.write('-L 1', lines.join('\n'))
    repository.commit('begin')
    const found = await blame(repository.root, { path: '-L 1', context: 50 })
    expect(found.lines.map(({ text }) => text)).toEqual(lines)
    repository.write('binary', Buffer.from([0xff, 0, 0x0a, 0x41]))
    repository.commit('binary')
    const binary = await blame(repository.root, { path: 'binary' })
    expect(binary.lines.map(({ text }) => text)).toEqual(['\ufffd\0', 'A'])
  })

  test('blame truncates long lines and marks that', async () => {
    const repository = testRepository()
    repository.write('file', `${'x'.repeat(100_000)}\nshort\n`)
    repository.commit('begin')
    const [long, short] = (await blame(repository.root)).lines
    expect(long).toMatchObject({ text: 'x'.repeat(LIMITS.git_text_length_max), text_cut: true })
    expect(short).not.toHaveProperty('text_cut')
  })

  test.each([
    ['a line after the last', { line: 3 }],
    ['a line just after the last', { line: 3, context: 5 }],
    ['a line far away', { line: 2 ** 31 - 1 }],
    ['a missing file', { path: 'none' }],
    ['an untracked file', { path: 'untracked' }],
    ['a file removed from disk', { path: 'gone' }],
    ['a directory', { path: 'dir' }],
    ['an empty file', { path: 'empty' }],
    ['a file of git’s own', { path: '.git/config' }],
    ['a file outside', { path: '/etc/passwd' }],
  ])('blame rejects %s', async (_, input) => {
    const repository = testRepository()
    repository.write('file', 'one\ntwo\n')
    repository.write('gone', 'x\n')
    repository.write('dir/file', 'x\n')
    repository.write('empty', '')
    repository.commit('begin')
    repository.remove('gone')
    repository.write('untracked', 'x\n')
    await expect(blame(repository.root, input)).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test('blame rejects every file before the first commit', async () => {
    const repository = testRepository()
    repository.write('file', 'x\n')
    await expect(blame(repository.root)).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test("blame returns git's own message for other errors", async () => {
    const repository = testRepository()
    repository.write('file', 'x\n')
    repository.commit('begin')
    repository.git('config', 'blame.ignoreRevsFile', '/no/such/file')
    await expect(blame(repository.root)).rejects.toMatchObject({
      code: 'git_failed',
      detail: expect.stringContaining('/no/such/file') as string,
    })
  })

  test('blame parses truncated output up to its end', () => {
    const header = `${'a'.repeat(40)} 1 1 1\nauthor A\ncommitter-time 1767225600\nsummary s\nfilename f\n`
    const whole = `${header}\tone\n${header}\ttwo\n`
    const read = (text: string) => readBlame({ stdout: Buffer.from(text) })
    expect(read(whole)).toHaveLength(2)
    for (let at = 0; at < whole.length; at += 1)
      expect(read(whole.slice(0, at)).length).toBeLessThanOrEqual(2)
    expect(read(whole.slice(0, header.length + 20))).toMatchObject([{ text: 'one', author_name: 'A' }])
  })
})
