/** The list of tools: what it shows to whom, and what it costs. */
import { encode } from 'gpt-tokenizer'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { FACADES } from '../../../src/facades/all.ts'
import { defineAction, defineFacade, type Facade } from '../../../src/kernel/define.ts'
import type { Grants } from '../../../src/kernel/policy.ts'
import { projectMcp, type McpView } from '../../../src/kernel/project-mcp.ts'
import { smallKernel } from '../../support/small-kernel.ts'

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

/** Twenty suites that somebody might load, each as large as one of ours. */
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

describe('unasked', () => {
  const mcp = listing(FACADES)

  test('begins with signals_pending, which carries its schema and is always loaded', () => {
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

  test('shows a facade as {action, params}, with its actions as an enum', () => {
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

  test('shows what matters, in a fixed order, within 12 entries and 2,000 tokens', () => {
    const list = mcp.tools({ kind: 'agent' })
    expect(names(list)).toEqual(DEFAULT.filter((name) => names(list).includes(name)))
    expect(list.length).toBeLessThanOrEqual(12)
    expect(tokens(list)).toBeLessThanOrEqual(2_000)
  })

  test.each([['core'], ['journal']])('is the same with twenty plugins of the facet %s', (facet) => {
    const crowded = listing([...FACADES, ...plugins.map((facade) => ({ ...facade, facet }))], {
      facets: ['core', 'journal'],
    })
    expect(crowded.tools({ kind: 'agent' })).toEqual(mcp.tools({ kind: 'agent' }))
  })

  test('shows each kind only what it may call', () => {
    const observed = mcp.tools({ kind: 'observer' }).find(({ name }) => name === 'signals')?.inputSchema[
      'properties'
    ]
    expect((observed as { action: { enum: string[] } }).action.enum).toEqual(['inbox', 'read'])
    expect(mcp.tools({ kind: 'daemon' })).toEqual([])
  })

  test('marks what only reads, and what can take away', () => {
    const annotations = (name: string) =>
      mcp.tools({ kind: 'agent' }).find((tool) => tool.name === name)?.annotations
    expect(annotations('tool_search')).toEqual({ readOnlyHint: true, openWorldHint: false })
    expect(annotations('signals_pending')).toEqual({ destructiveHint: false, openWorldHint: false })
    const [plugin] = listing(plugins, { facets: ['journal'] }).tools({ kind: 'agent' }, { detail: 'full' })
    expect(plugin?.annotations).toEqual({ openWorldHint: false })
  })

  test('is made once, and anew when something else is offered', () => {
    const kernel = smallKernel([...FACADES, ...plugins])
    const changing = projectMcp(kernel)
    const view = { detail: 'full' } as const
    const before = changing.tools({ kind: 'agent' }, view)
    expect(changing.tools({ kind: 'agent' }, view)).toBe(before)
    kernel.offer({ ...kernel.grants(), facets: ['core', 'journal'] })
    expect(changing.tools({ kind: 'agent' }, view)).toHaveLength(before.length + 20)
  })

  test('tells of a change once, and not where nothing changes', () => {
    const kernel = smallKernel(plugins)
    let told = 0
    const stop = kernel.changed(() => (told += 1))
    kernel.offer({ facets: ['core'], pro: false, intents: {} })
    expect(told).toBe(0)
    kernel.offer({ facets: ['core'], pro: true, intents: {} })
    expect(told).toBe(1)
    stop()
    kernel.offer({ facets: [], pro: true, intents: {} })
    expect(told).toBe(1)
  })
})

describe('asked for', () => {
  const every = listing(FACADES, { facets: FACETS, pro: true })
  const both = listing([...FACADES, ...plugins], { facets: ['core', 'journal'] })
  const tools = (view: McpView) => both.tools({ kind: 'agent' }, view)

  test.each([
    ['full', 3_300],
    ['compact', 1_500],
    ['micro', 500],
  ] as const)('%s it costs at most %d tokens, with every facet open', (detail, most) => {
    expect(tokens(every.tools({ kind: 'agent' }, { detail }))).toBeLessThanOrEqual(most)
  })

  test('is the caller’s own: a token that names facets sees no list made for another', () => {
    const whole = names(both.tools({ kind: 'agent' }, { detail: 'full' }))
    const journal = names(both.tools({ kind: 'agent', facets: ['journal'] }, { detail: 'full' }))
    expect(whole).toContain('signals')
    expect(journal).toContain('plugin_19')
    expect(journal).not.toContain('signals')
    expect(names(both.tools({ kind: 'agent' }, { detail: 'full' }))).toEqual(whole)
  })

  test('full and compact name the same tools, in more and in fewer words', () => {
    expect(names(every.tools({ kind: 'agent' }, { detail: 'compact' }))).toEqual(
      names(every.tools({ kind: 'agent' }, { detail: 'full' })),
    )
    expect(names(tools({ detail: 'full' }))).toContain('plugin_19')
  })

  test('micro shows its five facades, with the actions that matter', () => {
    const list = every.tools({ kind: 'agent' }, { detail: 'micro' })
    // The order is that of every list.
    expect(names(list).filter((name) => !MICRO.includes(name))).toEqual([])
    const [plugin] = tools({ detail: 'micro' }).filter(({ name }) => name.startsWith('plugin'))
    expect(plugin?.inputSchema['properties']).toMatchObject({ action: { enum: ['look'] } })
    expect(plugin?.annotations).toMatchObject({ readOnlyHint: true })
  })

  test('one facet is a server of its own, with the way to what it says of itself', () => {
    expect(names(tools({ narrowing: { facets: ['journal'] } }))).toEqual([
      ...['tool_search', 'tool_describe', 'tool_invoke'],
      ...plugins.map(({ name }) => name),
    ])
  })

  test('two facades cost at most 150 tokens, whichever they are', () => {
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

  test('read-only, it shows what changes nothing', () => {
    const list = tools({ detail: 'full', narrowing: { read_only: true } })
    expect(list.find(({ name }) => name === 'plugin_3')?.inputSchema['properties']).toMatchObject({
      action: { enum: ['look'] },
    })
    expect(names(list)).not.toContain('signals_pending')
  })

  test('a facet that is not exposed is refused', () => {
    expect(() => tools({ narrowing: { facets: ['work'] } })).toThrow('open are core, journal')
  })
})
