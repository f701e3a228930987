/** Plugins: what they add, and that one which does not fit only leaves itself out. */
import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { RecordKind } from '../../../src/contracts/records.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { takeInPlugins } from '../../../src/hub/plugins.ts'
import {
  defineAction,
  definePlugin,
  Refusal,
  type PluginApi,
  type PluginContext,
} from '../../../src/plugin/main.ts'
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
})

describe('a plugin that does not fit is left out, and says why:', () => {
  const action = (more: object) => ({
    default: { name: 'bad', facades: [facade('bad', { actions: { go: { ...greet, ...more } } })] },
  })
  test.each([
    ['one that throws', new Error('it broke at load'), 'it broke at load'],
    ['one without an export', {}, 'no default export'],
    ['one that is nothing', null, 'no default export'],
    ['a manifest that is none', { default: 7 }, 'manifest does not fit'],
    ['no name', { default: {} }, 'name'],
    ['a name in another form', { default: { name: 'Bad Name' } }, 'lower_case'],
    ['an input that is no schema', action({ input: {} }), 'expected a zod schema'],
    ['an input that is no object', action({ input: z.string() }), 'its input is no object'],
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
    ['a maker that throws', { default: () => Promise.reject(new Error('no licence')) }, 'no licence'],
  ])('%s', async (_, module, problem) => {
    const { facades, reports } = await take({ bad: module, good: { default: greeter } })
    expect(reports[0]).toMatchObject({
      plugin: 'bad',
      facades: [],
      problem: expect.stringContaining(problem) as string,
    })
    expect(reports[1]).toMatchObject({ plugin: 'good', problem: null })
    expect(facades).toHaveLength(FACADES.length + 1)
    expect(warned).toEqual(['the plugin bad was left out'])
  })

  test('one that claims what an earlier one has', async () => {
    const { reports } = await take({ first: { default: greeter }, second: { default: greeter } })
    expect(reports.map(({ problem }) => problem)).toEqual([null, 'two facades are called greeting'])
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
