/**
 * Calls every action in every way: MCP as its facade and through `tool_invoke`, HTTP as its route and as `/call`,
 * WebSocket, and the command line. The table is derived from the registry, so it includes new facades.
 */
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { FACADES } from '../../src/facades/all.ts'
import { createRegistry } from '../../src/kernel/registry.ts'
import { alike, WAYS, type WayAnswer, type Way, type WayCall } from '../support/worlds/five-ways.ts'
import { ADA, exampleHub, prepared, SESSION } from '../support/worlds/five-ways-setting.ts'
import { type LiveHub } from '../support/worlds/live-hub.ts'

const FACETS = [...new Set(FACADES.map(({ facet }) => facet))]
/** The operator may call these, but is rejected without a registration. */
const OF_PERSONAS = new Set(['coordinator register', 'coordinator heartbeat', 'coordinator subscribe'])
const actions = createRegistry(FACADES).actions.map(
  (found) => [`${found.facade.name} ${found.name}`, found] as const,
)

const fresh: LiveHub[] = []
afterEach(async () => {
  for (const hub of fresh.splice(0)) await hub.close()
})

async function freshHub(facade: string): Promise<LiveHub> {
  const hub = await exampleHub(FACETS, facade === 'activity')
  fresh.push(hub)
  return hub
}

/** For read-only actions, so that all of them find the same state. */
const [openToAll, closedToAll] = await Promise.all([exampleHub(FACETS, true), exampleHub([])])
afterAll(async () => {
  await openToAll.close()
  await closedToAll.close()
})

/** Calls in sequence on one hub; errors and read-only actions leave it unchanged. */
async function everyWay(call: WayCall, hub: LiveHub): Promise<Record<string, WayAnswer>> {
  const answers: Record<string, WayAnswer> = {}
  for (const name of waysOf(call)) answers[name] = await oneWay(name, call, hub)
  return answers
}

/** Uses a separate hub for each way, so that none finds the changes of another. */
async function everyWayAfresh(call: WayCall): Promise<Record<string, WayAnswer>> {
  const answers: Record<string, WayAnswer> = {}
  for (const name of waysOf(call)) {
    const hub = await freshHub(call.facade)
    answers[name] = await oneWay(name, { ...call, params: await prepared(hub, call) }, hub)
  }
  return answers
}

const waysOf = ({ kind }: WayCall) =>
  Object.keys(WAYS).filter((name) => name !== 'cli' || kind === 'operator')

async function oneWay(name: string, call: WayCall, hub: LiveHub): Promise<WayAnswer> {
  // An agent that calls over its link is registered, so it is registered for every way.
  if (call.kind === 'agent' && name !== 'websocket') await hub.join(ADA, 'agent', { session_id: SESSION })
  return await (WAYS[name] as Way)(hub, call)
}

function expectAlike(answers: Record<string, WayAnswer>): WayAnswer {
  const [[, first] = [], ...others] = Object.entries(answers)
  for (const [name, answer] of others) expect({ [name]: alike(answer) }).toEqual({ [name]: alike(first) })
  return first as WayAnswer
}

describe.each(actions)('%s', (_, { facade, name, action }) => {
  const call = { facade: facade.name, action: name, kind: 'operator' as const }

  const callers = (['operator', 'agent'] as const).filter(
    (kind) => kind === 'operator' || action.allow.includes(kind),
  )

  test.each(callers)('valid params get the same answer by %s', async (kind) => {
    const fits = { ...call, params: action.examples?.[0] ?? {}, kind }
    const answer = expectAlike(
      action.mutates
        ? await everyWayAfresh(fits)
        : await everyWay({ ...fits, params: await prepared(openToAll, fits) }, openToAll),
    )
    if (kind === 'operator' && OF_PERSONAS.has(`${facade.name} ${name}`)) {
      expect(answer).toMatchObject({ problem: { code: 'kind_forbidden' } })
    } else expect(answer).toHaveProperty('result')
  })

  test('invalid params get the same problem on every way', async () => {
    const params = { ...(action.examples?.[0] as object | undefined), no_such_field: 1 }
    const answer = expectAlike(await everyWay({ ...call, params }, openToAll))
    expect(answer).toMatchObject({ problem: { code: 'params_invalid', status: 400 } })
    expect(JSON.stringify(answer)).toContain('no_such_field')
  })

  test('a closed facade gets the same problem on every way', async () => {
    if (facade.everywhere === true) return
    // The operator may call these everywhere.
    if (facade.for_watchers !== true) {
      const closed = await everyWay({ ...call, params: {} }, closedToAll)
      expect(expectAlike(closed)).toMatchObject({ problem: { code: 'facet_forbidden', status: 403 } })
    }
    if (action.allow.includes('observer')) return
    const code = action.allow.length === 0 ? 'operator_required' : 'kind_forbidden'
    const watched = await everyWay({ ...call, params: {}, kind: 'observer' }, openToAll)
    expect(expectAlike(watched)).toMatchObject({ problem: { code, status: 403 } })
  })
})
