/** Compares access to each action through each endpoint with the rule of `who-may.ts`, cell by cell. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { FACADES } from '../../../src/facades/all.ts'
import { projectHttp } from '../../../src/kernel/projections/project-http.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import type { Facade } from '../../../src/kernel/define.ts'
import type { HubFrame } from '../../../src/contracts/frames.ts'
import {
  accessByRule,
  accessOf,
  inParallel,
  invalidTokens,
  validHolders,
  type Holder,
} from '../../support/worlds/isolation.ts'
import { liveHub, type Client, type LiveHub } from '../../support/worlds/live-hub.ts'
import { ACTIONS, type Effect } from '../../support/worlds/who-may.ts'

/** Handlers are replaced, because only access is under test. Actions that delegate still run their calls. */
const REACHED: readonly Facade[] = FACADES.map((facade) => ({
  ...facade,
  actions: Object.fromEntries(
    Object.entries(facade.actions).map(([name, action]) => [
      name,
      action.delegates === true ? action : { ...action, input: z.any(), output: z.any(), handle: () => ({}) },
    ]),
  ),
}))
const FACETS = [...new Set(FACADES.map(({ facet }) => facet))]
const registry = createRegistry(FACADES)
const ROUTES = projectHttp(registry)

interface Cell {
  facade: string
  action: string
  effect: Effect
}
const CLASSED: readonly Cell[] = Object.entries(ACTIONS).flatMap(([facade, effects]) =>
  Object.entries(effects).flatMap(([effect, names]) =>
    names.split(' ').map((action): Cell => ({ facade, action, effect: effect as Effect })),
  ),
)
const ALIASES = CLASSED.flatMap((cell) =>
  (registry.resolve(cell.facade, cell.action).action.aliases ?? []).map((alias) => ({
    ...cell,
    alias: typeof alias === 'string' ? alias : alias.name,
  })),
)

/** Maximum number of calls in a batch. */
const PART = 50

let hub: LiveHub
let cells = 0
const wrong: string[] = []

/** Records a cell that differs from the rule. */
function judge(what: string, found: unknown, expected: string): void {
  cells += 1
  const access = accessOf(found)
  if (access !== expected) wrong.push(`${what}: ${access}, by the rule ${expected}`)
}

beforeAll(async () => {
  hub = await liveHub({ facades: REACHED, grants: { facets: FACETS, pro: true, intents: {} } })
})
afterAll(async () => {
  await hub.close()
  process.stdout.write(`isolation of actions: ${cells} cells\n`)
})

const headersOf = ({ read_only }: Holder): Record<string, string> =>
  read_only === true ? { 'x-read-only': 'true' } : {}

async function post(path: string, holder: Holder, body: object): Promise<Record<string, unknown>> {
  const { token } = holder
  const response = await hub.http('POST', path, { token, body, headers: headersOf(holder) })
  return (await response.json()) as Record<string, unknown>
}

interface ToolCall {
  name: string
  arguments: object
}

/**
 * Returns the error code of each call, or another result. The calls are sent as a batch, which older protocol versions
 * support.
 */
async function callTools(holder: Holder, calls: readonly ToolCall[]): Promise<unknown[]> {
  const meta = holder.read_only === true ? { _meta: { read_only: true } } : {}
  const body = calls.map((call, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { ...call, ...meta },
  }))
  const response = await hub.http('POST', '/mcp', { token: holder.token, body })
  const answers = (await response.json()) as {
    id: number
    result?: { structuredContent?: { code?: unknown } }
  }[]
  return calls.map((_, id) => answers.find((answer) => answer.id === id)?.result?.structuredContent?.code)
}

const TOOLS: Readonly<Record<string, (cell: Cell) => ToolCall>> = {
  'a tool of its facade': ({ facade, action }) => ({ name: facade, arguments: { action, params: {} } }),
  'its own name': ({ facade, action }) => ({ name: `${facade}_${action}`, arguments: {} }),
  tool_invoke: ({ facade, action }) => ({
    name: 'tool_invoke',
    arguments: { name: `${facade}_${action}`, args: {} },
  }),
}

test('every action is classified, and no unknown one is listed', () => {
  const declared = registry.actions.map(({ facade, name }) => `${facade.name} ${name}`)
  expect(CLASSED.map(({ facade, action }) => `${facade} ${action}`).toSorted()).toEqual(declared.toSorted())
})

describe('access to an action', () => {
  test('access to an action over each HTTP path follows the rule', async () => {
    const effects = new Map(CLASSED.map(({ facade, action, effect }) => [`${facade} ${action}`, effect]))
    await inParallel(validHolders(hub), async (holder) => {
      for (const { facade, action, method, url } of ROUTES) {
        const body = method === 'POST' ? { body: {} } : {}
        const response = await hub.http(method, url, {
          token: holder.token,
          headers: headersOf(holder),
          ...body,
        })
        const { code } = (await response.json()) as { code?: string }
        const effect = effects.get(`${facade} ${action}`) ?? 'administers'
        judge(`${holder.name}, ${method} ${url}`, code, accessByRule(holder, effect, facade))
      }
    })
    expect(wrong.splice(0)).toEqual([])
  })

  test('access by facade and action follows the rule', async () => {
    await inParallel(validHolders(hub), async (holder) => {
      for (const { facade, action, effect } of CLASSED) {
        const { code } = await post('/call', holder, { tool: facade, action })
        judge(`${holder.name}, call ${facade} ${action}`, code, accessByRule(holder, effect, facade))
      }
    })
    expect(wrong.splice(0)).toEqual([])
  })

  test.each(Object.entries(TOOLS))('access over MCP by %s follows the rule', async (door, callOf) => {
    for (const holder of validHolders(hub)) {
      // An error of the delegating call is returned for the inner call.
      const outer = door === 'tool_invoke' ? accessByRule(holder, 'delegates', 'tool') : 'reached'
      for (let from = 0; from < CLASSED.length; from += PART) {
        const part = CLASSED.slice(from, from + PART)
        const codes = await callTools(holder, part.map(callOf))
        for (const [at, { facade, action, effect }] of part.entries()) {
          const expected = outer === 'reached' ? accessByRule(holder, effect, facade) : outer
          judge(`${holder.name}, ${door}: ${facade} ${action}`, codes[at], expected)
        }
      }
    }
    expect(wrong.splice(0)).toEqual([])
  })

  test.each(['/batch', '/api/workflow/batch'])('access by %s follows the rule', async (path) => {
    for (const holder of validHolders(hub)) {
      const outer = path === '/batch' ? 'reached' : accessByRule(holder, 'delegates', 'workflow')
      for (let from = 0; from < CLASSED.length; from += PART) {
        const part = CLASSED.slice(from, from + PART)
        const calls = part.map(({ facade, action }) => ({ facade, action, params: {} }))
        const { code, results } = (await post(path, holder, { calls })) as {
          code?: string
          results?: { error?: { code: string } }[]
        }
        for (const [at, { facade, action, effect }] of part.entries()) {
          const expected = outer === 'reached' ? accessByRule(holder, effect, facade) : outer
          judge(`${holder.name}, ${path} ${facade} ${action}`, results?.[at]?.error?.code ?? code, expected)
        }
      }
    }
    expect(wrong.splice(0)).toEqual([])
  })

  test('access by a call frame follows the rule', async () => {
    for (const holder of validHolders(hub)) {
      const client = await joined(holder)
      for (const { facade, action, effect } of CLASSED) {
        const narrowing = holder.read_only === true ? { narrowing: { read_only: true } } : {}
        const answer = await client.ask<HubFrame>({ type: 'call', facade, action, params: {}, ...narrowing })
        const code = answer.type === 'error' ? answer.code : null
        judge(`${holder.name}, frame ${facade} ${action}`, code, accessByRule(holder, effect, facade))
      }
      client.socket.terminate()
      await client.closed
    }
    expect(wrong.splice(0)).toEqual([])
  })

  test('access by old names follows the rule', async () => {
    await inParallel(validHolders(hub), async (holder) => {
      for (const { alias, facade, effect } of ALIASES) {
        const { code } = await post('/call', holder, { tool: alias, params: {} })
        judge(`${holder.name}, ${alias}`, code, accessByRule(holder, effect, facade))
      }
    })
    expect(wrong.splice(0)).toEqual([])
  })

  test('an action is not reached with an invalid token', async () => {
    await inParallel(invalidTokens(hub), async ([name, token, expected]) => {
      const holder: Holder = { name, token, kind: 'agent' }
      // Without a token, also with an empty body.
      for (const { method, url } of ROUTES.filter((route) => token === null || route.method === 'POST')) {
        const response = await hub.http(method, url, { token, ...(method === 'POST' ? { body: {} } : {}) })
        const { code } = (await response.json()) as { code?: string }
        judge(`${name}, ${method} ${url}`, response.status === 401 ? code : 'let in', expected)
      }
      for (const { alias } of ALIASES)
        judge(
          `${name}, ${alias}`,
          (await post('/call', holder, { tool: alias, params: {} }))['code'],
          expected,
        )
    })
    expect(wrong.splice(0)).toEqual([])
  })
})

test('an agent whose session has ended is still the agent of its persona', async () => {
  const token = hub.token('ada', 'agent', 'ada-over')
  expect((await hub.http('POST', '/session/end', { token, body: {} })).status).toBe(200)
  const holder: Holder = { name: 'an agent after its session', kind: 'agent', token }
  for (const { facade, action, effect } of CLASSED) {
    const { code } = await post('/call', holder, { tool: facade, action })
    judge(`${holder.name}, ${facade} ${action}`, code, accessByRule(holder, effect, facade))
  }
  expect(wrong.splice(0)).toEqual([])
})

test('a tool list contains exactly the actions that its reader may call', async () => {
  for (const holder of validHolders(hub)) {
    const meta = holder.read_only === true ? { read_only: true } : {}
    const answer = await post(
      '/mcp?detail=full',
      { ...holder, read_only: false },
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: { _meta: meta },
      },
    )
    const { tools } = answer['result'] as { tools: ListedTool[] }
    const listed = new Set(
      tools.flatMap(({ name, inputSchema }) => {
        const actions = inputSchema.properties?.action?.enum
        return actions === undefined ? [name] : actions.map((action) => `${name}_${action}`)
      }),
    )
    for (const { facade, action, effect } of CLASSED) {
      const is_listed = listed.delete(`${facade}_${action}`)
      cells += 1
      if (is_listed !== (accessByRule(holder, effect, facade) === 'reached'))
        wrong.push(`${holder.name}: ${facade} ${action} is ${is_listed ? '' : 'not '}listed`)
    }
    expect([...listed], holder.name).toEqual([])
  }
  expect(wrong.splice(0)).toEqual([])
})

interface ListedTool {
  name: string
  inputSchema: { properties?: { action?: { enum?: string[] } } }
}

async function joined({ kind, token }: Holder): Promise<Client> {
  const client = await hub.dial({ token })
  // The operator connects as an observer without a persona, and calls as the operator.
  const as = kind === 'operator' ? { kind: 'observer', identity: 'operator' } : { kind, identity: 'ada' }
  client.send({ type: 'hello', protocol: 1, ...as })
  await client.next('welcome')
  return client
}
