/** Steps that plugins bring: in a routine they are like those that come with turnbell. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Report } from '../../../src/contracts/routine.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { signals } from '../../../src/facades/signals.ts'
import type { Facade } from '../../../src/kernel/define.ts'
import { takeInPlugins } from '../../../src/hub/plugins.ts'
import { PLUGIN_API } from '../../../src/kernel/plugin.ts'
import { builtInSteps } from '../../../src/modules/routines/steps/built-in.ts'
import type { RoutineSettings } from '../../../src/modules/routines/service.ts'
import type { StepContext, StepDone } from '../../../src/plugin/main.ts'
import { loadModule } from '../../../src/system/load-module.ts'
import { systemPatterns } from '../../../src/system/patterns.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { playedOutside } from '../../support/outside.ts'
import { routineKernel } from '../../support/routine-kernel.ts'
import { NO_LEASH } from '../../support/routine-world.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const { z, defineStep, Refusal } = PLUGIN_API
const ROOT = '/projects/app'
const PROJECT = { project_id: '01JZ0000000000000000000000', root: ROOT, aliases: [], created_at: '' }

/** The plugins that the page for authors shows, each a module as somebody would copy it. */
function shownPlugins(): string[] {
  const page = fs.readFileSync(path.resolve(import.meta.dirname, '../../../docs/plugins.md'), 'utf8')
  const directory = temporaryDirectory()
  return [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code = ''], at) => {
    const file = path.join(directory, `shown-${at}.mjs`)
    fs.writeFileSync(file, code)
    return file
  })
}

const taken = (plugins: readonly string[], load: (plugin: string) => Promise<unknown>) =>
  takeInPlugins({
    ...{ plugins, load, facades: FACADES, clock: fakeClock() },
    steps: builtInSteps({ patterns: systemPatterns, clock: fakeClock() }),
    log: { info: () => undefined, warn: () => undefined },
  })

/** A hub with one plugin of these steps. */
async function hubWith(
  run: (input: { to: number }, context: StepContext) => StepDone | Promise<StepDone>,
  how: {
    mutates?: boolean
    check?: () => void
    settings?: Partial<RoutineSettings>
    facades?: readonly Facade[]
  } = {},
) {
  const { mutates = false, check, settings = {}, facades = [] } = how
  const count = defineStep({
    ...{ name: 'count', summary: 'Counts.', mutates, run, ...(check === undefined ? {} : { check }) },
    input: z.strictObject({ to: z.number().max(9).default(3) }),
  })
  const { steps } = await taken(['counter'], () =>
    Promise.resolve({ default: { name: 'counter', steps: [count] } }),
  )
  return routineKernel({ steps, settings, facades, projects: [PROJECT] })
}
const ends = ({ steps }: Report) => steps.map(({ status, problem }) => problem?.code ?? status)
const COUNT = { id: 'first', step: 'count', with: { to: 2 } }
const counting = ({ to }: { to: number }) => ({ result: { counted: to } })

describe("a plugin's step", () => {
  test('is done in a configured routine and in one that comes with the call', async () => {
    const steps = [COUNT, { step: 'expect', with: { value: { $from: 'first.counted' }, equals: 2 } }]
    const hub = await hubWith(counting, { settings: { routines: { nightly: { steps } } } })
    for (const report of [
      await hub.call('routine', 'run', { name: 'nightly' }),
      await hub.call('routine', 'eval', { steps }),
    ]) {
      expect(ends(report)).toEqual(['ok', 'ok'])
      expect(report.steps[0]).toMatchObject({ id: 'first', step: 'count', result: { counted: 2 } })
    }
  })

  test('is told with what it takes', async () => {
    const hub = await hubWith(counting)
    const { steps } = await hub.call<{ steps: object[] }>('routine', 'steps')
    expect(steps).toContainEqual(expect.objectContaining({ name: 'count', mutates: false, leash: null }))
    expect(JSON.stringify(steps)).toContain('"maximum":9')
  })

  test('is held to what it takes, before it is run', async () => {
    const hub = await hubWith(() => {
      throw new Error('it was run')
    })
    const steps = [
      { step: 'count', with: { to: 10 } },
      { step: 'count', with: { two: 2 } },
    ]
    expect(ends(await hub.call('routine', 'eval', { steps }))).toEqual(['params_invalid', 'params_invalid'])
    expect(hub.logged).toEqual([])
  })

  test.each<[string, string, () => unknown]>([
    [
      'refuses',
      'target_unknown',
      () => {
        throw new Refusal('target_unknown', { detail: 'Nobody is there.' })
      },
    ],
    [
      'fails',
      'expectation_failed',
      () => ({ failure: new Refusal('expectation_failed', { detail: 'No.' }) }),
    ],
    [
      'breaks',
      'internal',
      () => {
        throw new Error('the secret is 42')
      },
    ],
    ['breaks later', 'internal', () => Promise.reject(new TypeError('the secret is 42'))],
    ['fails with what is no refusal', 'internal', () => ({ failure: new Error('the secret is 42') })],
    ['answers nothing', 'internal', () => undefined],
    ['answers what is no JSON', 'internal', () => ({ result: () => 'the secret is 42' })],
  ])('that %s fails alone, with %s', async (_, code, run) => {
    const hub = await hubWith(run as () => StepDone)
    const steps = [COUNT, { step: 'expect', with: { value: 1, equals: 1 } }]
    const report = await hub.call('routine', 'eval', { steps })
    expect(ends(report)).toEqual([code, 'ok'])
    expect(report.failures).toBe(1)
    expect(JSON.stringify(report)).not.toContain('42')
    expect(hub.logged.map(({ message }) => message)).toEqual(code === 'internal' ? ['a step broke'] : [])
  })

  test('is left at a plan by a dry run where it changes something, and its check is asked', async () => {
    let ran = 0
    const run = () => ({ result: (ran += 1) })
    const dry = { steps: [COUNT], dry_run: true }
    expect(ends(await (await hubWith(run, { mutates: true })).call('routine', 'eval', dry))).toEqual([
      'planned',
    ])
    const check = () => {
      throw new Refusal('target_unknown', { detail: 'Nobody is there.' })
    }
    expect(ends(await (await hubWith(run, { mutates: true, check })).call('routine', 'eval', dry))).toEqual([
      'target_unknown',
    ])
    expect(ran).toBe(0)
    expect(ends(await (await hubWith(run)).call('routine', 'eval', dry))).toEqual(['ok'])
    expect(ran).toBe(1)
  })

  test('cannot take into its report what is answered only once', async () => {
    const take = async (_: unknown, { kernel }: StepContext): Promise<StepDone> => {
      const outcome = await kernel.call('signals', 'pending', {})
      return outcome.ok ? { result: outcome.result } : { failure: outcome.problem }
    }
    const hub = await hubWith(take, { facades: [signals] })
    expect(ends(await hub.call('routine', 'eval', { steps: [COUNT] }))).toEqual(['handover_forbidden'])
  })

  test('reaches nothing that is not on the leash', async () => {
    const hub = await hubWith(async (_, { reach, root }) => {
      const { exit_code } = await reach.run({ argv: ['make'], root: root(), cwd: '.', timeout_ms: 1_000 })
      return { result: exit_code }
    })
    const scope = { context: { scope: ROOT } }
    const report = await hub.call('routine', 'eval', { steps: [COUNT] }, scope)
    expect(ends(report)).toEqual(['leash_forbidden'])
  })
})

describe('the plugins that the page for authors shows', () => {
  test('fit', async () => {
    const shown = shownPlugins()
    const { reports } = await taken(shown, (file) => loadModule(file, '/'))
    expect(reports).toMatchObject([
      { name: 'greeter', facades: ['greeting'], steps: [], problem: null },
      { name: 'weigher', facades: [], steps: ['weigh'], problem: null },
    ])
  })

  test.each([
    ['12 a.js', ['ok']],
    ['2048 a.js', ['expectation_failed']],
  ])('do what it says: %s', async (stdout, wanted) => {
    const { steps } = await taken(shownPlugins(), (file) => loadModule(file, '/'))
    const outside = playedOutside({ program: () => ({ stdout }) })
    const leash = { ...NO_LEASH, exec: ['wc -c'] }
    const hub = routineKernel({ steps, outside, settings: { leash }, projects: [PROJECT] })
    const weighing = { steps: [{ step: 'weigh', with: { file: 'a.js', bytes_max: 1_000 } }], dry_run: true }
    const report = await hub.call('routine', 'eval', weighing, { context: { scope: ROOT } })
    expect(ends(report)).toEqual(wanted)
    expect(outside.ran).toMatchObject([{ argv: ['wc', '-c', '--', 'a.js'], root: ROOT }])
    expect(report.steps[0]?.result).toEqual({ bytes: Number.parseInt(stdout, 10) })
  })
})
