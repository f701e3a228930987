/**
 * Tests that bob's signals, locks and sessions are inaccessible to strangers: each action is called with his names and
 * ids.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import { jsonSchema } from '../../../src/kernel/schema.ts'
import type { Action } from '../../../src/kernel/define.ts'
import { inParallel } from '../../support/worlds/isolation.ts'
import { liveHub, type LiveHub } from '../../support/worlds/live-hub.ts'

const SECRET = 'bobs-secret-words'
const FACETS = [...new Set(FACADES.map(({ facet }) => facet))]
const ACTIONS = FACADES.flatMap(({ name, actions }) =>
  Object.entries(actions).map(([action, declared]): [string, string, Action] => [name, action, declared]),
)

let hub: LiveHub
let cells = 0
let strangers: [name: string, token: string][]
/** Values of parameters that refer to bob. */
let of_bob: Readonly<Record<string, unknown>>
let signal_ids: string[]

beforeAll(async () => {
  hub = await liveHub({ grants: { facets: FACETS, pro: true, intents: {} } })
  for (const identity of ['bob', 'carol', 'mallory'])
    await hub.call('personas', 'add', { identity, surface: 'mcp', project: '/projects/shared' })
  const bob = hub.token('bob', 'agent', 'bob-1')
  const carol = hub.token('carol', 'agent', 'carol-1')
  const send = async (more: object = {}) => {
    const signal = { to: 'bob', intent: 'x', topic: SECRET, payload: SECRET, reply_to: 'carol', ...more }
    return (await hub.call<{ signal_id: string }>('signals', 'send', signal, carol)).signal_id
  }
  const done = await send()
  const leased = await send()
  const { drain_id } = await hub.call<{ drain_id: string }>('signals', 'pending', {}, bob)
  await hub.call('signals', 'ack', { signal_ids: [done], result: SECRET }, bob)
  const waiting = await send()
  const for_session = await send({ to_session: 'bob-1', require_live: false }).catch(() => waiting)
  await hub.call('coordinator', 'lock', { resource: 'deploy' }, bob)
  await hub.call('coordinator', 'block', { identity: 'carol', reason: 'wait' }, bob)
  await hub.call('coordinator', 'subscribe', { topic: 'ci' }, bob)
  signal_ids = [...new Set([done, leased, waiting, for_session])]
  of_bob = {
    signal_ids,
    confirm: drain_id,
    leased_to: 'bob-1',
    session_id: 'bob-1',
    to_session: 'bob-1',
    identity: 'bob',
    to: 'bob',
    from: 'bob',
    agent_id: 'bob',
    blocker: 'bob',
    reply_to: 'bob',
    by: 'bob',
    resource: 'deploy',
    topic: 'ci',
    epoch: 1,
    force: true,
    steal_own: true,
    text: SECRET.slice(0, 4),
  }
  strangers = [
    ['another agent', hub.token('mallory', 'agent', 'mallory-1')],
    ['another agent in a session of this name', hub.token('mallory', 'agent', 'bob-1')],
    ["another agent's observer", hub.token('mallory', 'observer')],
    ["bob's daemon", hub.token('bob', 'daemon')],
  ]
})
afterAll(async () => {
  await hub.close()
  process.stdout.write(`isolation of queues: ${cells} cells\n`)
})

/** Parameters that name another persona as well. */
const ALSO: Readonly<Record<string, readonly object[]>> = {
  'coordinator unblock': [{ identity: 'carol' }, { identity: 'carol', blocker: 'bob' }],
  'signals inbox': [
    { from: 'carol' },
    { to: 'bob', leased_to: 'bob-1', status: ['pending', 'acked', 'completed'] },
  ],
}

/**
 * Returns the action's first example and an empty call, with all of bob's values, with each alone, and for each of his
 * signals.
 */
function aboutBob({ input, examples = [] }: Action): object[] {
  const fields = Object.keys((jsonSchema(input, 'input') as { properties?: object }).properties ?? {})
  const his = fields.filter((field) => field in of_bob).map((field) => ({ [field]: of_bob[field] }))
  const one_each = fields.includes('signal_id') ? signal_ids.map((signal_id) => ({ signal_id })) : []
  return [{}, ...examples.slice(0, 1)].flatMap((example) => {
    const given = example as object
    return [
      given,
      Object.assign({}, given, ...his) as object,
      ...[...his, ...one_each].map((field) => ({ ...given, ...field })),
    ]
  })
}

/** Returns bob's state in the operator's view. */
async function stateOfBob(): Promise<unknown> {
  const signals = await Promise.all(signal_ids.map((signal_id) => hub.call('signals', 'read', { signal_id })))
  const { agents, locks } = await hub.call('coordinator', 'status', {})
  const his = (rows: unknown) => (rows as { identity: string }[]).filter(({ identity }) => identity === 'bob')
  const blocked = await hub.call('coordinator', 'blocked', { identity: 'carol' })
  const heard = await hub.call('coordinator', 'subscriptions', { identity: 'bob' })
  return { signals, agents: his(agents).length, locks: his(locks), blocked, heard }
}

test('no action shows or changes the queue of another persona', async () => {
  const before = await stateOfBob()
  const told: string[] = []
  await inParallel(strangers, async ([name, token]) => {
    for (const [facade, action, declared] of ACTIONS) {
      for (const params of [...aboutBob(declared), ...(ALSO[`${facade} ${action}`] ?? [])]) {
        const text = await (
          await hub.http('POST', `/api/${facade}/${action}`, { token, body: params })
        ).text()
        cells += 1
        if (text.includes(SECRET)) told.push(`${name}: ${facade} ${action} ${JSON.stringify(params)} ${text}`)
      }
    }
  })
  expect(told).toEqual([])
  expect(await stateOfBob()).toEqual(before)
})

test("no caller can send in another persona's name", async () => {
  const { signals } = await hub.call<{ signals: { from: string; origin: string }[] }>('signals', 'inbox', {
    limit: 100,
  })
  expect(signals.filter(({ from, origin }) => from === 'bob' && origin !== 'agent')).toEqual([])
  const said = signals.map(({ from }) => from)
  // Bob's own reply to carol is the only one.
  expect(said.filter((from) => from === 'bob')).toHaveLength(1)
  expect(said.filter((from) => from === 'mallory').length).toBeGreaterThan(0)
})

test.each([
  ['events of a page', '/events?since=0&limit=1000'],
  ['events about him', '/events?since=0&limit=1000&agent_id=bob'],
  ['metrics', '/metrics'],
  ['tools', '/tools'],
])('%s show strangers no data of the queue', async (_, url) => {
  for (const [name, token] of strangers) {
    cells += 1
    const text = await (await hub.http('GET', url, { token })).text()
    expect(text.includes(SECRET), name).toBe(false)
  }
})
