/** Tests finding, describing and calling unlisted actions. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { FACADES } from '../../../src/facades/all.ts'
import { tool } from '../../../src/facades/tool.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { defineAction, defineFacade, type CallContext, type Facade } from '../../../src/kernel/define.ts'
import {
  AGENT,
  codeOf,
  OBSERVER,
  OPERATOR,
  smallKernel,
  type SmallKernel,
} from '../../support/worlds/small-kernel.ts'

const seen: CallContext[] = []
const things = (name: string, more: Partial<Facade> = {}) =>
  defineFacade({
    ...{ name, summary: `Things of ${name}.`, compact: 'Things.', facet: 'core', ...more },
    actions: {
      look: defineAction({
        summary: 'Look at a thing.',
        mutates: false,
        input: z.strictObject({ thing: z.string() }),
        output: z.object({ thing: z.string() }),
        errors: ['target_unknown'],
        allow: ['agent', 'observer'],
        aliases: [`${name}_peer`, { name: `${name}_gaze`, params: ({ at }) => ({ thing: at }) }],
        examples: [{ thing: 'lamp' }],
        handle({ thing }, context) {
          seen.push(context)
          return { thing }
        },
      }),
      smash: defineAction({
        summary: 'Break a thing.',
        mutates: true,
        destructive: true,
        input: z.strictObject({ thing: z.string() }),
        output: z.object({}),
        errors: [],
        allow: ['agent'],
        handle: () => ({}),
      }),
      reign: defineAction({
        summary: 'Rule over things.',
        mutates: true,
        input: z.strictObject({}),
        output: z.object({}),
        errors: [],
        allow: [],
        handle: () => ({}),
      }),
    },
  })

const FIXTURES = [tool, things('open'), things('closed', { facet: 'work' }), things('paid', { pro: true })]
const kernel = smallKernel(FIXTURES)

const answer = async (of: SmallKernel, name: string, params: object, request = {}) => {
  const outcome = await of.call('tool', name, params, request)
  if (!outcome.ok) throw new Error(outcome.problem.detail)
  return outcome.result as Record<string, Json>
}
const found = async (of: SmallKernel, query: string, request = {}) =>
  ((await answer(of, 'search', { query, limit: 50 }, request))['tools'] as { name: string }[]).map(
    ({ name }) => name,
  )

describe('a search', () => {
  const real = smallKernel(FACADES, { facets: [...new Set(FACADES.map(({ facet }) => facet))], pro: true })

  test.each([
    ['send a message to another agent', 'signals_send'],
    ['signals_ack', 'signals_ack'],
    ['signalsAck', 'signals_ack'],
    ['brodcast', 'signals_broadcast'],
    ['personna list', 'personas_list'],
    ['prism_signal', 'signals_send'],
    ['give back unhandled', 'signals_release'],
    ['require_live', 'signals_send'],
    ['lokc', 'coordinator_lock'],
    ['lcok', 'coordinator_lock'],
    ['sned', 'signals_send'],
    ['craete isseu', 'sentinel_create_issue'],
  ])('a search for %j finds %s first', async (query, name) =>
    expect((await found(real, query))[0]).toBe(name),
  )

  test('a search without a match finds nothing', async () => {
    for (const query of ['zzzzqqq', '???', '   ']) expect(await found(real, query)).toEqual([])
  })

  test('a search returns one line per action, up to the requested number', async () => {
    const { tools } = await answer(kernel, 'search', { query: 'look', limit: 1 })
    expect(tools).toEqual([{ name: 'open_look', summary: 'Look at a thing.', mutates: false }])
  })

  test('a search finds only actions that its caller may call', async () => {
    expect((await found(kernel, 'thing')).sort()).toEqual(['open_look', 'open_smash'])
    expect(await found(kernel, 'thing', { caller: OBSERVER })).toEqual(['open_look'])
    expect(await found(kernel, 'thing', { caller: OPERATOR })).toContain('open_reign')
    expect(await found(kernel, 'thing', { narrowing: { read_only: true } })).toEqual(['open_look'])
  })

  test.each([
    { query: '' },
    { query: 'x'.repeat(401) },
    { query: 'a', limit: 0 },
    { query: 'a', limit: 51 },
    {},
  ])('a search rejects %j', async (params) =>
    expect(codeOf(await kernel.call('tool', 'search', params))).toBe('params_invalid'),
  )
})

describe('a description', () => {
  test('a description of an action has its schemas, its examples and its errors with hints', async () => {
    expect(await answer(kernel, 'describe', { name: 'open_look' })).toMatchObject({
      name: 'open_look',
      facade: 'open',
      action: 'look',
      mutates: false,
      input_schema: {
        type: 'object',
        properties: { thing: { type: 'string' } },
        required: ['thing'],
        additionalProperties: false,
      },
      output_schema: { properties: { thing: { type: 'string' } } },
      examples: [{ thing: 'lamp' }],
      errors: [{ code: 'target_unknown', title: 'Unknown persona' }],
    })
  })

  test.each([['openLook'], ['open.look'], ['open_peer']])(
    'a description is also found under %s',
    async (name) => expect(await answer(kernel, 'describe', { name })).toMatchObject({ name: 'open_look' }),
  )

  test('a description of a facade has a line for each action that its caller may call', async () => {
    const described = await answer(kernel, 'describe', { name: 'open' })
    expect(described).toMatchObject({ name: 'open', summary: 'Things of open.', facet: 'core' })
    expect((described['actions'] as { name: string }[]).map(({ name }) => name)).toEqual([
      'open_look',
      'open_smash',
    ])
  })
})

describe('a description of records', () => {
  const real = smallKernel(FACADES)
  const store = (name: string, kind?: string) => answer(real, 'describe', { name, ...(kind && { kind }) })

  test('a description of records names the kinds if an action accepts any', async () => {
    const { kinds } = await store('store_put')
    expect(kinds).toContainEqual({ name: 'friction', summary: 'An obstacle to work.' })
    expect(await store('store')).toMatchObject({ kinds, actions: [{}, {}, {}] })
    expect(await store('signals_send')).not.toHaveProperty('kinds')
  })

  test('a description of records contains the fields of one kind, and how it ends', async () => {
    expect((await store('store_put', 'friction'))['record']).toMatchObject({
      kind: 'friction',
      kept_in: 'project',
      schema: { type: 'object', properties: { text: { type: 'string' }, count: { type: 'integer' } } },
      status: { initial: 'open', moves: { open: ['resolved'] } },
      closing: { to: 'resolved', schema: { properties: { resolution: { type: 'string' } } } },
      examples: [{ tags: ['tests'] }],
    })
  })

  test.each([
    ['store_put', 'frction', 'Did you mean friction?'],
    ['signals_send', 'friction', 'has no kind'],
  ])('a description of records of %s rejects the kind %s', async (name, kind, words) => {
    const outcome = await real.call('tool', 'describe', { name, kind })
    expect(codeOf(outcome)).toBe('kind_unknown')
    expect(JSON.stringify(outcome)).toContain(words)
  })
})

describe('an invocation', () => {
  const invoke = (name: string, args?: unknown, request = {}) =>
    kernel.call('tool', 'invoke', { name, ...(args === undefined ? {} : { args }) }, request)

  test.each([
    ['open_look', { thing: 'lamp' }],
    ['openLook', { thing: 'lamp' }],
    ['open', { action: 'look', params: { thing: 'lamp' } }],
    ['open', { action: 'look', thing: 'lamp' }],
    ['open_look', '{"thing":"lamp"}'],
    ['open', { action: 'look', params: '{"thing":"lamp"}' }],
  ])('an invocation of %s with %j runs the action', async (name, args) =>
    expect(await invoke(name, args)).toEqual({ ok: true, result: { thing: 'lamp' } }),
  )

  test('an invocation by an old name returns the current one', async () => {
    expect(await invoke('open_gaze', { at: 'lamp' })).toEqual({
      ok: true,
      result: { thing: 'lamp' },
      deprecated: { name: 'open_gaze', facade: 'open', action: 'look' },
    })
  })

  test('an invocation records its surrounding call, and has the same caller', async () => {
    seen.length = 0
    await invoke('open_look', { thing: 'lamp' }, { context: { run_id: 'r1', scope: '/p' } })
    expect(seen[0]).toMatchObject({ caller: AGENT, context: { run_id: 'r1', scope: '/p' } })
    expect(seen[0]?.context.parent_call_id).toMatch(/^[0-9A-Z]{26}$/)
  })

  test('an invocation rejects like the action itself', async () => {
    for (const [name, args] of [
      ['open_look', { thing: 7 }],
      ['open_look', undefined],
      ['open_lok', { thing: 'lamp' }],
      ['open_reign', {}],
      ['opne', {}],
    ] as const) {
      const direct = await kernel.call(name, undefined, args)
      const through = await invoke(name, args)
      const { instance: _, ...problem } = direct.ok ? { instance: '' } : direct.problem
      expect(through).toMatchObject({ ok: false, problem })
    }
  })

  test('parameters of an inner call are limited to the same depth as those of an outer one', async () => {
    const within = (depth: number) => {
      const params: unknown = JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)
      return kernel.call('tool', 'invoke', { name: 'tool_search', args: { query: params } })
    }
    const refused = async (depth: number) => JSON.stringify(await within(depth))
    expect(await refused(LIMITS.wire_depth_max)).toContain(`nested more than ${LIMITS.wire_depth_max} deep`)
    expect(await refused(LIMITS.wire_depth_max - 1)).not.toContain('nested more')
  })

  test('nested invocations are limited', async () => {
    const nested = (depth: number): object =>
      depth === 0
        ? { name: 'open_look', args: { thing: 'lamp' } }
        : { name: 'tool_invoke', args: nested(depth - 1) }
    expect(codeOf(await kernel.call('tool', 'invoke', nested(LIMITS.call_depth_max - 1)))).toBeNull()
    expect(codeOf(await kernel.call('tool', 'invoke', nested(LIMITS.call_depth_max)))).toBe('limit_reached')
  })

  test('an invocation in read-only mode cannot make changes', async () => {
    const request = { narrowing: { read_only: true } }
    expect(codeOf(await invoke('open_look', { thing: 'lamp' }, request))).toBeNull()
    expect(codeOf(await invoke('open_smash', { thing: 'lamp' }, request))).toBe('read_only')
  })
})

describe('an action that is not exposed', () => {
  test.each([
    ['closed', {}, 'facet_forbidden'],
    ['paid', {}, 'pro_required'],
    ['open', { facades: ['tool', 'other'] }, 'facade_forbidden'],
    ['open', { intents: ['LOOK'] }, 'facade_forbidden'],
    ['open', { intents: ['DANCE'] }, 'intent_unknown'],
    ['open', { facets: ['work'] }, 'facet_forbidden'],
  ])(
    '%s within %j is rejected in listing, search, description, call and invocation',
    async (name, narrowing, code) => {
      const narrowed = smallKernel(FIXTURES, { intents: { LOOK: ['tool', 'closed'] } })
      const request = { narrowing }
      const direct = `${name}_look`
      const listed = () => narrowed.permitted(AGENT, narrowing).map(({ facade }) => facade.name)
      if (code === 'intent_unknown' || 'facets' in narrowing) expect(listed).toThrow(code)
      else {
        expect(listed()).not.toContain(name)
        expect(await found(narrowed, name, request)).not.toContain(direct)
      }
      expect(codeOf(await narrowed.call(name, 'look', { thing: 'x' }, request))).toBe(code)
      for (const asked of [name, direct])
        expect(codeOf(await narrowed.call('tool', 'describe', { name: asked }, request))).toBe(code)
      const args = { thing: 'x' }
      expect(codeOf(await narrowed.call('tool', 'invoke', { name: direct, args }, request))).toBe(code)
    },
  )

  test('an action becomes available with its facet, and with pro', async () => {
    const wide = smallKernel(FIXTURES, { facets: ['core', 'work'], pro: true })
    for (const name of ['closed', 'paid'])
      expect(codeOf(await wide.call(name, 'look', { thing: 'x' }))).toBeNull()
  })

  test('an action becomes available only to the holder of a token with its facet', async () => {
    const caller = { ...AGENT, facets: ['work'] }
    expect(codeOf(await kernel.call('closed', 'look', { thing: 'x' }, { caller }))).toBeNull()
    expect(codeOf(await kernel.call('open', 'look', { thing: 'x' }, { caller }))).toBe('facet_forbidden')
    expect(await found(kernel, 'look', { caller })).toEqual(['closed_look'])
  })

  test('an action that is not exposed is closed to the operator as well', async () => {
    expect(codeOf(await kernel.call('closed', 'reign', {}, { caller: OPERATOR }))).toBe('facet_forbidden')
  })
})
