/** Tests routines over the kernel: configured ones, given ones, and stored reports. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { Report, Routine, RoutineStep } from '../../../../src/contracts/runs/routine.ts'
import { signals } from '../../../../src/facades/signals.ts'
import { defineAction, defineFacade } from '../../../../src/kernel/define.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { playedOutside } from '../../../support/fakes/fake-outside.ts'
import { routineKernel, settingsWith } from '../../../support/worlds/routine-kernel.ts'
import { NO_SANDBOX } from '../../../support/worlds/routine-world.ts'
import { AGENT, OBSERVER, OPERATOR } from '../../../support/worlds/small-kernel.ts'

let changes: number
const thing = (name: string, facet = 'core') =>
  defineFacade({
    name,
    summary: 'Things.',
    compact: 'Things.',
    facet,
    actions: {
      count: defineAction({
        summary: 'Counts.',
        mutates: false,
        errors: [],
        allow: ['agent'],
        input: z.strictObject({ from: z.number().default(0) }),
        output: z.object({ n: z.number() }),
        handle: ({ from }) => ({ n: from + 1 }),
      }),
      change: defineAction({
        summary: 'Changes.',
        mutates: true,
        errors: [],
        allow: ['agent'],
        input: z.strictObject({}),
        output: z.object({}),
        handle() {
          changes += 1
          return {}
        },
      }),
      own: defineAction({
        summary: 'Ours.',
        mutates: true,
        errors: [],
        allow: [],
        input: z.strictObject({}),
        output: z.object({}),
        handle: () => ({}),
      }),
    },
  })
const facades = [thing('thing'), thing('closed', 'work')]
const call = (facade: string, action: string, params = {}): RoutineStep => ({
  step: 'call',
  with: { facade, action, params },
})
const ends = ({ steps }: Report) => steps.map(({ status, problem }) => problem?.code ?? status)

const nightly: Routine = {
  summary: 'Counts.',
  params: { from: {}, more: { summary: 'How many more.', default: 1 } },
  steps: [
    {
      id: 'first',
      step: 'call',
      with: { facade: 'thing', action: 'count', params: { from: { $param: 'from' } } },
    },
    { step: 'expect', with: { value: { $from: 'first.n' }, at_least: { $param: 'more' } } },
  ],
}

describe('a configured routine', () => {
  const world = () => routineKernel({ facades, settings: { routines: { nightly } } })

  test('a configured routine runs with the given parameters and its defaults', async () => {
    const report = await world().call('routine', 'run', { name: 'nightly', params: { from: 4 } })
    expect(report).toMatchObject({ routine: 'nightly', ok: true, generation: 1, identity: 'ada' })
    expect(report.steps).toMatchObject([
      { id: 'first', result: { n: 5 } },
      { id: 'expect_2', status: 'ok' },
    ])
  })

  test('a configured routine is listed with its parameters', async () => {
    expect(await world().call('routine', 'list')).toEqual({
      routines: [{ name: 'nightly', summary: 'Counts.', params: nightly.params, steps: 2 }],
    })
  })

  test.each([
    [{ name: 'nightli', params: {} }, 'routine_unknown', 'the configuration has nightly'],
    [{ name: 'constructor' }, 'routine_unknown', 'There is no routine'],
    [{ name: 'nightly' }, 'params_invalid', 'nightly needs from'],
    [{ name: 'nightly', params: { from: 1, form: 2 } }, 'params_invalid', 'nightly has no parameter "form"'],
    [{ name: 'workflow.preflight' }, 'params_invalid', 'the name of a routine matches'],
  ])('a configured routine called with %j is rejected', async (params, code, detail) => {
    expect(await world().refused('routine', 'run', params)).toMatchObject({
      code,
      detail: expect.stringContaining(detail) as string,
    })
  })

  test('a changed routine applies from the next run on', async () => {
    const changed = world()
    changed.routines.configure(settingsWith({ routines: { weekly: nightly } }))
    expect((await changed.refused('routine', 'run', { name: 'nightly' })).code).toBe('routine_unknown')
    expect(await changed.call('routine', 'run', { name: 'weekly', params: { from: 1 } })).toMatchObject({
      ok: true,
    })
  })
})

describe('given steps', () => {
  test('given steps report like a configured routine', async () => {
    const { routines } = { routines: { nightly } }
    const world = routineKernel({ facades, settings: { routines } })
    const params = { from: 0, more: 3 }
    const run = await world.call('routine', 'run', { name: 'nightly', params })
    const given = await world.call('routine', 'eval', { steps: nightly.steps, params })
    expect(given).toMatchObject({ routine: null, generation: 2 })
    expect(comparable(given)).toEqual(comparable(run))
    expect(ends(given)).toEqual(['ok', 'expectation_failed'])
  })

  test('given steps run under the same sandbox policy', async () => {
    const steps: RoutineStep[] = [{ step: 'exec', with: { argv: ['make'] } }]
    const world = routineKernel({ settings: { routines: { build: { steps } } } })
    expect(ends(await world.call('routine', 'run', { name: 'build' }))).toEqual(['leash_forbidden'])
    expect(ends(await world.call('routine', 'eval', { steps }))).toEqual(['leash_forbidden'])
  })

  test.each<[unknown]>([
    [{ steps: [] }],
    [{ steps: Array.from({ length: LIMITS.routine_steps_max + 1 }, () => call('thing', 'count')) }],
    [{ steps: [{ step: 'call', id: 'a.b' }] }],
    [
      {
        steps: [
          { step: 'call', id: 'a' },
          { step: 'call', id: 'a' },
        ],
      },
    ],
    [{ steps: [{ step: 'call', id: 'call_2' }, { step: 'call' }] }],
    [
      {
        steps: [
          { step: 'call', needs: ['later'] },
          { step: 'call', id: 'later' },
        ],
      },
    ],
    [{ steps: [{ step: 'call', id: 'self', needs: ['self'] }] }],
    [{ steps: [{ step: 'Call' }] }],
    [{ steps: [{ step: 'call', with: [] }] }],
    [{ steps: [{ step: 'call', retry: 3 }] }],
    [{ steps: [{ step: 'http', with: { headers: { authorization: 'Bearer hunter2' } } }] }],
    [{ steps: [call('thing', 'count')], params: [] }],
  ])('invalid given steps are rejected as a whole: %j', async (params) => {
    const problem = await routineKernel({ facades }).refused('routine', 'eval', params as object)
    expect(problem.code).toBe('params_invalid')
    expect(JSON.stringify(problem)).not.toContain('hunter2')
  })

  test('given steps may consist of one step', async () => {
    const world = routineKernel({ facades })
    const report = await world.call('routine', 'step', call('thing', 'count', { from: 2 }))
    expect(report).toMatchObject({
      routine: null,
      generation: 1,
      steps: [{ id: 'call_1', result: { n: 3 } }],
    })
    expect(ends(await world.call('routine', 'step', { step: 'nothing' }))).toEqual(['step_unknown'])
  })
})

describe('a step that calls', () => {
  test('a step that calls has the permissions of its caller', async () => {
    const world = routineKernel({ facades })
    const steps = [
      call('closed', 'count'),
      call('thing', 'own'),
      call('nowhere', 'x'),
      call('thing', 'count'),
    ]
    const wanted = ['facet_forbidden', 'operator_required', 'facade_unknown', 'ok']
    for (const dry_run of [false, true])
      expect(ends(await world.call('routine', 'eval', { steps, dry_run }))).toEqual(wanted)
    const within = { narrowing: { facades: ['routine'] } }
    expect(ends(await world.call('routine', 'eval', { steps: [call('thing', 'count')] }, within))).toEqual([
      'facade_forbidden',
    ])
  })

  test('a step that calls gains nothing by another name or a batch', async () => {
    const world = routineKernel({ facades })
    const steps = [
      call('tool', 'invoke', { name: 'closed_count' }),
      call('workflow', 'batch', { calls: [{ facade: 'closed', action: 'count' }] }),
    ]
    const { steps: ended } = await world.call('routine', 'eval', { steps })
    expect(ended).toMatchObject([
      { problem: { code: 'facet_forbidden' } },
      { status: 'ok', result: { results: [{ error: { code: 'facet_forbidden' } }] } },
    ])
  })

  test('a step that calls cannot drain signals, because its report may be truncated', async () => {
    const world = routineKernel({ facades: [signals] })
    const steps = [call('signals', 'pending'), call('tool', 'invoke', { name: 'signals_pending' })]
    expect(ends(await world.call('routine', 'eval', { steps }))).toEqual([
      'handover_forbidden',
      'handover_forbidden',
    ])
  })

  test('a type with the longest name has an id like any other', async () => {
    const world = routineKernel()
    const { steps } = await world.call('routine', 'step', { step: 'a'.repeat(64) })
    expect(steps).toMatchObject([{ id: `${'a'.repeat(60)}_1`, problem: { code: 'step_unknown' } }])
    expect(await world.call('routine', 'report')).toMatchObject({ reports: [{ ok: false }] })
  })

  test('a routine that calls itself ends', async () => {
    const loop: Routine = { steps: [call('routine', 'run', { name: 'loop' })] }
    const world = routineKernel({ settings: { routines: { loop } } })
    const report = await world.call('routine', 'run', { name: 'loop' })
    expect(JSON.stringify(report)).toContain('limit_reached')
    expect(report.ok).toBe(true)
  })
})

describe('a dry run', () => {
  test('a dry run changes nothing and stores no report', async () => {
    changes = 0
    const world = routineKernel({ facades })
    const steps = [
      call('thing', 'change'),
      call('thing', 'count'),
      call('routine', 'step', call('thing', 'change')),
    ]
    const report = await world.call('routine', 'eval', { steps, dry_run: true })
    expect(report).toMatchObject({ report_id: null, generation: null, dry_run: true, ok: true })
    expect(ends(report)).toEqual(['planned', 'ok', 'planned'])
    expect([changes, await world.records.list('routine_report')]).toEqual([0, []])
    expect(await world.call('routine', 'report')).toEqual({ reports: [] })
  })

  test('a dry run calls other routines as dry runs', async () => {
    changes = 0
    const world = routineKernel({ facades })
    const inner = call('routine', 'step', { ...call('thing', 'change'), dry_run: true })
    const report = await world.call('routine', 'eval', { steps: [inner], dry_run: true })
    expect(report.steps).toMatchObject([{ status: 'ok', result: { steps: [{ status: 'planned' }] } }])
    expect(changes).toBe(0)
  })

  test('a dry run reports invalid parameters', async () => {
    const world = routineKernel({ facades })
    const steps = [call('thing', 'change', { much: 1 }), call('thing', 'chance')]
    expect(ends(await world.call('routine', 'eval', { steps, dry_run: true }))).toEqual([
      'params_invalid',
      'action_unknown',
    ])
  })
})

describe('a report', () => {
  test('reports are numbered consecutively, and the last one is listed first', async () => {
    const world = routineKernel({ facades, settings: { routines: { nightly } } })
    await world.call('routine', 'run', { name: 'nightly', params: { from: 1 } })
    world.clock.setBack(3_600_000)
    const second = await world.call('routine', 'step', call('thing', 'count'))
    expect(second.generation).toBe(2)
    expect(await world.call('routine', 'report')).toEqual({ reports: [second] })
    const { reports } = await world.call<{ reports: Report[] }>('routine', 'report', { name: 'nightly' })
    expect(reports).toMatchObject([{ generation: 1, steps: [{ result: { n: 2 } }, {}] }])
    const both = await world.call<{ reports: Report[] }>('routine', 'report', { limit: 5 })
    expect(both.reports.map(({ generation }) => generation)).toEqual([2, 1])
    expect(JSON.stringify(both)).not.toContain('"result"')
    expect((await world.refused('routine', 'report', { report_id: '01JZ0000000000000000000000' })).code).toBe(
      'report_unknown',
    )
  })

  test('a report shows results to the persona of its run, and to callers who may read everything', async () => {
    const world = routineKernel({ facades })
    const { report_id } = await world.call('routine', 'eval', {
      steps: [call('thing', 'count'), call('x', 'y')],
    })
    const seenBy = async (caller: typeof AGENT) =>
      (await world.call<{ reports: Report[] }>('routine', 'report', { report_id }, { caller })).reports[0]
        ?.steps
    const whole = [{ result: { n: 1 } }, { problem: { code: 'facade_unknown' } }]
    expect(await seenBy(AGENT)).toMatchObject(whole)
    expect(await seenBy(OPERATOR)).toMatchObject(whole)
    expect(await seenBy(OBSERVER)).toMatchObject(whole)
    const others = await seenBy({ ...AGENT, identity: 'bob' })
    expect(others).toMatchObject([{ status: 'ok' }, { status: 'failed' }])
    expect(JSON.stringify(others)).not.toMatch(/result|problem/)
  })

  test('a report that cannot be stored is returned all the same, with the reason', async () => {
    const records = createMemoryRecordStore()
    const put = () => Promise.reject(new TurnbellError('store_unavailable', { detail: 'The disk is full.' }))
    const broken = { list: records.list.bind(records), put } as unknown as typeof records
    const world = routineKernel({ facades, records: broken })
    expect(await world.call('routine', 'step', call('thing', 'count'))).toMatchObject({
      ok: true,
      report_id: null,
      generation: null,
      unkept: { code: 'store_unavailable', detail: 'The disk is full.' },
    })
    expect(world.logged).toMatchObject([{ level: 'error', message: 'report not stored' }])
  })
})

describe('too many routines', () => {
  test('too many concurrent routines are rejected until one has ended', async () => {
    const ending: (() => void)[] = []
    const outside = playedOutside({ program: () => ({}) })
    outside.programs.run = () =>
      new Promise((resolve) =>
        ending.push(() =>
          resolve({ exit_code: 0, timed_out: false, stdout: '', stderr: '', truncated: false }),
        ),
      )
    const sandbox = { ...NO_SANDBOX, exec: ['wait'] }
    const projects = [
      { project_id: '01JZ0000000000000000000000', root: '/projects/x', aliases: [], created_at: '' },
    ]
    const world = routineKernel({ outside, projects, settings: { sandbox } })
    const wait = () =>
      world.call(
        'routine',
        'step',
        { step: 'exec', with: { argv: ['wait'] } },
        { context: { scope: '/projects/x' } },
      )
    const running = Array.from({ length: LIMITS.routine_runs_max }, wait)
    expect((await world.refused('routine', 'step', { step: 'expect' })).code).toBe('limit_reached')
    while (ending.length < LIMITS.routine_runs_max) await Promise.resolve()
    for (const end of ending) end()
    expect((await Promise.all(running)).every(({ ok }) => ok)).toBe(true)
    expect(await world.call('routine', 'step', { step: 'events' })).toMatchObject({ ok: true })
  })
})

describe('the types of steps', () => {
  test('step types are listed with their parameters and needs', async () => {
    const { steps } = await routineKernel().call<{ steps: { name: string }[] }>('routine', 'steps')
    expect(steps).toMatchObject([
      { name: 'call', mutates: null, leash: null, input_schema: { required: ['facade', 'action'] } },
      { name: 'exec', mutates: true, leash: 'exec' },
      { name: 'http', mutates: null, leash: 'network' },
      { name: 'expect', mutates: false },
      { name: 'events', mutates: false },
    ])
  })
})

/** Removes the fields that differ between runs. */
function comparable({ report_id: _, generation: __, routine: ___, ...report }: Report): unknown {
  return JSON.parse(
    JSON.stringify(report, (key, value: unknown) =>
      ['duration_ms', 'started_at', 'instance'].includes(key) ? undefined : value,
    ),
  )
}
