/** Tests that every field of a plugin's manifest is validated: an invalid one disables the plugin and is reported. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { FACADES } from '../../../src/facades/all.ts'
import { loadPlugins } from '../../../src/hub/plugins/load-plugins.ts'
import { builtInSteps } from '../../../src/modules/routines/steps/built-in.ts'
import { systemPatterns } from '../../../src/system/patterns.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { codeOf, smallKernel } from '../../support/worlds/small-kernel.ts'

type Part = Record<string, unknown>

const KIND = {
  name: 'thing',
  summary: 'A thing.',
  keeper: 'hub',
  fields: z.strictObject({ what: z.string() }),
  status: {
    initial: 'new',
    moves: { new: ['gone'] },
    closing: { to: 'gone', fields: { why: z.string() } },
  },
  changed_by: 'full',
  unique: ['what'],
  examples: [{ what: 'a stone' }],
}
const ACTION = {
  summary: 'Go.',
  mutates: true,
  idempotent: true,
  destructive: true,
  harmless: () => true,
  hands_over: true,
  own_tool: { description: 'Look at me.', meta: { a: 1 } },
  delegates: true,
  aliases: ['full_went', { name: 'full_gone', params: (old: object) => old }],
  input: z.strictObject({ to: z.string() }),
  output: z.object({}),
  errors: ['target_unknown'],
  allow: ['agent'],
  examples: [{ to: 'town' }],
  handle: () => ({}),
}
const FACADE = {
  name: 'full',
  summary: 'Whole.',
  compact: 'Whole.',
  overview: 'All of it.',
  agent_hint: 'Go where you are told.',
  facet: 'full_facet',
  listed: true,
  micro: ['go'],
  pro: true,
  old_path: '/fuller',
  everywhere: true,
  actions: { go: ACTION },
}
const STEP = {
  name: 'count',
  summary: 'Counts.',
  mutates: false,
  leash: 'exec',
  input: z.strictObject({}),
  check: () => undefined,
  run: () => ({ result: 1 }),
}
const WHOLE = { name: 'whole', facet: 'wholly', facades: [FACADE], kinds: [KIND], steps: [STEP] }

async function take(module: unknown) {
  const { reports, ...taken } = await loadPlugins({
    plugins: ['it'],
    load: () => Promise.resolve(module),
    facades: FACADES,
    steps: builtInSteps({ patterns: systemPatterns, clock: fakeClock() }),
    clock: fakeClock(),
    log: { info: () => undefined, warn: () => undefined },
  })
  return { ...taken, problem: reports[0]?.problem }
}

/** Returns the manifest with another value at one path. */
function withAt(whole: unknown, [key = '', ...deeper]: string[], value: unknown): unknown {
  const inner = deeper.length === 0 ? value : withAt((whole as Part)[key], deeper, value)
  return Array.isArray(whole) ? whole.with(Number(key), inner) : { ...(whole as Part), [key]: inner }
}

/** Returns every path in the manifest that has a name or an index, down to where its own format ends. */
function placesIn(value: unknown, path: string[] = []): string[][] {
  const opaque = typeof value !== 'object' || value === null || '_zod' in value
  const inner = opaque ? [] : Object.entries(value).flatMap(([key, one]) => placesIn(one, [...path, key]))
  return path.length === 0 ? inner : [path, ...inner]
}

/** Examples and the metadata of a tool may contain anything; see below for the former. */
const FREE = /examples\.0\.|own_tool\.meta\./
const PLACES = placesIn(WHOLE)
  .map((path) => path.join('.'))
  .filter((path) => !FREE.test(path))
/** A well-formed value may still not fit the rest; the error then names its location. */
const SAID_AS: Record<string, string> = {
  'facades.0.actions.go.aliases.1.name': 'aliases.1',
  'facades.0.actions.go.aliases.1.params': 'aliases.1: expected string or a function in params',
  'facades.0.actions.go.examples.0': 'examples.0',
  'kinds.0.examples.0': 'examples.0',
  'kinds.0.status.moves': '',
}
/** Paths where an empty value is valid. */
const MAY_BE_EMPTY = /\.(actions|meta|closing\.fields)$/
const WRONG = [5, null, '', [null], {}]

test('a manifest with all possible fields is accepted', async () => {
  expect(PLACES.length).toBeGreaterThan(60)
  expect(await take({ default: WHOLE })).toMatchObject({ problem: null })
})

describe('an invalid value disables the plugin, and the reason names its place and the allowed values:', () => {
  test.each(PLACES)('an invalid value in %s is named', async (place) => {
    for (const value of WRONG) {
      if (isEmpty(value) && MAY_BE_EMPTY.test(place)) continue
      const { problem } = await take({ default: withAt(WHOLE, place.split('.'), value) })
      expect(problem, JSON.stringify(value)).toContain(SAID_AS[place] ?? place)
    }
  })

  function isEmpty(value: unknown): boolean {
    return typeof value === 'object' && value !== null && Object.keys(value).length === 0
  }
})

describe('the reason names field, found and allowed values', () => {
  const action = (more: Part) => ({ facades: [{ ...FACADE, actions: { go: { ...ACTION, ...more } } }] })
  const kind = (more: Part) => ({ kinds: [{ ...KIND, ...more }] })
  test.each<[string, Part, string]>([
    ['examples that are not a list', action({ examples: 5 }), 'actions.go.examples: expected array, found 5'],
    [
      'an example that its input rejects',
      action({ examples: [{ to: 5 }] }),
      'full.go: examples.0: to: expected string, found 5',
    ],
    ['old names that are not a list', action({ aliases: 5 }), 'actions.go.aliases: expected array, found 5'],
    ['an empty old name', action({ aliases: [''] }), 'an old name is words, as in old_name'],
    ['an invalid old name', action({ aliases: [null] }), 'actions.go.aliases.0: expected '],
    ['a kind with an invalid status', kind({ status: 5 }), 'kinds.0.status: expected object, found 5'],
    [
      'a kind with an unreachable status',
      kind({ status: { initial: 'x' } }),
      'kinds.0.status.moves: expected object, found nothing',
    ],
    [
      'a kind that is unique by a number',
      kind({ unique: 5, changed_by: 5 }),
      'kinds.0.changed_by: expected string, found 5; kinds.0.unique: expected array, found 5',
    ],
    ['a kind that cannot be changed', kind({ changed_by: 'who' }), 'changed_by: there is no facade who'],
    [
      'a kind that rejects its own example',
      kind({ examples: [{ when: 'now' }] }),
      'the kind thing: examples.0: what: expected string, found nothing',
    ],
    [
      'a kind that JSON cannot represent',
      kind({ fields: z.strictObject({ what: z.date() }) }),
      'the kind thing: fields: ',
    ],
    [
      'an action whose name is none',
      { facades: [{ ...FACADE, actions: { 'Go!': ACTION } }] },
      'facades.0.actions.Go!: a name is lower_case words, found the name "Go!"',
    ],
    ['records inside of a facade', { facades: [{ ...FACADE, kinds: [KIND] }] }, 'facades.0.kinds'],
    ['a name that no facet can have', { name: 'a'.repeat(33) }, 'name: a facet is'],
  ])('the reason is complete for %s', async (_, more, reason) => {
    expect((await take({ default: { ...WHOLE, ...more } })).problem).toContain(reason)
  })

  test.each([...new Set(FACADES.map(({ facet }) => facet))])(
    'a plugin cannot have the name of an existing facet: %s',
    async (name) => {
      const { problem, facades } = await take({ default: { ...WHOLE, name } })
      expect(problem).toContain(`name: ${name} is a built-in facet`)
      expect(facades).toHaveLength(FACADES.length)
    },
  )

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'it threw undefined while it was loaded'],
    ['null', null, 'it threw null while it was loaded'],
    ['a text', 'no licence', 'no licence'],
    ['an error without a message', new Error(), 'it threw Error'],
    ['an object', { code: 7 }, 'it threw { code: 7 } while it was loaded'],
    ['a value without a text form', Object.create(null), 'it threw [Object: null prototype] {}'],
    ['an error with an invalid message', Object.assign(new Error(), { message: 5 }), 'it threw '],
    [
      'a value that throws when read',
      Object.defineProperty(new Error(), 'message', {
        get() {
          throw new Error('ha')
        },
      }),
      'it threw a value that cannot be shown',
    ],
  ])('a plugin that throws %s is reported', async (_, thrown, reason) => {
    const module = {
      default() {
        throw thrown
      },
    }
    expect((await take(module)).problem).toContain(reason)
  })
})

// A manual error in any field is either reported at the start or harmless.
test('an accepted plugin can be described, whatever its fields contain', async () => {
  const anywhere = fc.constantFrom(
    ...PLACES.filter((place) => !/\.(name|facet|pro)$|^name$|^facades$/.test(place)),
  )
  await fc.assert(
    fc.asyncProperty(anywhere, fc.anything({ maxDepth: 2 }), async (place, value) => {
      const manifest = withAt(WHOLE, place.split('.'), value) as { facades: Part[] }
      const { facades, problem } = await take({ default: manifest })
      if (problem !== null) {
        expect(problem).not.toMatch(/not iterable|Cannot |of undefined/)
        return
      }
      const kernel = smallKernel(facades, { facets: ['core', 'full_facet'], pro: true })
      for (const name of ['full', 'full_go']) {
        expect(codeOf(await kernel.call('tool', 'describe', { name }))).not.toBe('internal')
      }
    }),
    { numRuns: 200 },
  )
})
