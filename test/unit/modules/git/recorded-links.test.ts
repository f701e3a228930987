/** Tests where links are stored. The in-memory store of other tests has the same guarantees. */
import { describe, expect, test } from 'vitest'
import { COMMIT_LINK, type CommitLink } from '../../../../src/contracts/git.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { CommitLinks } from '../../../../src/modules/git/deps.ts'
import { recordedLinks } from '../../../../src/modules/git/recorded-links.ts'
import { memoryLinks } from '../../../support/worlds/git-world.ts'
import { recordWorld, type RecordWorld } from '../../../support/worlds/record-world.ts'

const asking = (scope: string | null = null) => ({
  caller: { tenant_id: 'local', kind: 'agent', identity: 'bob' } as const,
  context: { agent_id: 'bob', scope },
})
const recorded = async (): Promise<RecordWorld & { links: (scope?: string) => CommitLinks }> => {
  const world = await recordWorld([COMMIT_LINK])
  return { ...world, links: (scope) => recordedLinks(world.records, asking(scope ?? null)) }
}

const link = (sha: string, issue: string, more: Partial<CommitLink> = {}): CommitLink => ({
  sha,
  issue,
  relation: null,
  subject: `about ${issue}`,
  linked_by: 'bob',
  linked_at: '2026-01-01T00:00:00.000Z',
  ...more,
})

describe.each([
  ['recorded', async () => (await recorded()).links()],
  ['in memory', () => Promise.resolve(memoryLinks())],
])('links %s', (_, open) => {
  test('links are stored once for each commit and issue, in their first form', async () => {
    const links = await open()
    const first = link('a', '#1', { note: 'half of it', relation: 'closes' })
    expect(await links.add(first)).toBe('added')
    expect(await links.add(link('a', '#1', { note: 'other' }))).toBe('already')
    expect(await links.add(link('a', '#2'))).toBe('added')
    expect(await links.add(link('b', '#1'))).toBe('added')
    expect(await links.list({ sha: 'a', issue: '#1' })).toEqual([first])
  })

  test('links are listed newest first, all or filtered', async () => {
    const links = await open()
    for (const [sha, issue] of [
      ['a', '#1'],
      ['b', '#1'],
      ['b', '#2'],
    ] as const)
      await links.add(link(sha, issue))
    const pairs = async (filter: Parameters<CommitLinks['list']>[0]) =>
      (await links.list(filter)).map(({ sha, issue }) => sha + issue)
    expect(await pairs({})).toEqual(['b#2', 'b#1', 'a#1'])
    expect(await pairs({ issue: '#1' })).toEqual(['b#1', 'a#1'])
    expect(await pairs({ sha: 'b' })).toEqual(['b#2', 'b#1'])
    expect(await pairs({ sha: 'c' })).toEqual([])
  })
})

describe('recorded links', () => {
  test('recorded links are all listed, whatever the number of pages', async () => {
    const world = await recorded()
    const store = world.project('/projects/bob')
    const count = LIMITS.records_page_max + 1
    await world.links().add(link('0', '#1'))
    const [row] = await store.list(COMMIT_LINK.name)
    for (let n = 1; n < count; n += 1) {
      const id = `01JZ${String(n).padStart(22, '0')}`
      await store.put(COMMIT_LINK.name, id, { ...row?.body, id, sha: String(n), generation: n + 1 })
    }
    const listed = await world.links().list({})
    expect(listed).toHaveLength(count)
    expect(new Set(listed.map(({ sha }) => sha)).size).toBe(count)
  })

  test('recorded links belong to their project', async () => {
    const world = await recorded()
    await world.projects.at('/projects/other')
    await world.links('/projects/other').add(link('a', '#1'))
    expect(await world.links().list({})).toEqual([])
    expect(await world.links('/projects/other').list({})).toHaveLength(1)
    expect(await world.project('/projects/other').list(COMMIT_LINK.name)).toHaveLength(1)
  })

  test('recorded links created at the same moment are stored once', async () => {
    const { links } = await recorded()
    await Promise.all([1, 2, 3].map(() => links().add(link('a', '#1'))))
    expect(await links().list({})).toHaveLength(1)
  })
})
