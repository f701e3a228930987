/** Tests the order of steps, the steps that depend on failed ones, and dry runs. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { Report, type RoutineStep } from '../../../../src/contracts/runs/routine.ts'
import { createStepTypes, defineStep } from '../../../../src/modules/routines/step-type.ts'
import { PLAYED, routineWorld } from '../../../support/worlds/routine-world.ts'

const say = (value: unknown, more: Partial<RoutineStep> = {}): RoutineStep => ({
  step: 'say',
  with: { value: value as string },
  ...more,
})
const fail = (more: Partial<RoutineStep> = {}): RoutineStep => ({ step: 'fail', ...more })

describe('steps', () => {
  test('steps run and are reported in order', async () => {
    const { report } = await routineWorld().run([
      say('a', { id: 'first' }),
      say('b'),
      say('c', { id: 'last' }),
    ])
    expect(report).toMatchObject({ ok: true, failures: 0, identity: 'ada', routine: null, dry_run: false })
    expect(report.steps).toMatchObject([
      { id: 'first', step: 'say', status: 'ok', result: 'a' },
      { id: 'say_2', result: 'b' },
      { id: 'last', result: 'c' },
    ])
    expect(Report.safeParse({ report_id: null, generation: null, ...report }).success).toBe(true)
  })

  test('failing steps are reported, and the rest runs', async () => {
    const { report } = await routineWorld().run([fail(), say('b'), fail()])
    expect(report).toMatchObject({ ok: false, failures: 2 })
    expect(report.steps).toMatchObject([
      { status: 'failed', problem: { code: 'expectation_failed', detail: 'As it was told to.' } },
      { status: 'ok' },
      { status: 'failed' },
    ])
  })

  test('a failing step may have a result', async () => {
    const { report } = await routineWorld().run([{ step: 'fail', with: { shows: { exit_code: 1 } } }])
    expect(report.steps).toMatchObject([{ status: 'failed', result: { exit_code: 1 } }])
  })

  test('steps that need a failed or skipped one are skipped with the reason', async () => {
    const steps = [
      fail({ id: 'a' }),
      say(1, { id: 'b', needs: ['a'] }),
      say(2, { id: 'c', needs: ['b'] }),
      say(3, { id: 'd' }),
      say(4, { id: 'e', needs: ['d'] }),
    ]
    expect(await routineWorld().ends(steps)).toEqual([
      'failed expectation_failed',
      'skipped a',
      'skipped b',
      'ok',
      'ok',
    ])
  })

  test('steps after a failed required one are all skipped', async () => {
    const steps = [say(1, { required: true }), fail({ id: 'must', required: true }), say(2), fail()]
    const world = routineWorld()
    expect(await world.ends(steps)).toEqual([
      'ok',
      'failed expectation_failed',
      'skipped must',
      'skipped must',
    ])
    expect((await world.run(steps)).report.failures).toBe(1)
  })

  test('steps after a skipped required one run', async () => {
    const steps = [fail({ id: 'a' }), say(1, { id: 'b', needs: ['a'], required: true }), say(2)]
    expect(await routineWorld().ends(steps)).toEqual(['failed expectation_failed', 'skipped a', 'ok'])
  })

  test('steps of an unknown type or with invalid parameters fail with a problem', async () => {
    const steps: RoutineStep[] = [
      { step: 'sai' },
      { step: 'say', with: { volume: 3 } },
      { step: 'change', with: { to: 10 } },
    ]
    const { report } = await routineWorld().run(steps)
    expect(report.steps).toMatchObject([
      { problem: { code: 'step_unknown', hint: 'Did you mean say?' } },
      {
        problem: {
          code: 'params_invalid',
          detail: expect.stringContaining('unknown field "volume"') as string,
        },
      },
      { problem: { code: 'params_invalid' } },
    ])
  })

  test.each(['throw', 'reject', 'no json', 'nothing'])(
    'steps that throw (%s) end nothing, and only the log has the stack',
    async (how) => {
      const world = routineWorld()
      const { report } = await world.run([{ id: 'x', step: 'bug', with: { how } }, say('after')], {
        routine: 'nightly',
      })
      expect(report.steps).toMatchObject([
        { status: 'failed', problem: { code: 'internal' } },
        { status: 'ok' },
      ])
      expect(JSON.stringify(report)).not.toContain('42')
      expect(world.logged).toMatchObject([{ fields: { routine: 'nightly', id: 'x', step: 'bug' } }])
    },
  )

  test('computing steps yield to the event loop', async () => {
    let has_yielded = false
    const yields_seen: boolean[] = []
    const long = defineStep({
      name: 'long',
      summary: 'Computes.',
      mutates: false,
      input: z.strictObject({}),
      run() {
        yields_seen.push(has_yielded)
        setImmediate(() => (has_yielded = true))
        stood_ms += LIMITS.routine_turn_ms + 1
        return { result: null }
      },
    })
    let stood_ms = 0
    const world = routineWorld({ types: [long] })
    const passing = { ...world.clock }
    world.clock.monotonic = () => passing.monotonic() + stood_ms
    await world.run([{ step: 'long' }, { step: 'long' }])
    expect(yields_seen).toEqual([false, true])
  })

  test('steps are timed by the monotonic clock', async () => {
    const slow = defineStep({
      name: 'slow',
      summary: 'Takes its time.',
      mutates: false,
      input: z.strictObject({}),
      async run() {
        await world.clock.advance(250)
        world.clock.setBack(3_600_000)
        return { result: null }
      },
    })
    const world = routineWorld({ types: [slow] })
    const { report } = await world.run([{ step: 'slow' }, { step: 'slow' }])
    expect(report).toMatchObject({ duration_ms: 500, steps: [{ duration_ms: 250 }, { duration_ms: 250 }] })
  })
})

describe('a dry run', () => {
  const steps: RoutineStep[] = [
    say({ n: 5 }, { id: 'look' }),
    { id: 'set', step: 'change', with: { to: { $from: 'look.n' } } },
    { id: 'use', step: 'say', with: { value: { $from: 'set.changed' } } },
    say('after', { id: 'needs_it', needs: ['set'] }),
    say('independent'),
  ]

  test('a dry run executes reading steps, and plans the rest', async () => {
    const world = routineWorld()
    expect(await world.ends(steps, { dry_run: true })).toEqual(['ok', 'planned', 'planned', 'planned', 'ok'])
    expect((await world.run(steps, { dry_run: true })).report).toMatchObject({
      ok: true,
      failures: 0,
      dry_run: true,
    })
    expect(await world.ends(steps)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
  })

  test('a dry run reports rejections of a real run', async () => {
    const refused: RoutineStep[] = [
      { step: 'change', with: { to: 10 } },
      { step: 'exec', with: { argv: ['rm', '-r', '.'] } },
      { step: 'http', with: { url: 'http://example.com/', method: 'POST' } },
    ]
    expect(await routineWorld().ends(refused, { dry_run: true })).toEqual([
      'failed params_invalid',
      'failed leash_forbidden',
      'failed leash_forbidden',
    ])
  })

  test('a dry run runs no program and changes nothing through the kernel', async () => {
    const called: string[] = []
    const world = routineWorld({
      sandbox: { exec: ['make'] },
      kernel: {
        check: (_, action) => ({ mutates: action !== 'list' }),
        call: (facade, action) => {
          called.push(`${facade} ${action}`)
          return Promise.resolve({ ok: true, result: {} })
        },
      },
    })
    const wanted: RoutineStep[] = [
      { step: 'exec', with: { argv: ['make'] } },
      { step: 'call', with: { facade: 'personas', action: 'list' } },
      { step: 'call', with: { facade: 'personas', action: 'remove', params: { identity: 'bob' } } },
    ]
    expect(await world.ends(wanted, { dry_run: true })).toEqual(['planned', 'ok', 'planned'])
    expect(called).toEqual(['personas list'])
  })
})

describe('the report', () => {
  const long = 'ä"'.repeat(LIMITS.step_result_bytes_max)

  test('the report contains the start of a long result, while later steps receive all of it', async () => {
    const { report, ended } = await routineWorld().run([
      say({ long, end: 'here' }, { id: 'a' }),
      { step: 'say', with: { value: { $from: 'a.end' } } },
    ])
    const [first, second] = report.steps
    expect(first).toMatchObject({ status: 'ok', result_cut: true })
    expect(first?.result).toMatch(/^\{"long":"ä/)
    expect(Buffer.byteLength(JSON.stringify(first?.result))).toBeLessThanOrEqual(
      LIMITS.step_result_bytes_max + 2,
    )
    expect(second).toMatchObject({ result: 'here' })
    expect(second).not.toHaveProperty('result_cut')
    expect(ended.get('a')?.result).toEqual({ long, end: 'here' })
  })

  test('the report of many long results stays within its limits, and shortens the later ones', async () => {
    const many = Array.from({ length: 20 }, () => say(long))
    const { report } = await routineWorld().run([...many, say('short')])
    const bytes = Buffer.byteLength(JSON.stringify(report.steps.map(({ result }) => result)))
    expect(bytes).toBeLessThanOrEqual(LIMITS.report_results_bytes_max + 21 * 210)
    const cut = report.steps.map(({ result_cut }) => result_cut === true)
    expect(cut).toEqual([...many.map(() => true), false])
    expect(report.steps.at(-1)?.result).toBe('short')
  })

  test('the report splits no character', async () => {
    for (let pad = 0; pad < 4; pad++) {
      const { report } = await routineWorld().run([say('x'.repeat(pad) + '🔔'.repeat(20_000))])
      expect(report.steps[0]?.result).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/)
    }
  })

  test('the report shortens the detail of a problem', async () => {
    const { report } = await routineWorld().run([
      { step: 'say', with: { value: { $from: 'y'.repeat(60_000) } } },
    ])
    expect(report.steps[0]?.problem?.detail.length).toBeLessThanOrEqual(LIMITS.step_problem_length_max)
  })

  test('the report contains a result unchanged, whatever a later step does with it', async () => {
    const shared = { n: 1 }
    const types = [
      defineStep({
        name: 'share',
        summary: 'Shares.',
        mutates: false,
        input: z.strictObject({}),
        run: () => ({ result: shared }),
      }),
    ]
    const { report } = await routineWorld({ types }).run([{ step: 'share' }])
    shared.n = 2
    expect(report.steps[0]?.result).toEqual({ n: 1 })
  })
})

describe('types of steps', () => {
  test('step types have unique names, whatever their source', () => {
    expect(() => createStepTypes(PLAYED, PLAYED.slice(0, 1))).toThrow('two types of steps are called say')
    const [first] = PLAYED
    if (first === undefined) throw new Error('there is none')
    expect(() => createStepTypes([{ ...first, name: 'Say it' }])).toThrow(
      'Say it is not a valid name of a type of step',
    )
  })

  test('step types describe themselves, their parameters and their needs', () => {
    const world = createStepTypes(PLAYED)
    expect(world.lines()).toMatchObject([
      {
        name: 'say',
        mutates: false,
        leash: null,
        input_schema: { type: 'object', additionalProperties: false },
      },
      { name: 'change', mutates: true },
      { name: 'fail' },
      { name: 'bug' },
    ])
  })
})
