/** Tests calls made by other calls: they are checked like any other, are limited, and cannot bypass a takeover. */
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { fromProblem, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { defineAction, defineFacade, type CallContext, type KernelView } from '../../../src/kernel/define.ts'
import { AGENT, codeOf, OBSERVER, smallKernel, type SmallKernel } from '../../support/worlds/small-kernel.ts'

let inside: (context: CallContext) => unknown
let taken: number

const common = { input: z.strictObject({}), output: z.any(), errors: [], allow: ['agent'] } as const
const outer = defineFacade({
  ...{ name: 'outer', summary: 'Calls others.', compact: 'Calls others.', facet: 'core' },
  actions: {
    go: defineAction({
      ...{ summary: 'Does what the test says.', mutates: true, ...common },
      allow: ['agent', 'observer'],
      handle: async (_, context) => (await inside(context)) ?? null,
    }),
    pass: defineAction({
      ...{ summary: 'Passes one on.', mutates: true, delegates: true, ...common },
      input: z.strictObject({ name: z.string(), args: z.unknown().optional() }),
      async handle({ name, args }, { kernel }) {
        const outcome = await kernel.invoke(name, args)
        if (outcome.ok) return outcome.result
        throw fromProblem(outcome.problem)
      },
    }),
    again: defineAction({
      ...{ summary: 'Calls itself, twice.', mutates: true, ...common },
      async handle(_, { kernel }) {
        const calls = [1, 2].map(() => ({ facade: 'outer', action: 'again' }))
        return (await kernel.batch(calls)).results.map((one) =>
          'error' in one ? one.error.code : one.result,
        )
      },
    }),
  },
})
const queue = defineFacade({
  ...{ name: 'queue', summary: 'Delivers items.', compact: 'Delivers items.', facet: 'core' },
  actions: {
    take: defineAction({
      ...{ summary: 'Takes.', mutates: true, hands_over: true, ...common },
      input: z.strictObject({ look: z.boolean().default(false), size: z.number().max(5).optional() }),
      harmless: ({ look }) => look,
      handle: ({ look }) => {
        if (!look) taken += 1
        return { taken }
      },
    }),
    read: defineAction({ ...{ summary: 'Reads.', mutates: false, ...common }, handle: () => ({}) }),
    own: defineAction({ ...{ summary: 'Ours.', mutates: true, ...common }, allow: [], handle: () => ({}) }),
  },
})
const closed = defineFacade({ ...queue, name: 'closed', facet: 'work' })

let kernel: SmallKernel
beforeEach(() => {
  taken = 0
  kernel = smallKernel([outer, queue, closed])
})

/** Runs `work` with the kernel that a handler receives. */
async function within<T>(work: (view: KernelView) => T, request = {}): Promise<Awaited<T>> {
  let answer: { value: Awaited<T> } | { error: unknown } | undefined
  inside = async ({ kernel: view }) => {
    try {
      answer = { value: await work(view) }
    } catch (error) {
      answer = { error }
    }
  }
  const outcome = await kernel.call('outer', 'go', {}, request)
  if (answer === undefined) throw new Error(`it was not called: ${codeOf(outcome)}`)
  if ('error' in answer) throw answer.error
  return answer.value
}

const refusalOf = async (work: (view: KernelView) => unknown, request = {}) => {
  const error: unknown = await within(work, request).catch((thrown: unknown) => thrown)
  return error instanceof TurnbellError ? error.code : error
}

describe('a check', () => {
  test('a check returns whether the call could make a change with these parameters', async () => {
    const mutates = (facade: string, action: string, params: object) =>
      within((view) => view.check(facade, action, params).mutates)
    expect(await mutates('queue', 'read', {})).toBe(false)
    expect(await mutates('outer', 'go', {})).toBe(true)
    expect(await mutates('queue', 'take', { look: true })).toBe(false)
    expect(taken).toBe(0)
  })

  test.each([
    ['queue', 'take', { size: 9 }, 'params_invalid'],
    ['queue', 'nothing', {}, 'action_unknown'],
    ['nowhere', 'take', {}, 'facade_unknown'],
    ['closed', 'take', {}, 'facet_forbidden'],
    ['queue', 'own', {}, 'operator_required'],
  ])('a check rejects the same calls: %s %s %j', async (facade, action, params, code) => {
    expect(await refusalOf((view) => view.check(facade, action, params))).toBe(code)
    expect(codeOf(await within((view) => view.call(facade, action, params)))).toBe(code)
  })

  test('a check respects the limits of its surrounding call', async () => {
    const request = { caller: OBSERVER }
    expect(await refusalOf((view) => view.check('queue', 'read', {}), request)).toBe('kind_forbidden')
    const narrow = { narrowing: { facades: ['outer'] } }
    expect(await refusalOf((view) => view.check('queue', 'read', {}), narrow)).toBe('facade_forbidden')
  })
})

describe('a drain inside other calls', () => {
  test('a drain is rejected inside another answer at any depth, without an effect', async () => {
    expect(codeOf(await within((view) => view.call('queue', 'take', {})))).toBe('handover_forbidden')
    expect(await refusalOf((view) => view.check('queue', 'take', {}))).toBe('handover_forbidden')
    const { results } = await within((view) => view.batch([{ facade: 'queue', action: 'take' }]))
    expect(results).toMatchObject([{ error: { code: 'handover_forbidden' } }])
    expect(codeOf(await within((view) => view.call('outer', 'pass', { name: 'queue_take' })))).toBe(
      'handover_forbidden',
    )
    expect(taken).toBe(0)
  })

  test('a drain is permitted if it is the whole answer of the caller', async () => {
    const passed = { name: 'outer_pass', args: { name: 'queue_take' } }
    expect(codeOf(await kernel.call('outer', 'pass', passed))).toBe(null)
    expect(taken).toBe(1)
  })

  test('a drain is rejected for an action that processes its result', async () => {
    expect(codeOf(await within((view) => view.invoke('queue_take', {})))).toBe('handover_forbidden')
    expect(taken).toBe(0)
  })

  test('a peek is permitted anywhere', async () => {
    expect(codeOf(await within((view) => view.call('queue', 'take', { look: true })))).toBe(null)
    expect(taken).toBe(0)
  })
})

describe('concurrent calls of one request', () => {
  test('concurrent calls answer in their order, each with its own error', async () => {
    const { results } = await within((view) =>
      view.batch([
        { facade: 'queue', action: 'take', params: { size: 9 } },
        { facade: 'queue', action: 'read' },
        { facade: 'closed', action: 'read' },
      ]),
    )
    expect(results).toMatchObject([
      { error: { code: 'params_invalid' } },
      { result: {} },
      { error: { code: 'facet_forbidden' } },
    ])
  })

  test('calls that make more calls are limited', async () => {
    const outcome = await kernel.call('outer', 'again')
    const leaves = (answer: unknown): unknown[] => (Array.isArray(answer) ? answer.flatMap(leaves) : [answer])
    const ends = leaves(outcome.ok ? outcome.result : [])
    expect([...new Set(ends)]).toEqual(['limit_reached'])
    expect(ends.length).toBeLessThanOrEqual(2 ** (LIMITS.call_depth_max + 1))
  })

  test('too many calls in one request are rejected, whichever action makes them', async () => {
    // The outermost call counts, too.
    const many = Array.from({ length: LIMITS.request_calls_max + 2 }, () => ({
      facade: 'queue',
      action: 'read',
    }))
    const { results } = await within((view) => view.batch(many))
    expect(results.filter((one) => 'error' in one)).toHaveLength(3)
    expect(results.at(-1)).toMatchObject({ error: { code: 'limit_reached' } })
  })
})

describe('stored events', () => {
  test("stored events are returned newest first, limited to the caller's permissions", async () => {
    await kernel.call('queue', 'read', { strange: 1 })
    await kernel.call('nowhere', 'read')
    await kernel.call('queue', 'own', {}, { caller: { ...AGENT, identity: 'bob' } })
    const told = await within((view) => view.events({ types: ['error'], limit: 10 }))
    expect(told.map(({ data }) => data['error'])).toEqual(['facade_unknown', 'params_invalid'])
    const all = await within((view) => view.events({ types: ['error'], limit: 10 }), { caller: OBSERVER })
    expect(all.map(({ data }) => data['error'])).toEqual([
      'operator_required',
      'facade_unknown',
      'params_invalid',
    ])
  })

  test('stored events are found by words and by a prefix of their type, up to a limit', async () => {
    for (const facade of ['one', 'Two', 'two']) await kernel.call(facade, 'x')
    const found = await within((view) => view.events({ types: ['err', 'error'], text: 'TWO', limit: 9 }))
    expect(found.map(({ data }) => data['facade'])).toEqual(['two', 'Two'])
    expect(await within((view) => view.events({ types: ['e.'], limit: 9 }))).toEqual([])
    expect(await within((view) => view.events({ text: 'two', types: ['error'], limit: 1 }))).toHaveLength(1)
  })
})
