/** Properties of routines for any steps: their source makes no difference, and each ends in its place. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { Report, Routine, RoutineSteps, type RoutineStep } from '../../src/contracts/runs/routine.ts'
import type { Json } from '../../src/contracts/ids.ts'
import { defineAction, defineFacade } from '../../src/kernel/define.ts'
import { routineKernel } from '../support/worlds/routine-kernel.ts'

let changed = 0
const world_facade = (name: string, facet: string) =>
  defineFacade({
    ...{ name, summary: 'Played.', compact: 'Played.', facet },
    actions: {
      look: defineAction({
        ...{ summary: 'Looks.', mutates: false, errors: [], allow: ['agent'] },
        ...{ input: z.strictObject({ at: z.any() }), output: z.any() },
        handle: ({ at }) => ({ at: (at as Json) ?? null }),
      }),
      change: defineAction({
        ...{ summary: 'Changes.', mutates: true, errors: [], allow: ['agent'] },
        ...{ input: z.strictObject({}), output: z.any() },
        handle: () => ({ changed: (changed += 1) > 0 }),
      }),
    },
  })
const facades = [world_facade('open', 'core'), world_facade('closed', 'work')]

const IDS = ['a', 'b', 'c', 'd', 'e'] as const
const reference: fc.Arbitrary<Json> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...IDS, 'z'),
      fc.constantFrom('', '.at', '.at.x', '.holds', '.changed', '.nothing'),
    )
    .map(([id, path]) => ({ $from: id + path })),
  fc.constantFrom('p', 'q').map((name) => ({ $param: name })),
  fc.constantFrom(...IDS).map((id) => ({ $from: `${id}.nothing`, default: 1 })),
)
const value: fc.Arbitrary<Json> = fc.oneof(
  reference,
  fc.jsonValue({ maxDepth: 2 }).map((one) => one as Json),
)
const kind: fc.Arbitrary<Pick<RoutineStep, 'step' | 'with'>> = fc.oneof(
  fc.tuple(fc.constantFrom('open', 'closed', 'none'), value).map(([facade, at]) => ({
    step: 'call',
    with: { facade, action: 'look', params: { at } },
  })),
  fc.constantFrom('open', 'closed').map((facade) => ({ step: 'call', with: { facade, action: 'change' } })),
  fc.tuple(value, value).map(([one, other]) => ({ step: 'expect', with: { value: one, equals: other } })),
  value.map((one) => ({ step: 'expect', with: { value: one, is_empty: true } })),
  fc.constant<RoutineStep>({ step: 'exec', with: { argv: ['rm', '-rf', '/'] } }),
  fc.constant({ step: 'http', with: { url: 'http://example.com/' } }),
  fc.constant({ step: 'nothing' }),
  fc.dictionary(fc.string(), value, { maxKeys: 3 }).map((told) => ({ step: 'call', with: told })),
)
/** Steps that refer to and require each other, mostly validly. */
const steps: fc.Arbitrary<RoutineStep[]> = fc
  .array(fc.tuple(kind, fc.subarray([...IDS]), fc.boolean()), { minLength: 1, maxLength: IDS.length })
  .map((many) =>
    many.map(([step, needs, required], at) => ({
      ...{ id: IDS[at] ?? 'x', ...step },
      needs: needs.filter((id) => IDS.indexOf(id) < at),
      ...(required ? { required } : {}),
    })),
  )
const params = fc.record({ p: fc.jsonValue({ maxDepth: 1 }).map((one) => one as Json) })

const VARIES = [
  'report_id',
  'generation',
  'routine',
  'duration_ms',
  'started_at',
  'instance',
  'seq',
  'timestamp',
]
const comparable = (report: Report): unknown =>
  JSON.parse(JSON.stringify(report, (key, one: unknown) => (VARIES.includes(key) ? undefined : one)))

describe('any steps', () => {
  test('given steps have the same report as configured ones', () =>
    fc.assert(
      fc.asyncProperty(steps, params, fc.boolean(), async (given, told, dry_run) => {
        const world = routineKernel({
          facades,
          settings: { routines: { same: Routine.parse({ params: { p: {} }, steps: given }) } },
        })
        const run = await world.call('routine', 'run', { name: 'same', params: told, dry_run })
        const evaluated = await world.call('routine', 'eval', { steps: given, params: told, dry_run })
        expect(comparable(evaluated)).toEqual(comparable(run))
        expect([run.generation, evaluated.generation]).toEqual(dry_run ? [null, null] : [1, 2])
      }),
      { numRuns: 60 },
    ))

  const world = routineKernel({ facades })

  test('any steps end each in its place, and steps that need a failed one are skipped', () =>
    fc.assert(
      fc.asyncProperty(steps, params, async (given, told) => {
        const report = await world.call('routine', 'eval', { steps: given, params: told })
        expect(Report.safeParse(report).success).toBe(true)
        expect(report.steps.map(({ id }) => id)).toEqual(given.map(({ id }) => id))
        expect(report.failures).toBe(report.steps.filter(({ status }) => status === 'failed').length)
        const status = new Map(report.steps.map((step) => [step.id, step.status]))
        let ended = false
        for (const [at, step] of report.steps.entries()) {
          const needs = given[at]?.needs ?? []
          const unmet = needs.some((id) => status.get(id) !== 'ok')
          if (ended || unmet) expect(step.status).toBe('skipped')
          if (step.status === 'skipped')
            expect(['failed', 'skipped']).toContain(status.get(step.because ?? ''))
          expect(step.problem === undefined).toBe(step.status !== 'failed')
          expect(step.problem?.code).not.toBe('internal')
          ended ||= step.status === 'failed' && given[at]?.required === true
        }
      }),
      { numRuns: 100 },
    ))

  test('any steps change nothing in a dry run', () =>
    fc.assert(
      fc.asyncProperty(steps, params, async (given, told) => {
        changed = 0
        const before = await world.records.list('routine_report')
        await world.call('routine', 'eval', { steps: given, params: told, dry_run: true })
        expect(changed).toBe(0)
        expect(await world.records.list('routine_report')).toEqual(before)
      }),
      { numRuns: 100 },
    ))
})

describe('any value given as steps', () => {
  const world = routineKernel({ facades })

  test('any value given as steps is accepted or rejected without an internal error', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 3 }), async (told) => {
        const outcome = await world.kernel.call('routine', 'eval', { steps: told })
        if (!outcome.ok) expect(outcome.problem.code).toBe('params_invalid')
        else expect(RoutineSteps.safeParse(told).success).toBe(true)
      }),
      { numRuns: 200 },
    ))

  test('any value given as steps has a report of limited size', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat(40_000), { minLength: 1, maxLength: 50 }), async (lengths) => {
        const given = lengths.map((length) => ({
          step: 'call',
          with: { facade: 'open', action: 'look', params: { at: '"'.repeat(length) } },
        }))
        const report = await world.call('routine', 'eval', { steps: given })
        const bytes = Buffer.byteLength(JSON.stringify(report))
        expect(bytes).toBeLessThan(LIMITS.report_results_bytes_max + 50 * 500)
        expect(bytes).toBeLessThan(LIMITS.frame_bytes_max)
      }),
      { numRuns: 25 },
    ))
})
