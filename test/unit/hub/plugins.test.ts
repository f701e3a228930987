/** Plugins: what they add, and that one which does not fit only leaves itself out. */
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { RecordKind } from '../../../src/contracts/records.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { takeInPlugins } from '../../../src/hub/plugins.ts'
import { builtInSteps } from '../../../src/modules/routines/steps/built-in.ts'
import {
  defineAction,
  definePlugin,
  defineStep,
  Refusal,
  type PluginApi,
  type PluginContext,
} from '../../../src/plugin/main.ts'
import { systemPatterns } from '../../../src/system/patterns.ts'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { AGENT, codeOf, smallKernel } from '../../support/small-kernel.ts'

let clock: FakeClock
let warned: string[]
let handed: PluginContext | null
beforeEach(() => {
  clock = fakeClock()
  warned = []
  handed = null
})

const take = (modules: Record<string, unknown>) =>
  takeInPlugins({
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
  test('adds facades of its own facet, which nobody sees before it is exposed', async () => {
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

  test("is handed who calls and the kernel, and none of the hub's insides", async () => {
    const { facades } = await take({ g: { default: greeter } })
    await smallKernel(facades, { facets: ['core', 'greeter'] }, { signals: {} as never }).call(
      'greeting',
      'greet',
      { name: 'x' },
    )
    expect(Object.keys(handed ?? {}).sort()).toEqual(['caller', 'context', 'kernel'])
    expect(handed?.caller).toEqual(AGENT)
  })

  test('may be made of what it is given, where turnbell is not installed beside it', async () => {
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

  test('adds kinds of records, by themselves or with facades', async () => {
    const sighting: RecordKind = {
      ...{ name: 'sighting', summary: 'Seen.', keeper: 'project' },
      fields: z.strictObject({ where: z.string() }),
    }
    const { kinds, reports } = await take({ birds: { default: { name: 'birds', kinds: [sighting] } } })
    expect(reports[0]).toMatchObject({ kinds: ['sighting'], problem: null })
    expect(kinds.map(({ name }) => name)).toEqual(['sighting'])
  })

  test('adds steps of routines', async () => {
    const counter = definePlugin({ name: 'counter', steps: [defineStep(STEP)] })
    const { steps, reports } = await take({ counter: { default: counter } })
    expect(reports[0]).toMatchObject({ facades: [], kinds: [], steps: ['count'], problem: null })
    expect(steps.map(({ name }) => name)).toEqual(['count'])
  })

  test('stays out of the short list, whatever it says of itself', async () => {
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

  test('cannot say of an action that it is judged elsewhere, or that it needs a tool of its own', async () => {
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

describe('a plugin that does not fit is left out, and says why:', () => {
  const action = (more: object) => ({
    default: { name: 'bad', facades: [facade('bad', { actions: { go: { ...greet, ...more } } })] },
  })
  const step = (more: object, ...others: object[]) => ({
    default: { name: 'bad', facades: [facade('bad')], steps: [{ ...STEP, ...more }, ...others] },
  })
  test.each([
    ['one that throws', new Error('it broke at load'), 'it broke at load'],
    ['one without an export', {}, 'no default export'],
    ['one that is nothing', null, 'no default export'],
    ['a manifest that is none', { default: 7 }, 'manifest does not fit'],
    ['no name', { default: {} }, 'name'],
    ['a name in another form', { default: { name: 'Bad Name' } }, 'lower_case'],
    ['an input that is no schema', action({ input: {} }), 'expected a zod schema'],
    ['an input that is no object', action({ input: z.string() }), 'bad.go: input: it is no object'],
    ['an output that JSON cannot say', action({ output: z.object({ at: z.date() }) }), 'bad.go: '],
    ['an error that there is not', action({ errors: ['oops'] }), 'facades.0.actions.go.errors.0'],
    ['a kind that there is not', action({ allow: ['root'] }), 'allow'],
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
      'is no field of it',
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
      'the step count: input: it is no object',
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
  ])('%s', async (_, module, problem) => {
    const { facades, steps, reports } = await take({ bad: module, good: { default: greeter } })
    expect(reports[0]).toMatchObject({
      plugin: 'bad',
      ...{ facades: [], kinds: [], steps: [] },
      problem: expect.stringContaining(problem) as string,
    })
    expect(reports[1]).toMatchObject({ plugin: 'good', problem: null })
    expect(facades).toHaveLength(FACADES.length + 1)
    expect(steps).toEqual([])
    expect(warned).toEqual(['the plugin bad was left out'])
  })

  test('one that claims what an earlier one has', async () => {
    const { reports } = await take({ first: { default: greeter }, second: { default: greeter } })
    expect(reports.map(({ problem }) => problem)).toEqual([null, 'two facades are called greeting'])
    const counting = { name: 'counting', steps: [STEP] }
    const again = await take({ first: { default: counting }, second: { default: counting } })
    expect(again.reports.map(({ problem }) => problem)).toEqual([null, 'two types of steps are called count'])
    expect(again.steps).toHaveLength(1)
  })

  test('one that never comes', async () => {
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
    'is not made with a code that is none: %s',
    (code) => {
      expect(() => new Refusal(code as 'internal', { detail: 'x' })).toThrow(
        `one of turnbell's error codes, and "${code}" is none`,
      )
    },
  )

  test('says which code was probably meant', () => {
    expect(() => new Refusal('target_unknwon' as 'internal', { detail: 'x' })).toThrow(
      'did you mean target_unknown?',
    )
  })
})
