/** Tests calls whose response is lost between hub and bridge, under every name of the action. */
import { expect, test } from 'vitest'
import { bridgedClient, payloads } from '../../support/worlds/bridge-client.ts'
import { breakingRelay } from '../../support/fakes/breaking-relay.ts'
import { closedAfterwards } from '../../support/closed-afterwards.ts'
import { send, startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

const open = closedAfterwards()

async function startHub(): Promise<SmallHub> {
  const hub = await startSmallHub()
  open.push(hub)
  await hub.personas.add({ identity: 'ada', surface: 'mcp' })
  return hub
}

async function connect(hub: SmallHub, breaks: (body: string, nth: number) => boolean) {
  const relay = await breakingRelay(hub.url, breaks)
  open.push(relay)
  const client = await bridgedClient({
    era: 'present',
    upstream: { identity: 'ada', locate: () => relay.url, operatorToken: () => hub.operator },
  })
  open.push(client)
  return { ...client, broken: () => relay.broken() }
}

const DRAINS: [string, Record<string, unknown>][] = [
  ['signals_pending', {}],
  ['signals', { action: 'pending' }],
  ['signals', { action: 'pending', params: { limit: 3 } }],
  ['tool_invoke', { name: 'signals_pending' }],
  ['tool_invoke', { name: 'signals', args: { action: 'pending' } }],
  ['tool', { action: 'invoke', params: { name: 'signals.pending' } }],
  ['prism_signals_pending', {}],
]

test.each(DRAINS)('a drain with a lost answer by %s %j is repeated', async (name, args) => {
  const hub = await startHub()
  await send(hub, 'one')
  const client = await connect(hub, (body, nth) => body.includes('pending') && nth === 1)
  expect(payloads(await client.call(name, args))).toEqual(['one'])
  expect(client.broken()).toBe(1)
})

test.each(DRAINS)(
  'a drain by %s %j whose answer is lost twice is part of the next drain',
  async (name, args) => {
    const hub = await startHub()
    await send(hub, 'one')
    const client = await connect(hub, (body, nth) => body.includes('pending') && nth <= 2)
    expect((await client.call(name, args)).structuredContent).toMatchObject({ code: 'hub_unreachable' })
    expect(payloads(await client.call(name, args))).toEqual(['one'])
  },
)

test.each(DRAINS)('a drain by %s %j waits for the previous one', async (name, args) => {
  const hub = await startHub()
  await send(hub, 'one')
  const client = await connect(hub, (body, nth) => body.includes('pending') && nth === 1)
  const answers = await Promise.all([client.call('signals_pending'), client.call(name, args)])
  expect(answers.map(payloads)).toEqual([['one'], []])
})

test('a drain with a lost answer fails with the reason after signals were closed to its caller', async () => {
  const hub = await startSmallHub({ grants: { facets: ['work'], pro: false, intents: {} } })
  open.push(hub)
  const client = await connect(hub, (body, nth) => body.includes('signals_pending') && nth === 1)
  for (let time = 0; time < 2; time++) {
    const { structuredContent } = await client.call('signals_pending')
    expect(structuredContent).toMatchObject({ code: 'facet_forbidden' })
  }
  expect(client.broken()).toBe(1)
})

test('a batch does not drain, because its answer may be lost', async () => {
  const hub = await startHub()
  await send(hub, 'one')
  const client = await connect(hub, (body, nth) => body.includes('batch') && nth === 1)
  const batch = { calls: [{ facade: 'signals', action: 'pending' }] }
  await client.call('workflow', { action: 'batch', params: batch })
  expect(client.broken()).toBe(1)
  expect(payloads(await client.call('signals_pending'))).toEqual(['one'])
})

test.each<[string, Record<string, unknown>]>([
  ['signals', { action: 'inbox' }],
  ['signals', { action: 'pending', params: { peek: true } }],
  ['tool_invoke', { name: 'signals_pending', args: { peek: true } }],
  ['signals', { action: 'ack', params: { signal_ids: ['01JZ0000000000000000000000'] } }],
])('a repeatable call with a lost answer is repeated: %s %j', async (name, args) => {
  const hub = await startHub()
  const client = await connect(hub, (body, nth) => body.includes(`"name":"${name}"`) && nth === 1)
  expect((await client.call(name, args)).isError).toBeUndefined()
  expect(client.broken()).toBe(1)
})

const READS: [string, Record<string, unknown>][] = [
  ['coordinator', { action: 'status' }],
  ['coordinator', { action: 'status', params: { limit: 3 } }],
  ['tool_invoke', { name: 'coordinator_status' }],
  ['tool_invoke', { name: 'coordinator', args: { action: 'blocked' } }],
  ['tool', { action: 'invoke', params: { name: 'coordinator.status' } }],
  ['tool_search', { query: 'who blocks whom' }],
]
/** Matches only the call itself, not the request for its description. */
const itself = (name: string) => (body: string) => body.includes(`"name":"${name}","arguments"`)

test.each(READS)('a reading call with a lost answer is repeated: %s %j', async (name, args) => {
  const hub = await startHub()
  const client = await connect(hub, (body, nth) => itself(name)(body) && nth === 1)
  const answer = await client.call(name, args)
  expect(client.broken()).toBe(1)
  expect(answer.structuredContent?.['code']).not.toBe('hub_unreachable')
})

test('a reading call is repeated only once', async () => {
  const hub = await startHub()
  const client = await connect(hub, itself('coordinator'))
  const answer = await client.call('coordinator', { action: 'status' })
  expect(answer.structuredContent).toMatchObject({ code: 'hub_unreachable' })
  expect(client.broken()).toBe(2)
})

test.each<[string, Record<string, unknown>]>([
  ['coordinator', { action: 'lock', params: { resource: 'a' } }],
  ['coordinator', { action: 'unlock', params: { resource: 'a' } }],
  ['tool_invoke', { name: 'coordinator_lock', args: { resource: 'a' } }],
  ['coordinator', { action: 'no_such_action' }],
  ['coordinator', {}],
  ['no_such_tool', {}],
])('a changing or unknown call with a lost answer is not repeated: %s %j', async (name, args) => {
  const hub = await startHub()
  const client = await connect(hub, itself(name))
  const answer = await client.call(name, args)
  expect(answer.structuredContent).toMatchObject({ code: 'hub_unreachable' })
  expect(answer.structuredContent?.['hint']).toContain('may or may not have been carried out')
  expect(client.broken()).toBe(1)
})

test('a repeatable call without an answer is not reported as undone', async () => {
  const hub = await startHub()
  const client = await connect(hub, itself('signals'))
  const send = { to: 'ada', intent: 'test', idempotency_key: 'once' }
  const params = { name: 'signals', arguments: { action: 'send', params: send } }
  const asked = client.upstream.request('tools/call', params, { repeatable: true, wait_ms: 0 })
  await expect(asked).rejects.toMatchObject({
    code: 'hub_unreachable',
    hint: expect.stringContaining('may or may not have been carried out') as string,
  })
  expect(hub.lines.filter(({ action }) => action === 'send')).toHaveLength(1)
})

test.each(['release', 'replay'])(
  '%s is not repeated, because another client may have drained in between',
  async (action) => {
    const hub = await startHub()
    const signal_id = await send(hub, 'one')
    const client = await connect(hub, (body, nth) => body.includes(`"${action}"`) && nth === 1)
    const answer = await client.call('signals', { action, params: { signal_ids: [signal_id] } })
    expect(answer.structuredContent).toMatchObject({ code: 'hub_unreachable' })
    expect(hub.lines.filter((line) => line.action === action)).toHaveLength(1)
  },
)
