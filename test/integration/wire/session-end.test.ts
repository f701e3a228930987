/** Tests `POST /session/end`: an agent without a link ends its session explicitly. */
import { afterEach, describe, expect, test } from 'vitest'
import { bridgedClient } from '../../support/worlds/bridge-client.ts'
import { relayTo } from '../../support/fakes/breaking-relay.ts'
import { eventually } from '../../support/eventually.ts'
import { liveHub, OPERATOR_TOKEN, type LiveHub } from '../../support/worlds/live-hub.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import type { Drains } from '../../../src/bridge/drains.ts'
import { settleAndEndSession } from '../../../src/bridge/shutdown.ts'

let hub: LiveHub
afterEach(() => hub.close())

const add = (identity: string) => hub.call('personas', 'add', { identity, surface: 'mcp' })
const lock = (resource: string, token: string) => hub.call('coordinator', 'lock', { resource }, token)
const end = (token: string | null, body: object = {}): Promise<Response> =>
  hub.http('POST', '/session/end', { token, body })
const lockedNow = async () => {
  const { locks } = await hub.call<{ locks: { resource: string }[] }>('coordinator', 'status')
  return locks.map(({ resource }) => resource).sort()
}
const agentsNow = async () => {
  const { agents } = await hub.call<{ agents: { identity: string }[] }>('coordinator', 'status')
  return agents.map(({ identity }) => identity)
}
const send = (payload: string) => hub.call('signals', 'send', { to: 'ada', intent: 'note', payload })
const drain = (token: string) =>
  hub.call<{ drain_id: string; signals: { payload: string }[] }>('signals', 'pending', {}, token)

test('ending a session releases its leases and its registration, and no other session', async () => {
  hub = await liveHub()
  await add('ada')
  const [first, second] = [hub.token('ada', 'agent', 's-1'), hub.token('ada', 'agent', 's-2')]
  const bob = hub.token('bob', 'agent', 's-1')
  await hub.call('coordinator', 'register', {}, first)
  await lock('a', first)
  await lock('b', second)
  await lock('c', bob)
  expect((await end(first)).status).toBe(200)
  expect(await lockedNow()).toEqual(['b', 'c'])
  expect(await agentsNow()).not.toContain('ada')
})

test('ending a session is answered when all leases are released, however many', async () => {
  hub = await liveHub()
  const token = hub.token('ada', 'agent', 's-1')
  await hub.call('coordinator', 'register', {}, token)
  for (let nth = 0; nth < 20; nth++) await lock(`a/${nth}`, token)
  expect((await end(token)).status).toBe(200)
  expect(await lockedNow()).toEqual([])
})

describe('a store that takes no writes', () => {
  const broken = () => {
    const records = createMemoryRecordStore()
    let breaks = false
    const put: RecordStore['put'] = (...record) => {
      if (breaks) throw new TurnbellError('store_unavailable', { detail: 'The disk is full.' })
      return records.put(...record)
    }
    return { records: { ...records, put }, breakNow: () => void (breaks = true) }
  }

  test.each([true, false])(
    'ending a session with a failing store is reported to the caller (registered: %s)',
    async (registered) => {
      const { records, breakNow } = broken()
      hub = await liveHub({ stores: { records } })
      const token = hub.token('ada', 'agent', 's-1')
      if (registered) await hub.call('coordinator', 'register', {}, token)
      await lock('a', token)
      breakNow()
      const answer = await end(token)
      expect([answer.status, await answer.json()]).toMatchObject([503, { code: 'store_unavailable' }])
    },
  )
})

test('a stopping hub finishes a running end of session', async () => {
  const records = createMemoryRecordStore()
  let begin = () => {}
  let go = () => {}
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const gone = new Promise<void>((resolve) => (go = resolve))
  const put: RecordStore['put'] = async (...record) => {
    if (JSON.stringify(record).includes('"released"')) {
      begin()
      await gone
    }
    return records.put(...record)
  }
  hub = await liveHub({ stores: { records: { ...records, put } } })
  const token = hub.token('ada', 'agent', 's-1')
  await hub.call('coordinator', 'register', {}, token)
  await lock('a', token)
  const ending = end(token).catch(() => null)
  await begun
  let closed = false
  const closing = hub.hub.close().then(() => (closed = true))
  await hub.clock.advance(0)
  expect(closed).toBe(false)
  go()
  await closing
  await ending
})

test('ending an unregistered session releases its leases, and can be repeated', async () => {
  hub = await liveHub()
  const token = hub.token('ada', 'agent', 's-1')
  await lock('a', token)
  for (let time = 0; time < 3; time++) expect((await end(token)).status).toBe(200)
  expect(await lockedNow()).toEqual([])
  const { events } = hub.stores.events.read({ type: 'lease.released', limit: 9 })
  expect(events).toMatchObject([{ data: { resource: 'a', cause: 'session_lost' } }])
})

test('ending a session releases its unconfirmed drains', async () => {
  hub = await liveHub()
  await add('ada')
  const token = hub.token('ada', 'agent', 's-1')
  await send('read')
  const { drain_id } = await drain(token)
  await hub.call('signals', 'pending', { peek: true, confirm: drain_id }, token)
  await send('never read')
  await drain(token)
  await end(token)
  const again = await drain(hub.token('ada', 'agent', 's-2'))
  expect(again.signals.map(({ payload }) => payload)).toEqual(['never read'])
})

test('ending a session has no effect while a link or a daemon represents it', async () => {
  hub = await liveHub()
  const token = hub.token('ada', 'agent', 's-1')
  const link = await hub.join('ada', 'agent', { session_id: 's-1', surface: 'mcp' })
  await lock('a', token)
  expect((await end(token)).status).toBe(200)
  expect(await lockedNow()).toEqual(['a'])
  link.socket.close()
  await eventually('the link ends it', async () => (await lockedNow()).length === 0)
})

test.each<[string, () => string | null, number, string]>([
  ['no token', () => null, 401, 'token_missing'],
  ['the operator', () => OPERATOR_TOKEN, 403, 'kind_forbidden'],
  ['a daemon', () => hub.token('ada', 'daemon', 's-1'), 403, 'kind_forbidden'],
  ['an observer', () => hub.token('ada', 'observer', 's-1'), 403, 'kind_forbidden'],
  ['an agent without a session', () => hub.token('ada'), 400, 'request_invalid'],
])('%s ends no session', async (_, tokenOf, status, code) => {
  hub = await liveHub()
  await lock('a', hub.token('ada', 'agent', 's-1'))
  const answer = await end(tokenOf())
  expect(answer.status).toBe(status)
  expect(await answer.json()).toMatchObject({ code })
  expect(await lockedNow()).toEqual(['a'])
})

test.each([{ session_id: 's-1' }, { identity: 'ada' }])(
  'a request to end a session cannot name another session: %j',
  async (body) => {
    hub = await liveHub()
    await lock('a', hub.token('ada', 'agent', 's-1'))
    const answer = await end(hub.token('bob', 'agent', 's-2'), body)
    expect(await answer.json()).toMatchObject({ code: 'request_invalid' })
    expect(await lockedNow()).toEqual(['a'])
  },
)

test('a registration by calls without an end expires after a lease, with its locks', async () => {
  hub = await liveHub()
  const token = hub.token('ada', 'agent', 's-1')
  await hub.call('coordinator', 'register', {}, token)
  await hub.call('coordinator', 'lock', { resource: 'a', ttl_s: LIMITS.lock_ttl_s_max }, token)
  await hub.clock.advance(LIMITS.lease_ms - LIMITS.sweep_interval_ms)
  expect(await lockedNow()).toEqual(['a'])
  await hub.clock.advance(3 * LIMITS.sweep_interval_ms)
  await eventually('it is free', async () => (await lockedNow()).length === 0)
  expect(await agentsNow()).toEqual([])
})

test('a bridge ends the session when its client leaves, after its pending confirmations', async () => {
  hub = await liveHub()
  await add('ada')
  const client = await bridgedClient({
    era: 'past',
    upstream: { identity: 'ada', locate: () => hub.url, operatorToken: () => OPERATOR_TOKEN },
    bridge: { drainWritten: () => {} },
  })
  await send('one')
  const lockIt = { action: 'lock', params: { resource: 'a' } }
  await client.call('coordinator', lockIt)
  const { structuredContent } = await client.call('signals_pending')
  client.bridge.drains.confirm(structuredContent!['drain_id'] as string)
  await settleAndEndSession(client.bridge, client.upstream, hub.clock)
  expect(await lockedNow()).toEqual([])
  expect((await drain(hub.token('ada', 'agent', 's-2'))).signals).toEqual([])
  await client.close()
})

test('a call in transit arrives before the end of session', async () => {
  hub = await liveHub()
  let arrive = () => {}
  let held = () => {}
  const isHeld = new Promise<void>((resolve) => (held = resolve))
  const relay = await relayTo(
    hub.url,
    (_, pass) => pass(),
    (body, pass) => {
      if (!body.includes('"action":"lock"')) return pass()
      arrive = pass
      held()
    },
  )
  const client = await bridgedClient({
    era: 'present',
    upstream: { identity: 'ada', locate: () => relay.url, operatorToken: () => OPERATOR_TOKEN },
  })
  await client.call('tool_search', { query: 'lock' })
  const locking = client.call('coordinator', { action: 'lock', params: { resource: 'a' } }).catch(() => null)
  await isHeld
  await client.close()
  const said = settleAndEndSession(client.bridge, client.upstream, hub.clock)
  arrive()
  await said
  await locking
  expect(await lockedNow()).toEqual([])
  const { events } = hub.stores.events.read({ type: 'lease.released', limit: 9 })
  expect(events).toHaveLength(1)
  await relay.close()
})

test('an unanswered call does not prevent the end of session', async () => {
  const clock = fakeClock()
  const said: string[] = []
  const never = new Promise<void>(() => {})
  const bridge = {
    calls: { settled: () => never },
    drains: { settled: () => Promise.resolve() } as unknown as Drains,
  }
  const goodbye = settleAndEndSession(bridge, { endSession: async () => void said.push('end') }, clock)
  await clock.advance(LIMITS.bridge_last_calls_ms - 1)
  expect(said).toEqual([])
  await clock.advance(1)
  await goodbye
  expect(said).toEqual(['end'])
})

test('a bridge that never reached a hub sends no end of session', async () => {
  hub = await liveHub()
  let url = 'http://127.0.0.1:9'
  const client = await bridgedClient({
    era: 'present',
    upstream: { identity: 'ada', locate: () => url, operatorToken: () => OPERATOR_TOKEN },
  })
  await lock('a', hub.token('ada', 'agent', 'session-1'))
  url = hub.url
  await settleAndEndSession(client.bridge, client.upstream, hub.clock)
  expect(await lockedNow()).toEqual(['a'])
  await client.call('signals_pending')
  await settleAndEndSession(client.bridge, client.upstream, hub.clock)
  expect(await lockedNow()).toEqual([])
  await client.close()
})

test('a bridge whose hub is gone exits all the same', async () => {
  hub = await liveHub()
  const relay = await relayTo(hub.url, (_, pass) => pass())
  const client = await bridgedClient({
    era: 'present',
    upstream: { identity: 'ada', locate: () => relay.url, operatorToken: () => OPERATOR_TOKEN },
  })
  await client.call('signals_pending')
  await relay.close()
  await expect(client.upstream.endSession()).rejects.toThrow()
  await expect(settleAndEndSession(client.bridge, client.upstream, hub.clock)).resolves.toBeUndefined()
  await client.close()
})
