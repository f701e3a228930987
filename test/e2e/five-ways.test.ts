/**
 * Every action by every way in: MCP as its facade and through `tool_invoke`, HTTP as its route and as
 * `/call`, WebSocket, and the command line. One table over the registry, so a new facade is in it.
 */
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { FACADES } from '../../src/facades/all.ts'
import { createRegistry } from '../../src/kernel/registry.ts'
import { alike, WAYS, type WayAnswer, type Way, type WayCall } from '../support/five-ways.ts'
import { ADA, exampleHub, prepared, SESSION } from '../support/five-ways-setting.ts'
import { type LiveHub } from '../support/live-hub.ts'

const FACETS = [...new Set(FACADES.map(({ facet }) => facet))]
/** The operator may call them, and is refused: it has nothing to register. */
const OF_PERSONAS = new Set(['coordinator register', 'coordinator heartbeat', 'coordinator subscribe'])
const actions = createRegistry(FACADES).actions.map(
  (found) => [`${found.facade.name} ${found.name}`, found] as const,
)

const fresh: LiveHub[] = []
afterEach(async () => {
  for (const hub of fresh.splice(0)) await hub.close()
})

async function freshHub(): Promise<LiveHub> {
  const hub = await exampleHub(FACETS)
  fresh.push(hub)
  return hub
}

/** For what changes nothing, so that everybody finds them as they were. */
const [openToAll, closedToAll] = await Promise.all([exampleHub(FACETS), exampleHub([])])
afterAll(async () => {
  await openToAll.close()
  await closedToAll.close()
})

/** One after the other on one hub; refusals and actions that only look leave it as it was. */
async function everyWay(call: WayCall, hub: LiveHub): Promise<Record<string, WayAnswer>> {
  const answers: Record<string, WayAnswer> = {}
  for (const name of waysOf(call)) answers[name] = await oneWay(name, call, hub)
  return answers
}

/** On a hub of its own each, so that none finds what another left. */
async function everyWayAfresh(call: WayCall): Promise<Record<string, WayAnswer>> {
  const answers: Record<string, WayAnswer> = {}
  for (const name of waysOf(call)) {
    const hub = await freshHub()
    answers[name] = await oneWay(name, { ...call, params: await prepared(hub, call) }, hub)
  }
  return answers
}

const waysOf = ({ kind }: WayCall) =>
  Object.keys(WAYS).filter((name) => name !== 'cli' || kind === 'operator')

async function oneWay(name: string, call: WayCall, hub: LiveHub): Promise<WayAnswer> {
  // An agent that calls over its link is there; let it be there by every way.
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

  test.each(callers)('answers the %s the same to what fits', async (kind) => {
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

  test('refuses in the same words what does not fit', async () => {
    const params = { ...(action.examples?.[0] as object | undefined), no_such_field: 1 }
    const answer = expectAlike(await everyWay({ ...call, params }, openToAll))
    expect(answer).toMatchObject({ problem: { code: 'params_invalid', status: 400 } })
    expect(JSON.stringify(answer)).toContain('no_such_field')
  })

  test('is closed in the same words', async () => {
    if (facade.everywhere === true) return
    const closed = await everyWay({ ...call, params: {} }, closedToAll)
    expect(expectAlike(closed)).toMatchObject({ problem: { code: 'facet_forbidden', status: 403 } })
    if (action.allow.includes('observer')) return
    const code = action.allow.length === 0 ? 'operator_required' : 'kind_forbidden'
    const watched = await everyWay({ ...call, params: {}, kind: 'observer' }, openToAll)
    expect(expectAlike(watched)).toMatchObject({ problem: { code, status: 403 } })
  })
})
