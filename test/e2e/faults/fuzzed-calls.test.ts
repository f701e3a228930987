/** Ten thousand random calls: each returns a result or a problem, and the hub keeps running. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Problem } from '../../../src/contracts/errors/errors.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import { FACADES } from '../../../src/facades/all.ts'
import type { Found } from '../../../src/kernel/define.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { jsonSchema } from '../../../src/kernel/schema.ts'
import { arbitraryOf } from '../../support/arbitrary-of-schema.ts'
import { liveHub, type LiveHub } from '../../support/worlds/live-hub.ts'
import { RECEIVED } from '../../../src/ports/sent-answer.ts'

const CALLS = 10_000
const RAW = 500

let hub: LiveHub
const unhandled: unknown[] = []
const note = (reason: unknown) => void unhandled.push(reason)
beforeAll(async () => {
  process.on('unhandledRejection', note)
  const facets = [...new Set(FACADES.map(({ facet }) => facet))]
  hub = await liveHub({ grants: { facets, pro: true, intents: { LOOK: ['signals'] } } })
  for (const identity of ['ada', 'bob']) await hub.hub.personas.add({ identity, surface: 'mcp' })
})
afterAll(async () => {
  process.off('unhandledRejection', note)
  await hub.close()
})

const callers = (['operator', 'agent', 'observer', 'daemon'] as const).map((kind): Caller => ({
  tenant_id: 'local',
  kind,
  identity: kind === 'operator' ? 'operator' : 'ada',
}))
const garbage = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(undefined, null, [], '', '{', 0, Number.NaN, -0, 1e308, true, new Date(0)),
  fc
    .constantFrom('__proto__', 'constructor', 'toString')
    .map((key) => JSON.parse(`{"${key}": {"a": 1}}`) as unknown),
  fc.string({ unit: 'binary' }),
)

/** Valid parameters, parameters with one invalid field, and invalid ones. */
function paramsFor({ action }: Found): fc.Arbitrary<unknown> {
  const fits = arbitraryOf(jsonSchema(action.input, 'input'))
  const bent = fc
    .tuple(fits, fc.string({ maxLength: 12 }), garbage, fc.nat())
    .map(([params, field, value, at]) => {
      const object = params as Record<string, unknown>
      const names = [...Object.keys(object), field]
      return { ...object, [names[at % names.length] as string]: value }
    })
  return fc.oneof(
    { weight: 3, arbitrary: fits },
    { weight: 3, arbitrary: bent },
    { weight: 1, arbitrary: garbage },
  )
}

/** Created once, because building the generator takes longer than a call. */
const calls = createRegistry(FACADES).actions.map((found) =>
  fc.record({
    facade: fc.oneof(
      { weight: 20, arbitrary: fc.constant(found.facade.name) },
      { weight: 1, arbitrary: fc.string({ maxLength: 200 }) },
    ),
    action: fc.oneof(
      { weight: 20, arbitrary: fc.constant<string | undefined>(found.name) },
      { weight: 1, arbitrary: fc.option(fc.string({ maxLength: 20 }), { nil: undefined }) },
    ),
    params: paramsFor(found),
    caller: fc.constantFrom(...callers),
    context: fc.constantFrom<object | undefined>(
      undefined,
      { agent_id: 'x', run_id: 'r', scope: 'portfolio' },
      { scope: '/no/such' },
    ),
    narrowing: fc.constantFrom<object | undefined>(
      undefined,
      undefined,
      undefined,
      { read_only: true },
      { intents: ['?'] },
    ),
  }),
)

describe('the kernel', () => {
  test(`answers ${CALLS} calls, each with a result or a problem`, async () => {
    let answered = 0
    const codes = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(fc.oneof(...calls), async (one) => {
        const outcome = await hub.hub.kernel.dispatch({ ...one, answer: RECEIVED })
        answered += 1
        const code = outcome.ok ? 'ok' : Problem.parse(outcome.problem).code
        codes.set(code, (codes.get(code) ?? 0) + 1)
        expect(code, outcome.ok ? '' : outcome.problem.detail).not.toBe('internal')
        expect(() => JSON.stringify(outcome)).not.toThrow()
      }),
      { numRuns: CALLS },
    )
    expect(answered).toBeGreaterThanOrEqual(CALLS)
    // All kinds of responses occurred; otherwise the test would repeat one case ten thousand times.
    for (const code of ['ok', 'params_invalid', 'kind_forbidden', 'read_only', 'facade_unknown'])
      expect(codes.get(code) ?? 0, code).toBeGreaterThan(CALLS / 1_000)
    expect(unhandled).toEqual([])
    expect(hub.logged.filter(({ level }) => level === 'error')).toEqual([])
  })
})

describe('the port', () => {
  const routes = [
    '/call',
    '/batch',
    '/api/signals/send',
    '/mcp',
    '/events',
    '/auth/token',
    '/hook/x',
    '/tools',
  ]
  test(`answers ${RAW} bodies that are none`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...routes),
        fc.constantFrom('POST', 'PUT', 'DELETE'),
        fc.constantFrom('application/json', 'text/plain', 'application/x-www-form-urlencoded', ''),
        fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.json({ maxDepth: 3 })),
        async (route, method, type, body) => {
          const response = await fetch(hub.url + route, {
            method,
            body,
            headers: {
              authorization: `Bearer ${hub.token('ada')}`,
              ...(type === '' ? {} : { 'content-type': type }),
            },
          })
          await response.text()
          expect(response.status).toBeLessThan(500)
        },
      ),
      { numRuns: RAW },
    )
    expect(unhandled).toEqual([])
    expect((await hub.http('GET', '/ready')).status).toBe(200)
  })
})
