/** Tests links between commits and issues. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { IssueRef } from '../../../src/contracts/git.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { referencesIn } from '../../../src/modules/git/references.ts'
import { gitWorld } from '../../support/worlds/git-world.ts'
import { testRepository } from '../../support/disk/test-repository.ts'

const ULID = '01JZ0000000000000000000000'

describe('a message', () => {
  const said = (message: string) => referencesIn(message).map(({ issue, relation }) => `${relation} ${issue}`)

  test.each([
    ['Fixes #12', ['closes #12']],
    ['fix #12, closes #13 and resolves: #14', ['closes #12', 'closes #13', 'closes #14']],
    ['Fixed:#12', ['closes #12']],
    ['refs #12\nRef: #13\nsee #14', ['refs #12', 'refs #13', 'refs #14']],
    ['Part of #12, relates to #13 (#14)', ['refs #12', 'refs #13', 'mentions #14']],
    ['Issue: #12', ['refs #12']],
    ['merge pull request #7 from x/y', ['mentions #7']],
    ['closes other/repo.js#12', ['closes other/repo.js#12']],
    [`for ${ULID}.`, [`mentions ${ULID}`]],
    [`closes issue_${ULID}`, [`closes issue_${ULID}`]],
    [`ISSUE-${ULID}`, [`mentions ISSUE-${ULID}`]],
    ['ISSUE-12: mend it; EPIC-a.b.', ['mentions ISSUE-12', 'mentions EPIC-a.b']],
    ['closes SHOP-12', ['closes SHOP-12']],
    ['mentions #12, then fixes #12, then refs #12', ['closes #12']],
    ['#12\n#12', ['mentions #12']],
  ])('a message %j names %j', (message, expected) => expect(said(message)).toEqual(expected))

  test.each([
    '',
    'fixes the bug',
    'UTF-8 and SHA-256, SHOP-12 alone',
    'a#12 &#12; color #12ab #0 ##12 @#12',
    'https://example.org/x#12 and path/to/#12',
    `x${ULID} ${ULID}0 ${ULID.toLowerCase()} 81JZ0000000000000000000000`,
    'ISSUE- ISSUE-. XISSUE-1',
    'fixes\u200b12',
  ])('a message %j names no issue', (message) => expect(said(message)).toEqual([]))

  test('a message with very many issues returns a limited number', () => {
    const message = Array.from({ length: 1_000 }, (_, n) => `#${n + 1}`).join(' ')
    expect(referencesIn(message)).toHaveLength(LIMITS.git_references_max)
  })

  test('any message returns only valid issue ids', () => {
    const word = fc.constantFrom(
      'fixes ',
      '#1',
      'ISSUE-',
      ULID,
      'A/',
      '-',
      '.',
      '#',
      '/',
      'x',
      ' ',
      ':',
      '\n',
      'É',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(word).map((words) => words.join('')),
        ),
        (message) => {
          for (const { issue } of referencesIn(message)) expect(IssueRef.safeParse(issue).success).toBe(true)
        },
      ),
    )
  })
})

describe('the issues of commits', () => {
  test('issues are found in one commit, in a range, or in the newest commits', async () => {
    const repository = testRepository()
    const { git, ada } = gitWorld(repository.root)
    const first = repository.commit('begin\n\nCloses #1')
    repository.git('tag', 'v1')
    repository.commit('nothing')
    repository.commit('more for #2\n\nCo-authored-by: x')
    repository.commit('Fixes ISSUE-3')
    const found = async (input: object) => {
      const { commits, scanned } = await git.findLinkedIssues(ada, { limit: 100, ...input })
      return [scanned, ...commits.flatMap(({ issues }) => issues.map(({ issue }) => issue))]
    }
    expect(await found({})).toEqual([4, 'ISSUE-3', '#2', '#1'])
    expect(await found({ sha: first })).toEqual([1, '#1'])
    expect(await found({ sha: 'v1' })).toEqual([1, '#1'])
    expect(await found({ range: 'v1..HEAD' })).toEqual([3, 'ISSUE-3', '#2'])
    expect(await found({ range: 'v1..' })).toEqual([3, 'ISSUE-3', '#2'])
    expect(await found({ range: '..v1' })).toEqual([0])
    expect(await found({ range: 'v1..HEAD~1' })).toEqual([2, '#2'])
    expect(await git.findLinkedIssues(ada, { sha: first, limit: 1 })).toEqual({
      commits: [
        {
          sha: first,
          short_sha: repository.git('rev-parse', '--short', first),
          subject: 'begin',
          issues: [{ issue: '#1', relation: 'closes' }],
        },
      ],
      scanned: 1,
      truncated: false,
    })
    expect(await git.findLinkedIssues(ada, { limit: 2 })).toMatchObject({ scanned: 2, truncated: true })
  })

  test('there are no issues before the first commit', async () => {
    const { git, ada } = gitWorld(testRepository().root)
    expect(await git.findLinkedIssues(ada, { limit: 9 })).toEqual({
      commits: [],
      scanned: 0,
      truncated: false,
    })
    expect(await git.autoLink(ada, { limit: 9 })).toMatchObject({ linked: [], already: 0 })
  })

  test.each([
    [{ sha: 'nothing' }, 'revision_unknown'],
    [{ range: 'nothing..HEAD' }, 'revision_unknown'],
    [{ range: 'HEAD..--all' }, 'revision_unknown'],
    [{ range: '^HEAD..HEAD' }, 'revision_unknown'],
    [{ sha: 'HEAD', range: 'HEAD..HEAD' }, 'params_invalid'],
  ])('issues of %j are rejected with %s', async (input, code) => {
    const repository = testRepository()
    repository.commit('one')
    const { git, ada } = gitWorld(repository.root)
    await expect(git.findLinkedIssues(ada, { limit: 9, ...input })).rejects.toMatchObject({ code })
  })
})

describe('links', () => {
  test('links are stored once for each commit and issue, and listed newest first', async () => {
    const repository = testRepository()
    const { git, ada } = gitWorld(repository.root)
    const [first, second] = [repository.commit('one'), repository.commit('two')]
    expect(await git.linkCommit(ada, { sha: 'HEAD~1', issue: '#7', note: 'half of it' })).toEqual({
      added: true,
      link: {
        ...{ sha: first, issue: '#7', relation: null, subject: 'one', note: 'half of it', linked_by: 'ada' },
        linked_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      },
    })
    expect(await git.linkCommit(ada, { sha: first, issue: '#7' })).toMatchObject({ added: false })
    await git.linkCommit(ada, { sha: second, issue: '#7' })
    await git.linkCommit(ada, { sha: second, issue: '#8' })
    const listed = async (input: object) => {
      const { links } = await git.listLinkedCommits(ada, { limit: 100, ...input })
      return links.map(({ subject, issue }) => `${subject} ${issue}`)
    }
    expect(await listed({})).toEqual(['two #8', 'two #7', 'one #7'])
    expect(await listed({ issue: '#7' })).toEqual(['two #7', 'one #7'])
    expect(await listed({ sha: 'HEAD' })).toEqual(['two #8', 'two #7'])
    expect(await listed({ sha: first.slice(0, 9), issue: '#7' })).toEqual(['one #7'])
    expect(await listed({ issue: '#9' })).toEqual([])
    expect(await git.listLinkedCommits(ada, { limit: 1 })).toMatchObject({ truncated: true })
    await expect(git.linkCommit(ada, { sha: 'nothing', issue: '#7' })).rejects.toMatchObject({
      code: 'revision_unknown',
    })
  })

  test('auto_link stores missing links of messages, and a second call changes nothing', async () => {
    const repository = testRepository()
    const { git, ada } = gitWorld(repository.root)
    const first = repository.commit('Fixes #1')
    repository.commit('see #2 and #3')
    await git.linkCommit(ada, { sha: first, issue: '#1', note: 'by hand' })
    const done = await git.autoLink(ada, { limit: 100 })
    expect(done).toMatchObject({ already: 1, scanned: 2, truncated: false })
    expect(done.linked.map(({ issue, relation }) => [issue, relation])).toEqual([
      ['#2', 'refs'],
      ['#3', 'mentions'],
    ])
    expect(await git.autoLink(ada, { limit: 100 })).toMatchObject({ linked: [], already: 3 })
    expect((await git.listLinkedCommits(ada, { issue: '#1', limit: 9 })).links).toMatchObject([
      { note: 'by hand', relation: null },
    ])
  })

  test('links are stored in batches of one call', async () => {
    const repository = testRepository()
    const { git, ada } = gitWorld(repository.root)
    const commits = LIMITS.commit_links_max / LIMITS.git_references_max + 1
    for (let n = 0; n < commits; n += 1) {
      const issues = Array.from({ length: LIMITS.git_references_max }, (_, m) => `#${n + 1}0${m + 1}`)
      repository.commit(issues.join(' '))
    }
    const first = await git.autoLink(ada, { limit: 100 })
    expect(first).toMatchObject({ already: 0, truncated: true })
    const second = await git.autoLink(ada, { limit: 100 })
    expect(second).toMatchObject({ already: LIMITS.commit_links_max, truncated: false })
    expect(second.linked).toHaveLength(LIMITS.git_references_max)
    expect(await git.autoLink(ada, { limit: 100 })).toMatchObject({ linked: [], truncated: false })
  })

  test('links refer to the resolved commits', async () => {
    const repository = testRepository()
    const { git, ada } = gitWorld(repository.root)
    repository.commit('#1', { at: '2026-01-01T00:00:00Z' })
    repository.commit('#2', { at: '2026-02-01T00:00:00Z' })
    repository.commit('#3', { at: '2026-03-01T00:00:00Z' })
    const linked = async (input: object) =>
      (await git.autoLink(ada, { limit: 100, ...input })).linked.map(({ issue }) => issue)
    expect(await linked({ range: 'HEAD~1..HEAD' })).toEqual(['#3'])
    expect(await linked({ since: '2026-02-01' })).toEqual(['#2'])
    expect(await linked({ limit: 2 })).toEqual([])
    expect(await linked({})).toEqual(['#1'])
  })
})

describe('an issue', () => {
  test.each(['#12', 'owner/repo#12', 'ISSUE-7', ULID, 'SHOP-12', 'straße-1'])(
    'an issue id may be %j',
    (issue) => expect(IssueRef.safeParse(issue).success).toBe(true),
  )
  test.each(['', ' ', 'a b', '-n', '../x', 'a\nb', '"x"', 'x'.repeat(129)])(
    'an issue id may not be %j',
    (issue) => expect(IssueRef.safeParse(issue).success).toBe(false),
  )
})
