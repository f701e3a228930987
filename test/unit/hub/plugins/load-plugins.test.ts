/** Tests the additions of plugins, and that an invalid plugin disables only itself. */
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { RecordKind } from '../../../../src/contracts/memory/records.ts'
import { FACADES } from '../../../../src/facades/all.ts'
import { loadPlugins } from '../../../../src/hub/plugins/load-plugins.ts'
import { builtInSteps } from '../../../../src/modules/routines/steps/built-in.ts'
import {
  defineAction,
  definePlugin,
  defineStep,
  Refusal,
  type PluginApi,
  type PluginContext,
} from '../../../../src/plugin/main.ts'
import { systemPatterns } from '../../../../src/system/patterns.ts'
import { fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { AGENT, codeOf, smallKernel } from '../../../support/worlds/small-kernel.ts'

let clock: FakeClock
let warned: string[]
let handed: PluginContext | null
beforeEach(() => {
  clock = fakeClock()
  warned = []
  handed = null
})

const take = (modules: Record<string, unknown>) =>
  loadPlugins({
    plugins: Object.keys(modules),
    async load(name) {
      const module = await modules[name]
      if (module instanceof Error) throw module
      return module
    },
    facades: FACADES,
    steps: builtInSteps({ patterns: systemPatterns, clock }),
    clock,
    log: { info: () => undefined, warn: (_, message) => void warned.push(message) },
  })

const greet = defineAction({
  summary: 'Greet somebody: {name}.',
  mutates: false,
  input: z.strictObject({ name: z.string() }),
  output: z.object({ said: z.string(), waiting: z.number() }),
  errors: ['target_unknown'],
  allow: ['agent'],
  aliases: ['hello_world'],
  async handle({ name }, context) {
    handed = context
    if (name === 'nobody') throw new Refusal('target_unknown', { detail: 'Nobody is there.' })
    const found = await context.kernel.call('tool', 'search', { query: 'send' })
    return { said: `hello ${name}`, waiting: found.ok ? 1 : 0 }
  },
})
const facade = (name: string, more: object = {}) => ({
  ...{ name, summary: 'Greets.', compact: 'Greets.', actions: { greet } },
  ...more,
})
const KIND = {
  name: 'thing',
  summary: 'A thing.',
  keeper: 'hub',
  fields: z.strictObject({ what: z.string() }),
}
const STEP = {
  ...{ name: 'count', summary: 'Counts.', mutates: false, input: z.strictObject({ to: z.number() }) },
  run: ({ to }: { to: number }) => ({ result: { counted: to } }),
}
const greeter = definePlugin({ name: 'greeter', facades: [facade('greeting')] })

describe('a plugin that fits', () => {
  test('a plugin adds facades of its own facet, which are hidden until it is exposed', async () => {
    const { facades, reports } = await take({ './greeter.mjs': { default: greeter } })
    expect(reports).toEqual([
      {
        plugin: './greeter.mjs',
        name: 'greeter',
        facades: ['greeting'],
        kinds: [],
        steps: [],
        problem: null,
      },
    ])
    expect(codeOf(await smallKernel(facades).call('greeting', 'greet', { name: 'bob' }))).toBe(
      'facet_forbidden',
    )
    const open = smallKernel(facades, { facets: ['core', 'greeter'] })
    expect(await open.call('greeting', 'greet', { name: 'bob' })).toEqual({
      ok: true,
      result: { said: 'hello bob', waiting: 1 },
    })
    expect(await open.call('helloWorld', undefined, { name: 'bob' })).toMatchObject({ ok: true })
    expect(codeOf(await open.call('greeting', 'greet', { name: 'nobody' }))).toBe('target_unknown')
    expect(codeOf(await open.call('greeting', 'greet', { nam: 'bob' }))).toBe('params_invalid')
  })

  test('a plugin receives the caller and the kernel, and no internals of the hub', async () => {
    const { facades } = await take({ g: { default: greeter } })
    await smallKernel(facades, { facets: ['core', 'greeter'] }, { signals: {} as never }).call(
      'greeting',
      'greet',
      { name: 'x' },
    )
    expect(Object.keys(handed ?? {}).sort()).toEqual(['caller', 'context', 'kernel'])
    expect(handed?.caller).toEqual(AGENT)
  })

  test('a plugin may be made of the given helpers, without an installed turnbell', async () => {
    const made = ({ z: zod, defineAction: define }: PluginApi) => ({
      name: 'made',
      facet: 'core',
      facades: [
        facade('making', {
          actions: {
            up: define({
              ...{ summary: 'Up.', mutates: false, errors: [], allow: ['agent'] },
              input: zod.strictObject({}),
              output: zod.object({ ok: zod.boolean() }),
              handle: () => ({ ok: true }),
            }),
          },
        }),
      ],
    })
    const { facades } = await take({ made: { default: made } })
    expect(await smallKernel(facades).call('making', 'up')).toEqual({ ok: true, result: { ok: true } })
  })

  test('a plugin adds kinds of records, with or without facades', async () => {
    const sighting: RecordKind = {
      ...{ name: 'sighting', summary: 'Seen.', keeper: 'project' },
      fields: z.strictObject({ where: z.string() }),
    }
    const { kinds, reports } = await take({ birds: { default: { name: 'birds', kinds: [sighting] } } })
    expect(reports[0]).toMatchObject({ kinds: ['sighting'], problem: null })
    expect(kinds.map(({ name }) => name)).toEqual(['sighting'])
  })

  test('a plugin adds steps of routines', async () => {
    const counter = definePlugin({ name: 'counter', steps: [defineStep(STEP)] })
    const { steps, reports } = await take({ counter: { default: counter } })
    expect(reports[0]).toMatchObject({ facades: [], kinds: [], steps: ['count'], problem: null })
    expect(steps.map(({ name }) => name)).toEqual(['count'])
  })

  test('a plugin is never in the short list, whatever it declares', async () => {
    const loud = {
      name: 'loud',
      facet: 'core',
      facades: [facade('shouting', { listed: true, everywhere: true, micro: ['greet'] })],
    }
    const { facades } = await take({ loud: { default: loud } })
    const added = facades.find(({ name }) => name === 'shouting')
    expect(added).not.toHaveProperty('listed')
    expect(added).not.toHaveProperty('everywhere')
    expect(added).not.toHaveProperty('micro')
  })

  test("a plugin's action cannot claim to be checked elsewhere or to need its own tool", async () => {
    const own_tool = { description: 'Look at me.' }
    const bold = { ...greet, mutates: true, delegates: true, own_tool }
    const { facades } = await take({
      bold: { default: { name: 'bold', facades: [{ ...facade('bold'), actions: { greet: bold } }] } },
    })
    const action = facades.find(({ name }) => name === 'bold')?.actions['greet']
    expect(action).toMatchObject({ mutates: true })
    expect(action).not.toHaveProperty('delegates')
    expect(action).not.toHaveProperty('own_tool')
  })
})

describe('an invalid plugin is disabled with the reason:', () => {
  const action = (more: object) => ({
    default: { name: 'bad', facades: [facade('bad', { actions: { go: { ...greet, ...more } } })] },
  })
  const step = (more: object, ...others: object[]) => ({
    default: { name: 'bad', facades: [facade('bad')], steps: [{ ...STEP, ...more }, ...others] },
  })
  test.each([
    ['one that throws', new Error('it broke at load'), 'it broke at load'],
    ['one without an export', {}, 'no default export'],
    ['one that exports nothing', null, 'no default export'],
    ['an invalid manifest', { default: 7 }, 'manifest is not valid'],
    ['no name', { default: {} }, 'name'],
    ['a name in another form', { default: { name: 'Bad Name' } }, 'lower_case'],
    ['an input that is not a schema', action({ input: {} }), 'expected a zod schema'],
    ['an input that is not an object', action({ input: z.string() }), 'bad.go: input: it is not an object'],
    ['an output that JSON cannot represent', action({ output: z.object({ at: z.date() }) }), 'bad.go: '],
    ['an unknown error', action({ errors: ['oops'] }), 'facades.0.actions.go.errors.0'],
    ['an unknown kind', action({ allow: ['root'] }), 'allow'],
    ['no handler', action({ handle: 'x' }), 'expected a function'],
    [
      'a facade that is there',
      { default: { name: 'bad', facades: [facade('signals')] } },
      'two facades are called signals',
    ],
    ['an old name that is taken', action({ aliases: ['coord_send'] }), 'the name coord_send is claimed'],
    [
      'a kind that is taken',
      { default: { name: 'bad', kinds: [{ ...KIND, name: 'friction' }] } },
      'two kinds of records are called friction',
    ],
    [
      'a kind without fields',
      { default: { name: 'bad', kinds: [{ ...KIND, fields: {} }] } },
      'expected a zod object',
    ],
    [
      'a kind that contradicts itself',
      { default: { name: 'bad', kinds: [{ ...KIND, unique: ['no'] }] } },
      'is not a field of the kind',
    ],
    ['a step that is there', step({ name: 'exec' }), 'two types of steps are called exec'],
    ['two steps of one name', step({}, STEP), 'two types of steps are called count'],
    ['a step with a name in another form', step({ name: 'Count-Up' }), 'steps.0.name: a type of step'],
    ['a step that does nothing', step({ run: undefined }), 'steps.0.run: expected a function'],
    ['a step that does not say whether it changes anything', step({ mutates: undefined }), 'steps.0.mutates'],
    ['a step without a summary', step({ summary: '' }), 'steps.0.summary'],
    ['a step on a leash that there is not', step({ leash: 'files' }), 'steps.0.leash'],
    ['a step whose check is none', step({ check: true }), 'steps.0.check: expected a function'],
    ['a step whose input is no schema', step({ input: {} }), 'steps.0.input: expected a zod schema'],
    [
      'a step whose input is no object',
      step({ input: z.array(z.string()) }),
      'the step count: input: it is not an object',
    ],
    ['a step whose input JSON cannot say', step({ input: z.object({ at: z.date() }) }), 'the step count: '],
    ['steps that are no list', { default: { name: 'bad', steps: STEP } }, 'steps: '],
    ['a key that is misspelt', { default: { name: 'bad', facade: [facade('bad')] } }, '"facade"'],
    [
      'a facade with such a key',
      { default: { name: 'bad', facades: [facade('bad', { hint: 'x' })] } },
      'unknown field "hint" in facades.0',
    ],
    ['an action with such a key', action({ mutate: true }), 'unknown field "mutate" in facades.0.actions.go'],
    [
      'a kind with such a key',
      { default: { name: 'bad', kinds: [{ ...KIND, stati: {} }] } },
      'unknown field "stati" in kinds.0',
    ],
    ['a step with such a key', step({ leashes: 'exec' }), 'unknown field "leashes" in steps.0'],
    ['a maker that throws', { default: () => Promise.reject(new Error('no licence')) }, 'no licence'],
  ])('a plugin is disabled: %s', async (_, module, problem) => {
    const { facades, steps, reports } = await take({ bad: module, good: { default: greeter } })
    expect(reports[0]).toMatchObject({
      plugin: 'bad',
      ...{ facades: [], kinds: [], steps: [] },
      problem: expect.stringContaining(problem) as string,
    })
    expect(reports[1]).toMatchObject({ plugin: 'good', problem: null })
    expect(facades).toHaveLength(FACADES.length + 1)
    expect(steps).toEqual([])
    expect(warned).toEqual(['plugin bad skipped'])
  })

  test('a plugin with a name of an earlier one is disabled', async () => {
    const { reports } = await take({ first: { default: greeter }, second: { default: greeter } })
    expect(reports.map(({ problem }) => problem)).toEqual([null, 'two facades are called greeting'])
    const counting = { name: 'counting', steps: [STEP] }
    const again = await take({ first: { default: counting }, second: { default: counting } })
    expect(again.reports.map(({ problem }) => problem)).toEqual([null, 'two types of steps are called count'])
    expect(again.steps).toHaveLength(1)
  })

  test('a plugin that never finishes loading is disabled', async () => {
    const taking = take({ slow: new Promise(() => undefined), good: { default: greeter } })
    await clock.advance(LIMITS.plugin_load_ms)
    const { reports } = await taking
    expect(reports.map(({ problem }) => problem)).toEqual([
      expect.stringContaining('not loaded within'),
      null,
    ])
  })
})

describe('a refusal', () => {
  test.each(['made_up', 'constructor', 'target_unknwon'])(
    'a refusal with the unknown code %s is not created',
    (code) => {
      expect(() => new Refusal(code as 'internal', { detail: 'x' })).toThrow(`unknown error code "${code}"`)
    },
  )

  test('an error names the code that was probably meant', () => {
    expect(() => new Refusal('target_unknwon' as 'internal', { detail: 'x' })).toThrow(
      'did you mean target_unknown?',
    )
  })
})
