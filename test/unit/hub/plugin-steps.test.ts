/** Tests that steps from plugins behave like built-in ones in a routine. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Report } from '../../../src/contracts/runs/routine.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { signals } from '../../../src/facades/signals.ts'
import type { Facade } from '../../../src/kernel/define.ts'
import { loadPlugins } from '../../../src/hub/plugins/load-plugins.ts'
import { PLUGIN_API } from '../../../src/kernel/plugins/plugin.ts'
import { builtInSteps } from '../../../src/modules/routines/steps/built-in.ts'
import type { RoutineSettings } from '../../../src/modules/routines/service.ts'
import type { StepContext, StepDone } from '../../../src/plugin/main.ts'
import { loadModule } from '../../../src/system/process/load-module.ts'
import { systemPatterns } from '../../../src/system/patterns.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { playedOutside } from '../../support/fakes/fake-outside.ts'
import { routineKernel } from '../../support/worlds/routine-kernel.ts'
import { NO_SANDBOX } from '../../support/worlds/routine-world.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const { z, defineStep, Refusal } = PLUGIN_API
const ROOT = '/projects/app'
const PROJECT = { project_id: '01JZ0000000000000000000000', root: ROOT, aliases: [], created_at: '' }

/** Returns the plugins shown on the page for authors, each as a module that can be copied. */
function shownPlugins(): string[] {
  const page = fs.readFileSync(path.resolve(import.meta.dirname, '../../../docs/guides/plugins.md'), 'utf8')
  const directory = temporaryDirectory()
  return [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code = ''], at) => {
    const file = path.join(directory, `shown-${at}.mjs`)
    fs.writeFileSync(file, code)
    return file
  })
}

const taken = (plugins: readonly string[], load: (plugin: string) => Promise<unknown>) =>
  loadPlugins({
    ...{ plugins, load, facades: FACADES, clock: fakeClock() },
    steps: builtInSteps({ patterns: systemPatterns, clock: fakeClock() }),
    log: { info: () => undefined, warn: () => undefined },
  })

/** Returns a hub with one plugin that provides these steps. */
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
  test("a plugin's step runs in a configured routine and in a given one", async () => {
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

  test("a plugin's step is listed with its parameters", async () => {
    const hub = await hubWith(counting)
    const { steps } = await hub.call<{ steps: object[] }>('routine', 'steps')
    expect(steps).toContainEqual(expect.objectContaining({ name: 'count', mutates: false, leash: null }))
    expect(JSON.stringify(steps)).toContain('"maximum":9')
  })

  test("parameters of a plugin's step are validated before it runs", async () => {
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
    ['throws a value that is not an error', 'internal', () => ({ failure: new Error('the secret is 42') })],
    ['returns nothing', 'internal', () => undefined],
    ['returns a value that is not JSON', 'internal', () => ({ result: () => 'the secret is 42' })],
  ])("a plugin's step that %s fails alone, with %s", async (_, code, run) => {
    const hub = await hubWith(run as () => StepDone)
    const steps = [COUNT, { step: 'expect', with: { value: 1, equals: 1 } }]
    const report = await hub.call('routine', 'eval', { steps })
    expect(ends(report)).toEqual([code, 'ok'])
    expect(report.failures).toBe(1)
    expect(JSON.stringify(report)).not.toContain('42')
    expect(hub.logged.map(({ message }) => message)).toEqual(
      code === 'internal' ? ['step failed with an internal error'] : [],
    )
  })

  test('a changing step of a plugin is planned in a dry run, and its check is called', async () => {
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

  test("a plugin's step cannot put a drain into its report", async () => {
    const take = async (_: unknown, { kernel }: StepContext): Promise<StepDone> => {
      const outcome = await kernel.call('signals', 'pending', {})
      return outcome.ok ? { result: outcome.result } : { failure: outcome.problem }
    }
    const hub = await hubWith(take, { facades: [signals] })
    expect(ends(await hub.call('routine', 'eval', { steps: [COUNT] }))).toEqual(['handover_forbidden'])
  })

  test("a plugin's step is limited by the sandbox policy", async () => {
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
  test('the plugins on the page are valid', async () => {
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
  ])('the plugins on the page work: %s', async (stdout, wanted) => {
    const { steps } = await taken(shownPlugins(), (file) => loadModule(file, '/'))
    const outside = playedOutside({ program: () => ({ stdout }) })
    const sandbox = { ...NO_SANDBOX, exec: ['wc -c'] }
    const hub = routineKernel({ steps, outside, settings: { sandbox }, projects: [PROJECT] })
    const weighing = { steps: [{ step: 'weigh', with: { file: 'a.js', bytes_max: 1_000 } }], dry_run: true }
    const report = await hub.call('routine', 'eval', weighing, { context: { scope: ROOT } })
    expect(ends(report)).toEqual(wanted)
    expect(outside.ran).toMatchObject([{ argv: ['wc', '-c', '--', 'a.js'], root: ROOT }])
    expect(report.steps[0]?.result).toEqual({ bytes: Number.parseInt(stdout, 10) })
  })
})
