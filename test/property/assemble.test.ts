/** Properties of the context assembled for a task, for any content and any token budget. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Assembled } from '../../src/contracts/memory/context.ts'
import { Decision } from '../../src/contracts/memory/decision.ts'
import { Entry, EntryType } from '../../src/contracts/memory/entry.ts'
import { PROJECT_CONFIG_DEFAULT } from '../../src/contracts/memory/project-config.ts'
import { assembled, type Sources } from '../../src/modules/context/assemble.ts'
import { truncate } from '../../src/contracts/text/truncate.ts'
import { weightedSum } from '../../src/modules/context/scorer.ts'
import { timedUlid } from '../support/timed-ulid.ts'

const NOW = '2026-03-01T12:00:00.000Z'
const score = weightedSum(PROJECT_CONFIG_DEFAULT.context_assembly.priority_weights, 7)

const text = (max: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength: max })
const scopes = fc.constantFrom('project', 'src/', 'src/auth/', 'src/auth/jwt.ts', 'docs/', 'AuthService')
const times = fc.integer({ min: -60, max: 1 }).map((days) => Date.parse(NOW) + days * 86_400_000)

const entries = fc.array(
  fc.record({
    ...{ time: times, scope: scopes, summary: text(200), detail: fc.oneof(fc.constant(''), text(3_000)) },
    entry_type: fc.constantFrom(...EntryType.options),
  }),
  { maxLength: 30 },
)
const decisions = fc.array(
  fc.record({
    ...{ time: times, scope: scopes, summary: text(200), rationale: text(3_000) },
    confidence: fc.constantFrom('high', 'medium', 'low'),
    status: fc.constantFrom('active', 'provisional', 'superseded', 'overridden'),
    affected_files: fc.array(fc.constantFrom('src/auth/jwt.ts', 'docs/a.md'), { maxLength: 12 }),
  }),
  { maxLength: 15 },
)
const cases = fc.record({
  ...{ entries, decisions, scope: fc.oneof(scopes, text(256)), task: text(2_000) },
  max_tokens: fc.oneof(fc.integer({ min: 100, max: 400 }), fc.integer({ min: 100, max: 8_000 })),
  similarities: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 10 }),
  pins: fc.array(text(1_000), { maxLength: 3 }),
  names: fc.array(fc.oneof(scopes, text(40)), { maxLength: 8 }),
  links: fc.array(fc.tuple(fc.nat(7), fc.nat(7), text(20)), { maxLength: 20 }),
})
type Case = typeof cases extends fc.Arbitrary<infer T> ? T : never

function sourcesOf({ entries: said, decisions: made, similarities, pins, names, links }: Case): Sources {
  const similar = (list: readonly { id: string }[]) => ({
    degraded: true,
    scores: new Map(list.map(({ id }, n) => [id, similarities[n % similarities.length] ?? 0])),
  })
  const kept = said.map(({ time, ...entry }, n) =>
    Entry.parse({ ...entry, id: timedUlid(time, n), timestamp: new Date(time).toISOString() }),
  )
  const decided = made.map(({ time, ...decision }, n) =>
    Decision.parse({
      ...{ ...decision, id: timedUlid(time, 1_000 + n), timestamp: new Date(time).toISOString() },
      domain: 'api',
    }),
  )
  const entities = names.map((name, n) => ({
    ...{ id: timedUlid(0, 2_000 + n), name, type: 'concept', properties: {} },
    ...{ created_at: NOW, updated_at: NOW },
  }))
  const idOf = (n: number) => entities[n % entities.length]?.id ?? ''
  const relations = links.map(([from, to, type], n) => ({
    ...{ id: timedUlid(0, 3_000 + n), source: idOf(from), target: idOf(to), type },
    ...{ properties: {}, created_at: NOW },
  }))
  return {
    ...{ entries: kept, decisions: decided, entities, relations: entities.length === 0 ? [] : relations },
    pins: pins.map((pinned, n) => ({
      ...{ id: timedUlid(0, n), key: `${n}`, text: pinned, agent_id: 'ann', updated_at: NOW },
    })),
    ...{ of_entries: similar(kept), of_decisions: similar(decided) },
  }
}

const SCORED = [
  'active_decisions',
  'open_needs',
  'recent_findings',
  'active_warnings',
  'recent_questions',
] as const
const scored = (answer: Assembled) => SCORED.flatMap((list) => [...answer[list]])

describe('an assembled context', () => {
  test('an assembled context never exceeds its budget, and reports its real size', () => {
    fc.assert(
      fc.property(cases, (one) => {
        const { task, scope, max_tokens } = one
        const answer = assembled(sourcesOf(one), { task, scope, max_tokens, now: NOW }, score)
        expect(answer.token_estimate).toBeLessThanOrEqual(max_tokens)
        const honest = Math.ceil(JSON.stringify(answer).length / 4)
        expect(Math.abs(answer.token_estimate - honest)).toBeLessThanOrEqual(1)
        expect(honest).toBeLessThanOrEqual(max_tokens)
      }),
      { numRuns: 1_000 },
    )
  })

  test('an assembled context has the best items first, is reproducible, and omits only what does not fit', () => {
    fc.assert(
      fc.property(cases, (one) => {
        const { task, scope, max_tokens } = one
        const sources = sourcesOf(one)
        const wanted = { task, scope, max_tokens, now: NOW }
        const answer = assembled(sources, wanted, score)
        expect(assembled(sources, wanted, score)).toEqual(answer)
        for (const list of SCORED) {
          const scores = answer[list].map((item) => item.score)
          expect(scores).toEqual(scores.toSorted((a, b) => b - a))
        }
        const all = assembled(sources, { ...wanted, max_tokens: 10_000_000 }, score)
        expect(all.left_out).toBe(0)
        const shown = new Set(scored(answer).map(({ id }) => id))
        const missing = scored(all).filter(({ id }) => !shown.has(id))
        const best = missing.toSorted((a, b) => b.score - a.score)[0]
        if (best === undefined) return
        // Even in its shortest form it does not fit next to items of the same or a higher score.
        const above = scored(answer).filter((item) => item.score >= best.score)
        const spent = JSON.stringify({ ...answer, ...Object.fromEntries(SCORED.map((list) => [list, []])) })
        const used = above.reduce((sum, item) => sum + JSON.stringify(item).length + 1, spent.length)
        expect(used + JSON.stringify(inFewWords(best)).length + NUMBERS).toBeGreaterThan(max_tokens * 4)
      }),
      { numRuns: 300 },
    )
  })
})

/** Placeholder length for larger numbers while the budget is computed. */
const NUMBERS = 8

/** Returns the shortest form of an item. */
function inFewWords(item: object): object {
  return Object.fromEntries(
    Object.entries(item).map(([key, value]: [string, unknown]) => {
      if (Array.isArray(value)) return [key, value.slice(0, 2)]
      const cut = ['rationale', 'detail'].includes(key) && typeof value === 'string'
      return [key, cut ? truncate(value, 80) : value]
    }),
  )
}
