/**
 * Every action by every way in: MCP as its facade and through `tool_invoke`, HTTP as its route and as
 * `/call`, WebSocket, and the command line. One table over the registry, so a new facade is in it.
 */
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { FACADES } from '../../src/facades/all.ts'
import { createRegistry } from '../../src/kernel/registry.ts'
import { ADA, alike, SESSION, WAYS, type WayAnswer, type WayCall } from '../support/five-ways.ts'
import { liveHub, type LiveHub } from '../support/live-hub.ts'

const FACETS = [...new Set(FACADES.map(({ facet }) => facet))]
const actions = createRegistry(FACADES).actions.map(
  (found) => [`${found.facade.name} ${found.name}`, found] as const,
)

const fresh: LiveHub[] = []
afterEach(async () => {
  for (const hub of fresh.splice(0)) await hub.close()
})

async function hubOf(facets: readonly string[]): Promise<LiveHub> {
  const hub = await liveHub({ grants: { facets, pro: true, intents: {} } })
  for (const identity of [ADA, 'bob']) await hub.hub.personas.add({ identity, surface: 'mcp' })
  return hub
}

async function freshHub(): Promise<LiveHub> {
  const hub = await hubOf(FACETS)
  fresh.push(hub)
  return hub
}

/** For what changes nothing, so that everybody finds them as they were. */
const [openToAll, closedToAll] = await Promise.all([hubOf(FACETS), hubOf([])])
afterAll(async () => {
  await openToAll.close()
  await closedToAll.close()
})

/** Without a hub to share on a fresh one each, so that none finds what another left. */
async function everyWay(call: WayCall, shared?: LiveHub): Promise<Record<string, WayAnswer>> {
  const answers: Record<string, WayAnswer> = {}
  for (const [name, way] of Object.entries(WAYS)) {
    if (name === 'cli' && call.kind !== 'operator') continue
    const hub = shared ?? (await freshHub())
    // An agent that calls over its link is there; let it be there by every way.
    if (call.kind === 'agent' && name !== 'websocket') await hub.join(ADA, 'agent', { session_id: SESSION })
    answers[name] = await way(hub, call)
  }
  return answers
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
    const params = action.examples?.[0] ?? {}
    const answer = expectAlike(
      await everyWay({ ...call, params, kind }, action.mutates ? undefined : openToAll),
    )
    // What an example names may not be there; but it always fits.
    const code = 'problem' in answer ? answer.problem['code'] : null
    expect([null, ...action.errors], JSON.stringify(answer)).toContain(code)
    expect(code).not.toBe('internal')
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
