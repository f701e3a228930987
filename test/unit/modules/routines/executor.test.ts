/** The order of steps, what becomes of those that build on others, and what a dry run leaves alone. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { LIMITS } from '../../../../src/contracts/limits.ts'
import { Report, type RoutineStep } from '../../../../src/contracts/routine.ts'
import { createStepTypes, defineStep } from '../../../../src/modules/routines/step-type.ts'
import { PLAYED, routineWorld } from '../../../support/routine-world.ts'

const say = (value: unknown, more: Partial<RoutineStep> = {}): RoutineStep => ({
  step: 'say',
  with: { value: value as string },
  ...more,
})
const fail = (more: Partial<RoutineStep> = {}): RoutineStep => ({ step: 'fail', ...more })

describe('steps', () => {
  test('are done in their order, and reported in it', async () => {
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

  test('that fail are told, and the rest goes on', async () => {
    const { report } = await routineWorld().run([fail(), say('b'), fail()])
    expect(report).toMatchObject({ ok: false, failures: 2 })
    expect(report.steps).toMatchObject([
      { status: 'failed', problem: { code: 'expectation_failed', detail: 'As it was told to.' } },
      { status: 'ok' },
      { status: 'failed' },
    ])
  })

  test('may fail with something to show', async () => {
    const { report } = await routineWorld().run([{ step: 'fail', with: { shows: { exit_code: 1 } } }])
    expect(report.steps).toMatchObject([{ status: 'failed', result: { exit_code: 1 } }])
  })

  test('that need what failed or was left out are left out, and say because of which', async () => {
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

  test('after a required one that fails are all left out', async () => {
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

  test('after a required one that was itself left out go on', async () => {
    const steps = [fail({ id: 'a' }), say(1, { id: 'b', needs: ['a'], required: true }), say(2)]
    expect(await routineWorld().ends(steps)).toEqual(['failed expectation_failed', 'skipped a', 'ok'])
  })

  test('of an unknown type, or with what their type does not take, have that for a problem', async () => {
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
    'that break (%s) end nothing, and only the log has the stack',
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

  test('that compute let others have their turn in between', async () => {
    let turned = false
    const turns: boolean[] = []
    const long = defineStep({
      ...{ name: 'long', summary: 'Computes.', mutates: false, input: z.strictObject({}) },
      run() {
        turns.push(turned)
        setImmediate(() => (turned = true))
        stood_ms += LIMITS.routine_turn_ms + 1
        return { result: null }
      },
    })
    let stood_ms = 0
    const world = routineWorld({ types: [long] })
    const passing = { ...world.clock }
    world.clock.monotonic = () => passing.monotonic() + stood_ms
    await world.run([{ step: 'long' }, { step: 'long' }])
    expect(turns).toEqual([false, true])
  })

  test('are timed by what never steps back', async () => {
    const slow = defineStep({
      ...{ name: 'slow', summary: 'Takes its time.', mutates: false, input: z.strictObject({}) },
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

  test('does what changes nothing, and plans the rest with all that waits for it', async () => {
    const world = routineWorld()
    expect(await world.ends(steps, { dry_run: true })).toEqual(['ok', 'planned', 'planned', 'planned', 'ok'])
    expect((await world.run(steps, { dry_run: true })).report).toMatchObject({
      ok: true,
      failures: 0,
      dry_run: true,
    })
    expect(await world.ends(steps)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
  })

  test('finds what a run would be refused', async () => {
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

  test('runs no program and changes nothing through the kernel', async () => {
    const called: string[] = []
    const world = routineWorld({
      leash: { exec: ['make'] },
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

  test('shows of a long result the beginning, while later steps have all of it', async () => {
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

  test('of many long results stays within its bounds, and gives the later ones less', async () => {
    const many = Array.from({ length: 20 }, () => say(long))
    const { report } = await routineWorld().run([...many, say('short')])
    const bytes = Buffer.byteLength(JSON.stringify(report.steps.map(({ result }) => result)))
    expect(bytes).toBeLessThanOrEqual(LIMITS.report_results_bytes_max + 21 * 210)
    const cut = report.steps.map(({ result_cut }) => result_cut === true)
    expect(cut).toEqual([...many.map(() => true), false])
    expect(report.steps.at(-1)?.result).toBe('short')
  })

  test('cuts no character in two', async () => {
    for (let pad = 0; pad < 4; pad++) {
      const { report } = await routineWorld().run([say('x'.repeat(pad) + '🔔'.repeat(20_000))])
      expect(report.steps[0]?.result).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/)
    }
  })

  test('keeps what a problem says short', async () => {
    const { report } = await routineWorld().run([
      { step: 'say', with: { value: { $from: 'y'.repeat(60_000) } } },
    ])
    expect(report.steps[0]?.problem?.detail.length).toBeLessThanOrEqual(LIMITS.step_problem_length_max)
  })

  test('holds a result as it was, whatever a step does with it afterwards', async () => {
    const shared = { n: 1 }
    const types = [
      defineStep({
        ...{ name: 'share', summary: 'Shares.', mutates: false, input: z.strictObject({}) },
        run: () => ({ result: shared }),
      }),
    ]
    const { report } = await routineWorld({ types }).run([{ step: 'share' }])
    shared.n = 2
    expect(report.steps[0]?.result).toEqual({ n: 1 })
  })
})

describe('types of steps', () => {
  test('have one name each, whoever brings them', () => {
    expect(() => createStepTypes(PLAYED, PLAYED.slice(0, 1))).toThrow('two types of steps are called say')
    const [first] = PLAYED
    if (first === undefined) throw new Error('there is none')
    expect(() => createStepTypes([{ ...first, name: 'Say it' }])).toThrow(
      'no type of step may be called Say it',
    )
  })

  test('say what they are, take and need', () => {
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
