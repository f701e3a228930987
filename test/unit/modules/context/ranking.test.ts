/** Changes to a weight or a factor show their effect on the ranking here first. */
import fs from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import type { Assembled } from '../../../../src/contracts/memory/context.ts'
import { QueryInput } from '../../../../src/contracts/memory/blackboard.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/worlds/memory-world.ts'
import { timedUlid } from '../../../support/timed-ulid.ts'

interface Said {
  days_ago: number
  entry_type: string
  scope: string
  summary: string
  detail: string
  tags: string[]
}

const file = new URL('../../../fixtures/memory/ranking.json', import.meta.url)
const ENTRIES = JSON.parse(fs.readFileSync(file, 'utf8')) as Said[]
const LISTS = ['open_needs', 'recent_findings', 'active_warnings', 'recent_questions'] as const

let world: MemoryWorld
beforeAll(async () => {
  world = await memoryWorld()
  const store = world.project('/projects/bob')
  for (const [n, { days_ago, ...entry }] of ENTRIES.entries()) {
    const time = world.clock.now() - days_ago * 86_400_000
    const id = timedUlid(time, n)
    await store.put('entry', id, { id, timestamp: new Date(time).toISOString(), agent_id: 'ann', ...entry })
  }
})

const best = (answer: Assembled, count: number) =>
  LISTS.flatMap((list) => answer[list])
    .toSorted((a, b) => b.score - a.score)
    .slice(0, count)
    .map(({ summary }) => summary)

test('the ten highest-ranked of 40 entries match a manual selection for a task', async () => {
  expect(ENTRIES).toHaveLength(40)
  const answer = await world.context.assemble(world.bob, {
    task: 'Rotate the key that tokens are signed with',
    scope: 'src/auth/jwt.ts',
    max_tokens: 8_000,
  })
  expect(best(answer, 10)).toEqual([
    'Two keys can be active at once: tokens carry a kid header',
    'Key rotation for signing tokens is needed before the audit',
    'The old signing key is still in the repository history',
    'Which algorithm should tokens be signed with',
    'Verifying a token takes 2 ms, most of it parsing the key',
    'The token library has a new major version with async verify',
    'Session cookies are signed with a key from the environment',
    'Expired tokens are refreshed by the client library',
    'Tokens that expire during a request are still accepted',
    'Do not mock the clock in the auth suite',
  ])
})

test('the highest-ranked entries differ for another task in another place', async () => {
  const answer = await world.context.assemble(world.bob, {
    task: 'Refunds are rounded wrong',
    scope: 'src/billing/',
    max_tokens: 8_000,
  })
  expect(best(answer, 5)).toEqual([
    'Refunds are not idempotent',
    'Invoices are rounded per line, not per total',
    'Somebody has to check the rounding of refunds',
    'Spreadsheet with all tax rates',
    'The payment sandbox rejects cards after 22:00 UTC',
  ])
})

test('a search ranks by words only', async () => {
  const { results } = await world.blackboard.query(
    world.bob,
    QueryInput.parse({ query: 'signing keys of tokens', limit: 5 }),
  )
  expect(results.map(({ entry }) => entry.summary)).toEqual([
    'The old signing key is still in the repository history',
    'Key rotation for signing tokens is needed before the audit',
    'Verifying a token takes 2 ms, most of it parsing the key',
    'Two keys can be active at once: tokens carry a kid header',
    'Session cookies are signed with a key from the environment',
  ])
})
