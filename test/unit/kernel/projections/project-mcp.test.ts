/** Tests the list of tools: its contents for each caller, and its size. */
import { encode } from 'gpt-tokenizer'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { FACADES } from '../../../../src/facades/all.ts'
import { defineAction, defineFacade, type Facade } from '../../../../src/kernel/define.ts'
import type { Grants } from '../../../../src/kernel/policy.ts'
import { projectMcp, type McpView } from '../../../../src/kernel/projections/project-mcp.ts'
import { smallKernel } from '../../../support/worlds/small-kernel.ts'

const DEFAULT = [
  'signals_pending',
  'signals',
  'context',
  'blackboard',
  'decisions',
  'workflow',
  'store',
  'routine',
  'git',
  'tool_search',
  'tool_describe',
  'tool_invoke',
]
const MICRO = ['workflow', 'sentinel', 'git', 'context', 'coordinator']
const FACETS = [...new Set(FACADES.map(({ facet }) => facet))]

const tokens = (value: unknown) => encode(JSON.stringify(value)).length
const listing = (facades: readonly Facade[], grants: Partial<Grants> = {}) =>
  projectMcp(smallKernel(facades, grants))
const names = (list: readonly { name: string }[]) => list.map(({ name }) => name)

/** Twenty plugins, each as large as a built-in facade. */
const plugins: Facade[] = Array.from({ length: 20 }, (_, n) =>
  defineFacade({
    name: `plugin_${n}`,
    summary: 'A plugin facade.',
    compact: 'A plugin.',
    facet: 'journal',
    ...(n === 0 ? { micro: ['look'] } : {}),
    actions: {
      look: defineAction({
        summary: 'Looks.',
        mutates: false,
        input: z.strictObject({}),
        output: z.object({}),
        errors: [],
        allow: ['agent', 'observer'],
        handle: () => ({}),
      }),
      drop: defineAction({
        summary: 'Drops.',
        mutates: true,
        destructive: true,
        input: z.strictObject({}),
        output: z.object({}),
        errors: [],
        allow: ['agent'],
        handle: () => ({}),
      }),
    },
  }),
)

describe('the default tool list', () => {
  const mcp = listing(FACADES)

  test('the default list begins with signals_pending, which includes its schema and is always loaded', () => {
    expect(mcp.tools({ kind: 'agent' })[0]).toMatchObject({
      name: 'signals_pending',
      _meta: { 'anthropic/alwaysLoad': true },
      inputSchema: {
        type: 'object',
        properties: {
          limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
          peek: { type: 'boolean', default: false },
          max_tokens: { type: 'integer' },
          confirm: { type: 'string' },
        },
        additionalProperties: false,
      },
    })
  })

  test('the default list shows a facade as {action, params}, with its actions as an enum', () => {
    const signals = mcp.tools({ kind: 'agent' }).find(({ name }) => name === 'signals')
    expect(signals?.inputSchema).toEqual({
      type: 'object',
      properties: {
        action: {
          type: 'string',
          enum: ['send', 'broadcast', 'inbox', 'ack', 'release', 'cancel', 'replay', 'read'],
        },
        params: { type: 'object', additionalProperties: true },
      },
      required: ['action'],
    })
    for (const action of ['send', 'ack', 'read']) expect(signals?.description).toContain(`- ${action}: `)
  })

  test('the default list shows the main tools in a fixed order, within 12 entries and 2,000 tokens', () => {
    const list = mcp.tools({ kind: 'agent' })
    expect(names(list)).toEqual(DEFAULT.filter((name) => names(list).includes(name)))
    expect(list.length).toBeLessThanOrEqual(12)
    expect(tokens(list)).toBeLessThanOrEqual(2_000)
  })

  test.each([['core'], ['journal']])(
    'the default list is the same with twenty plugins of the facet %s',
    (facet) => {
      const crowded = listing([...FACADES, ...plugins.map((facade) => ({ ...facade, facet }))], {
        facets: ['core', 'journal'],
      })
      expect(crowded.tools({ kind: 'agent' })).toEqual(mcp.tools({ kind: 'agent' }))
    },
  )

  test('the default list shows each kind only the actions that it may call', () => {
    const observed = mcp.tools({ kind: 'observer' }).find(({ name }) => name === 'signals')?.inputSchema[
      'properties'
    ]
    expect((observed as { action: { enum: string[] } }).action.enum).toEqual(['inbox', 'read'])
    expect(mcp.tools({ kind: 'daemon' })).toEqual([])
  })

  test('the default list marks read-only and destructive tools', () => {
    const annotations = (name: string) =>
      mcp.tools({ kind: 'agent' }).find((tool) => tool.name === name)?.annotations
    expect(annotations('tool_search')).toEqual({ readOnlyHint: true, openWorldHint: false })
    expect(annotations('signals_pending')).toEqual({ destructiveHint: false, openWorldHint: false })
    const [plugin] = listing(plugins, { facets: ['journal'] }).tools({ kind: 'agent' }, { detail: 'full' })
    expect(plugin?.annotations).toEqual({ openWorldHint: false })
  })

  test('the default list is cached until the exposed facades change', () => {
    const kernel = smallKernel([...FACADES, ...plugins])
    const changing = projectMcp(kernel)
    const view = { detail: 'full' } as const
    const before = changing.tools({ kind: 'agent' }, view)
    expect(changing.tools({ kind: 'agent' }, view)).toBe(before)
    kernel.setGrants({ ...kernel.grants(), facets: ['core', 'journal'] })
    expect(changing.tools({ kind: 'agent' }, view)).toHaveLength(before.length + 20)
  })

  test('the default list announces a change once, and none without a change', () => {
    const kernel = smallKernel(plugins)
    let told = 0
    const stop = kernel.changed(() => (told += 1))
    kernel.setGrants({ facets: ['core'], pro: false, intents: {} })
    expect(told).toBe(0)
    kernel.setGrants({ facets: ['core'], pro: true, intents: {} })
    expect(told).toBe(1)
    stop()
    kernel.setGrants({ facets: [], pro: true, intents: {} })
    expect(told).toBe(1)
  })
})

describe('a requested tool list', () => {
  const every = listing(FACADES, { facets: FACETS, pro: true })
  const both = listing([...FACADES, ...plugins], { facets: ['core', 'journal'] })
  const tools = (view: McpView) => both.tools({ kind: 'agent' }, view)

  test.each([
    ['full', 3_300],
    ['compact', 1_500],
    ['micro', 500],
  ] as const)('a list %s costs at most %d tokens, with every facet exposed', (detail, most) => {
    expect(tokens(every.tools({ kind: 'agent' }, { detail }))).toBeLessThanOrEqual(most)
  })

  test('a list for a token with facets is not shared with other callers', () => {
    const whole = names(both.tools({ kind: 'agent' }, { detail: 'full' }))
    const journal = names(both.tools({ kind: 'agent', facets: ['journal'] }, { detail: 'full' }))
    expect(whole).toContain('signals')
    expect(journal).toContain('plugin_19')
    expect(journal).not.toContain('signals')
    expect(names(both.tools({ kind: 'agent' }, { detail: 'full' }))).toEqual(whole)
  })

  test('the lists full and compact contain the same tools with more and fewer words', () => {
    expect(names(every.tools({ kind: 'agent' }, { detail: 'compact' }))).toEqual(
      names(every.tools({ kind: 'agent' }, { detail: 'full' })),
    )
    expect(names(tools({ detail: 'full' }))).toContain('plugin_19')
  })

  test('the list micro has its five facades, with the main actions', () => {
    const list = every.tools({ kind: 'agent' }, { detail: 'micro' })
    // All lists have the same order.
    expect(names(list).filter((name) => !MICRO.includes(name))).toEqual([])
    const [plugin] = tools({ detail: 'micro' }).filter(({ name }) => name.startsWith('plugin'))
    expect(plugin?.inputSchema['properties']).toMatchObject({ action: { enum: ['look'] } })
    expect(plugin?.annotations).toMatchObject({ readOnlyHint: true })
  })

  test('the list of one facet is a server of its own, with a reference to its description', () => {
    expect(names(tools({ narrowing: { facets: ['journal'] } }))).toEqual([
      ...['tool_search', 'tool_describe', 'tool_invoke'],
      ...plugins.map(({ name }) => name),
    ])
  })

  test('any two facades cost at most 150 tokens', () => {
    for (const [one, other] of FACADES.flatMap((first, at) =>
      FACADES.slice(at + 1).map((second) => [first, second] as const),
    )) {
      const narrowing = { facades: [one.name, other.name] }
      for (const view of [{ narrowing }, { narrowing, detail: 'compact' as const }]) {
        const list = every.tools({ kind: 'agent' }, view)
        expect(list.length).toBeLessThanOrEqual(2)
        expect(tokens(list), `${one.name}, ${other.name}`).toBeLessThanOrEqual(150)
      }
    }
  })

  test('a read-only list has the read-only actions', () => {
    const list = tools({ detail: 'full', narrowing: { read_only: true } })
    expect(list.find(({ name }) => name === 'plugin_3')?.inputSchema['properties']).toMatchObject({
      action: { enum: ['look'] },
    })
    expect(names(list)).not.toContain('signals_pending')
  })

  test('a list of a facet that is not exposed is rejected', () => {
    expect(() => tools({ narrowing: { facets: ['work'] } })).toThrow('available facets: core, journal')
  })
})
