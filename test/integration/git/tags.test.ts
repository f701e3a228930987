/** Tests `git tags`. */
import { describe, expect, test } from 'vitest'
import { tags, type TagsInput } from '../../../src/modules/git/tags.ts'
import { repositoryAt } from '../../support/worlds/git-world.ts'
import { testRepository } from '../../support/disk/test-repository.ts'

const look = async (root: string, input: Partial<TagsInput> = {}) =>
  tags(await repositoryAt(root), { limit: 50, ...input })
const names = async (root: string, input: Partial<TagsInput> = {}) =>
  (await look(root, input)).tags.map(({ name }) => name)

describe('tags', () => {
  test('tags are listed newest first, with the commit and the message', async () => {
    const repository = testRepository()
    const first = repository.commit('the first\n\nbody')
    repository.git('tag', 'light')
    const second = repository.commit('the second')
    repository.gitWith(
      { GIT_COMMITTER_DATE: '1767232800 +0000' },
      ...['tag', '-a', '-m', 'Release 1.0\n\nAll of it.', 'v1.0'],
    )
    expect(second).not.toBe(first)
    expect(await look(repository.root)).toEqual({
      truncated: false,
      tags: [
        { name: 'v1.0', sha: second, tagged_at: '2026-01-01T02:00:00.000Z', subject: 'Release 1.0' },
        { name: 'light', sha: first, tagged_at: '2026-01-01T00:00:00.000Z', subject: 'the first' },
      ],
    })
  })

  test('a repository without tags has an empty list', async () => {
    expect(await look(testRepository().root)).toEqual({ tags: [], truncated: false })
  })

  test('tags are selected by name, by directory or by glob', async () => {
    const repository = testRepository()
    repository.commit('one')
    for (const name of ['v1.0', 'v1.1', 'v2.0', 'release/v1.2', 'a"b\'ü#😀']) repository.git('tag', name)
    const chosen = async (pattern: string) => (await names(repository.root, { pattern })).toSorted()
    expect(await chosen('v1.*')).toEqual(['v1.0', 'v1.1'])
    expect(await chosen('v2.0')).toEqual(['v2.0'])
    expect(await chosen('release')).toEqual(['release/v1.2'])
    expect(await chosen('*/v1*')).toEqual(['release/v1.2'])
    expect(await chosen('a"b\'ü#😀')).toEqual(['a"b\'ü#😀'])
    for (const pattern of ['--contains', '../heads/main', '[', 'nothing'])
      expect(await chosen(pattern)).toEqual([])
    expect(await names(repository.root)).toHaveLength(5)
  })

  test('tags are limited to the requested number', async () => {
    const repository = testRepository()
    repository.commit('one')
    for (const name of ['a', 'b', 'c']) repository.git('tag', name)
    expect((await look(repository.root, { limit: 2 })).tags).toHaveLength(2)
    expect(await look(repository.root, { limit: 2 })).toMatchObject({ truncated: true })
    expect(await look(repository.root, { limit: 3 })).toMatchObject({ truncated: false })
  })

  test('tags of a file or a tree have no time', async () => {
    const repository = testRepository()
    repository.write('file', 'content')
    repository.commit('one')
    repository.git('tag', 'tree', 'HEAD^{tree}')
    repository.git('tag', 'blob', 'HEAD:file')
    const found = (await look(repository.root)).tags
    expect(found.map(({ name, tagged_at }) => [name, tagged_at]).toSorted()).toEqual([
      ['blob', null],
      ['tree', null],
    ])
  })
})
