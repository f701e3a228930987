/** Tests the path of every call: the order of its checks, and the events that it emits. */
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import {
  defineAction,
  defineFacade,
  type CallContext,
  type DispatchOutcome,
} from '../../../src/kernel/define.ts'
import { createKernel, type DispatchLine, type Kernel } from '../../../src/kernel/dispatch.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { HubEvent } from '../../../src/contracts/events.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import type { Modules } from '../../../src/modules/modules.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { playedAnswer } from '../../support/fakes/fake-answers.ts'
import { RECEIVED } from '../../../src/ports/sent-answer.ts'

const ADA: Caller = { tenant_id: 'local', kind: 'agent', identity: 'ada', session_id: 's1' }
const OPERATOR: Caller = { tenant_id: 'local', kind: 'operator', identity: 'operator' }
let handled: { input: unknown; context: CallContext }[]
let events: HubEvent[]
let lines: DispatchLine[]
let logged: { fields: object; message: string }[]
let seen: Caller[]
let kernel: Kernel
let now: number
const modules = { signals: { name: 'the signals module' } } as unknown as Modules

const thing = defineFacade({
  name: 'thing',
  summary: 'Things.',
  compact: 'Things.',
  facet: 'core',
  actions: {
    make: defineAction({
      summary: 'Makes.',
      mutates: true,
      aliases: [{ name: 'thing_create', params: ({ title, ...rest }) => ({ ...rest, name: title }) }],
      input: z.strictObject({ name: z.string().max(5), size: z.number().default(1) }),
      output: z.object({ name: z.string(), size: z.number() }),
      errors: [],
      allow: ['agent'],
      handle: (input, context) => {
        handled.push({ input, context })
        now += 12
        return input
      },
    }),
    close: defineAction({
      summary: 'Only for the operator.',
      mutates: true,
      input: z.strictObject({}),
      output: z.object({}),
      errors: [],
      allow: [],
      handle: () => ({}),
    }),
    look: defineAction({
      summary: 'Looks.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({}),
      errors: [],
      allow: ['agent'],
      handle: () => ({}),
    }),
    refuse: defineAction({
      summary: 'Refuses.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({}),
      errors: ['target_unknown'],
      allow: ['agent'],
      handle: () => {
        throw new TurnbellError('target_unknown', { detail: 'No bob.', hint: 'Ask ada.' })
      },
    }),
    breakdown: defineAction({
      summary: 'Breaks.',
      mutates: false,
      input: z.strictObject({ how: z.enum(['throw', 'reject', 'lie', 'string']) }),
      output: z.object({ truth: z.literal(true) }),
      errors: [],
      allow: ['agent'],
      handle: ({ how }) => {
        if (how === 'throw') throw new Error('the secret is 42')
        if (how === 'reject') return Promise.reject(new TypeError('the secret is 42'))
        // oxlint-disable-next-line typescript/only-throw-error -- the case under test
        if (how === 'string') throw 'the secret is 42'
        return { truth: false } as unknown as { truth: true }
      },
    }),
  },
})

beforeEach(() => {
  ;[handled, events, lines, logged, seen, now] = [[], [], [], [], [], 1_000_000]
  const clock = { now: () => now, monotonic: () => now, soon: (call) => void setImmediate(call) } as Clock
  const log = createMemoryEventLog(clock)
  log.watch((event) => events.push(event))
  let id = 0
  kernel = createKernel({
    facades: [thing],
    modules,
    events: log,
    clock,
    ids: { next: () => `ID${++id}`, startAfter: () => {} },
    log: {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (fields, message) => void logged.push({ fields, message }),
    },
    line: (line) => lines.push(line),
    seen: (caller) => seen.push(caller),
  })
})

const call = (facade: string, action?: string, params?: unknown, caller = ADA): Promise<DispatchOutcome> =>
  kernel.dispatch({ facade, action, params, caller, answer: RECEIVED })
const code = (outcome: DispatchOutcome) => (outcome.ok ? null : outcome.problem.code)

describe('a valid call', () => {
  test('a valid call reaches the handler with its defaults, its modules, its caller and its context', async () => {
    const answer = playedAnswer('broken')
    const outcome = await kernel.dispatch({
      facade: 'thing',
      action: 'make',
      params: { name: 'a' },
      caller: ADA,
      context: { agent_id: 'main', run_id: 'r1', scope: 'portfolio' },
      answer,
    })
    expect(outcome).toEqual({ ok: true, result: { name: 'a', size: 1 } })
    expect(handled).toHaveLength(1)
    expect(handled[0]?.input).toEqual({ name: 'a', size: 1 })
    expect(handled[0]?.context).toEqual({
      modules,
      caller: ADA,
      context: { agent_id: 'main', run_id: 'r1', parent_call_id: null, scope: 'portfolio' },
      kernel: expect.objectContaining({ call: expect.any(Function) as unknown }) as unknown,
      answer,
    })
  })

  test('a valid call without a context is anonymous and belongs to no run', async () => {
    await call('thing', 'make', { name: 'a' })
    expect(handled[0]?.context.context).toEqual({
      agent_id: 'anonymous',
      run_id: null,
      parent_call_id: null,
      scope: null,
    })
  })

  test('a valid call under an old name may use its old parameters', async () => {
    expect(await call('thing_create', undefined, { title: 'b' })).toEqual({
      ok: true,
      result: { name: 'b', size: 1 },
      deprecated: { name: 'thing_create', facade: 'thing', action: 'make' },
    })
    expect(code(await call('thing_create', undefined, { name: 'b' }))).toBe('params_invalid')
    expect(code(await call('thing_create', undefined, 'b'))).toBe('params_invalid')
  })

  test('a valid call is a sign of life of its caller', async () => {
    await call('thing', 'make', { name: 'a' })
    await call('thing', 'nothing')
    expect(seen).toEqual([ADA, ADA])
  })
})

describe('a call is refused', () => {
  test.each([
    ['an unknown facade', 'thong', 'make', {}, 'facade_unknown'],
    ['an unknown action', 'thing', 'mak', {}, 'action_unknown'],
    ['a missing parameter', 'thing', 'make', {}, 'params_invalid'],
    ['no parameters at all', 'thing', 'make', undefined, 'params_invalid'],
    ['null for parameters', 'thing', 'make', null, 'params_invalid'],
    ['a list for parameters', 'thing', 'make', [], 'params_invalid'],
    ['a parameter of another type', 'thing', 'make', { name: 1 }, 'params_invalid'],
    ['a parameter out of bounds', 'thing', 'make', { name: 'abcdef' }, 'params_invalid'],
    ['an excess parameter', 'thing', 'make', { name: 'a', nmae: 'b' }, 'params_invalid'],
    ['a forbidden kind', 'thing', 'close', {}, 'operator_required'],
    ['a reason of the handler', 'thing', 'refuse', {}, 'target_unknown'],
  ])('a call is rejected for %s', async (_, facade, action, params, expected) => {
    expect(code(await call(facade, action, params))).toBe(expected)
    expect(handled).toEqual([])
  })

  test('a call is rejected for its caller before its parameters, so that strangers learn nothing', async () => {
    expect(code(await call('thing', 'make', { wrong: 1 }, { ...ADA, kind: 'daemon' }))).toBe('kind_forbidden')
    expect(code(await call('thing', 'close', { wrong: 1 }))).toBe('operator_required')
    expect(code(await call('thing', 'close', {}, OPERATOR))).toBeNull()
  })

  test('a call is rejected outside of the facades that it was narrowed to', async () => {
    const narrowed = (facades: string[]) =>
      kernel.dispatch({
        facade: 'thing',
        action: 'make',
        params: { name: 'a' },
        caller: OPERATOR,
        answer: RECEIVED,
        narrowing: { facades },
      })
    expect(code(await narrowed(['thing']))).toBeNull()
    expect(code(await narrowed(['other']))).toBe('facade_forbidden')
    expect(code(await narrowed([]))).toBe('facade_forbidden')
  })

  test('a rejection contains the hint of its source', async () => {
    const outcome = await call('thing', 'refuse', {})
    expect(outcome).toMatchObject({
      ok: false,
      problem: {
        status: 404,
        detail: 'No bob.',
        hint: 'Ask ada.',
        retry: 'never',
        instance: 'urn:turnbell:instance:ID2',
      },
    })
  })
})

describe('a bug', () => {
  test.each(['throw', 'reject', 'lie', 'string'])(
    'a bug (%s) is an internal error without details for the caller',
    async (how) => {
      const outcome = await call('thing', 'breakdown', { how })
      expect(code(outcome)).toBe('internal')
      expect(JSON.stringify(outcome)).not.toContain('42')
      expect(logged).toHaveLength(1)
      expect(logged[0]?.fields).toMatchObject({
        instance: 'ID2',
        facade: 'thing',
        action: 'breakdown',
        identity: 'ada',
      })
    },
  )
})

describe('published events of calls', () => {
  test('a valid call publishes dispatch, then result', async () => {
    await call('thing_make', undefined, { name: 'a' })
    expect(events.map(({ type, agent_id, data }) => ({ type, agent_id, data }))).toEqual([
      {
        type: 'dispatch',
        agent_id: 'ada',
        data: {
          facade: 'thing',
          action: 'make',
          agent_id: 'anonymous',
          run_id: null,
          timestamp: '1970-01-01T00:16:40.000Z',
        },
      },
      {
        type: 'result',
        agent_id: 'ada',
        data: {
          facade: 'thing',
          action: 'make',
          agent_id: 'anonymous',
          run_id: null,
          duration_ms: 12,
          success: true,
        },
      },
    ])
  })

  test('a reading call of a person is not in the event stream unless it fails, and is in the log', async () => {
    const operator: Caller = { tenant_id: 'local', kind: 'operator', identity: 'operator' }
    const asked = { facade: 'thing', params: {}, caller: operator, answer: RECEIVED }
    await kernel.dispatch({ ...asked, action: 'look' })
    expect(events).toEqual([])
    expect(lines).toMatchObject([{ action: 'look', success: true }])
    await kernel.dispatch({ ...asked, action: 'refuse' })
    expect(events.map(({ type }) => type)).toEqual(['error', 'result'])
    await kernel.dispatch({ ...asked, action: 'close' })
    await kernel.dispatch({ ...asked, action: 'look', context: { run_id: 'r1' } })
    await call('thing', 'look', {})
    const kept = events.slice(2).map(({ type, data }) => `${type} ${JSON.stringify(data['action'])}`)
    expect(kept).toEqual(
      ['close', 'look', 'look'].flatMap((name) => [`dispatch "${name}"`, `result "${name}"`]),
    )
  })

  test('a rejected call publishes dispatch, error, result', async () => {
    await call('thing', 'refuse', {})
    expect(events.map(({ type }) => type)).toEqual(['dispatch', 'error', 'result'])
    expect(events[1]?.data).toEqual({
      facade: 'thing',
      action: 'refuse',
      agent_id: 'anonymous',
      run_id: null,
      error: 'target_unknown',
    })
  })

  test('a call of an unknown name publishes the name as requested', async () => {
    await call('thong', 'make')
    expect(events.map(({ type }) => type)).toEqual(['error', 'result'])
    expect(events[0]?.data).toMatchObject({ facade: 'thong', action: 'make', error: 'facade_unknown' })
  })

  test('a call of a very long name publishes its beginning', async () => {
    await call('x'.repeat(1_000_000), 'y'.repeat(1_000_000))
    expect(JSON.stringify([events, lines]).length).toBeLessThan(2_000)
  })

  test('the log file has one line for every call, with its real caller', async () => {
    await kernel.dispatch({
      facade: 'thing',
      action: 'make',
      params: { name: 'a' },
      caller: ADA,
      context: { agent_id: 'bob' },
      answer: RECEIVED,
    })
    await call('thing', 'refuse', {})
    expect(lines).toEqual([
      {
        timestamp: '1970-01-01T00:16:40.012Z',
        call_id: 'ID1',
        facade: 'thing',
        action: 'make',
        identity: 'ada',
        kind: 'agent',
        agent_id: 'bob',
        run_id: null,
        parent_call_id: null,
        scope: null,
        duration_ms: 12,
        success: true,
      },
      expect.objectContaining({ success: false, error: 'target_unknown', instance: 'ID3' }),
    ])
  })

  test('no event or log line contains the contents of a call', async () => {
    await call('thing', 'make', { name: 'psst' })
    await call('thing', 'make', { name: 'psssst' })
    expect(JSON.stringify([events, lines])).not.toContain('pss')
  })
})
