/** Tests the coordinator through every transport of a whole hub, on a clock that the test moves. */
import { encode } from 'gpt-tokenizer'
import { afterEach, describe, expect, test } from 'vitest'
import type { CoordinatorStatus } from '../../../src/contracts/coordination.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { projectMcp } from '../../../src/kernel/projections/project-mcp.ts'
import { eventually } from '../../support/eventually.ts'
import { liveHub, type LiveHub } from '../../support/worlds/live-hub.ts'
import { smallKernel } from '../../support/worlds/small-kernel.ts'

let hub: LiveHub
afterEach(() => hub?.close())

/** Calls an action of the coordinator over HTTP as the agent of a persona. */
const as =
  (identity: string, session_id?: string) =>
  <T = Record<string, unknown>>(action: string, params: object = {}) =>
    hub.call<T>('coordinator', action, params, hub.token(identity, 'agent', session_id))
const locks = async () =>
  (await hub.call<CoordinatorStatus>('coordinator', 'status')).locks.map(
    ({ identity, resource }) => `${identity} ${resource}`,
  )

describe('the coordinator', () => {
  test('the status contains two agents on one hub with the locks of each', async () => {
    hub = await liveHub()
    const [ada, bob] = [as('ada', 'run-1'), as('bob', 'run-2')]
    await ada('register', { purpose: 'parser' })
    await bob('register')
    await ada('lock', { resource: 'src', scope: 'tree' })
    await expect(bob('lock', { resource: 'src/a.ts' })).rejects.toThrow('resource_locked')
    await bob('block', { identity: 'ada', reason: 'needs the schema' })
    expect(await bob<CoordinatorStatus>('status')).toMatchObject({
      agents: [
        { identity: 'ada', session_id: 'run-1', purpose: 'parser', locks: ['src'], blocked_by: ['bob'] },
        { identity: 'bob', session_id: 'run-2', note: null, locks: [], blocked_by: [] },
      ],
    })
    await ada('unlock', { resource: 'src' })
    expect(await bob('lock', { resource: 'src/a.ts' })).toMatchObject({ identity: 'bob', epoch: 2 })
  })

  test('subscribers are notified of locks and blockings that are added and removed', async () => {
    hub = await liveHub()
    const listener = await hub.join('cyd', 'agent', { session_id: 'run-3', surface: 'mcp' })
    await listener.ask({ type: 'subscribe', channel: 'global' })
    const ada = as('ada')
    await ada('lock', { resource: 'deploy', ttl_s: 10 })
    await ada('block', { identity: 'cyd', reason: 'release' })
    await ada('log', { message: 'releasing' })
    await ada('unblock', { identity: 'cyd' })
    await hub.clock.advance(10_000 + LIMITS.sweep_interval_ms)
    const heard = () =>
      listener.frames.flatMap((frame) =>
        frame.type === 'event' && !frame.event.startsWith('persona.') ? [frame.event] : [],
      )
    await eventually('the expiry is heard of', () => heard().includes('lease.expired'))
    expect(heard()).toEqual([
      ...['lease.taken', 'agent.blocked', 'coordinator.log', 'agent.unblocked', 'lease.expired'],
    ])
  })

  test('the locks of a session are released when its link closes', async () => {
    hub = await liveHub()
    const link = await hub.join('ada', 'agent', { session_id: 'run-1', surface: 'mcp' })
    const answer = await link.ask({
      ...{ type: 'call', facade: 'coordinator', action: 'lock', params: { resource: 'deploy' } },
    })
    expect(answer).toMatchObject({ type: 'result', result: { session_id: 'run-1' } })
    await as('ada', 'run-2')('lock', { resource: 'docs' })
    link.socket.close()
    await eventually('the lock is free', async () => (await locks()).length === 1)
    expect(await locks()).toEqual(['ada docs'])
  })

  test('leases survive a restart, also of sessions whose links the stopping hub ended', async () => {
    hub = await liveHub()
    const { stores, clock } = hub
    const link = await hub.join('ada', 'agent', { session_id: 'run-1', surface: 'mcp' })
    await link.ask({ type: 'call', facade: 'coordinator', action: 'lock', params: { resource: 'deploy' } })
    await hub.close()
    await link.closed
    hub = await liveHub({ stores: { records: stores.records }, clock })
    expect(await locks()).toEqual(['ada deploy'])
    await expect(as('bob')('lock', { resource: 'deploy' })).rejects.toThrow('resource_locked')
    expect(await as('ada', 'run-1')('lock', { resource: 'deploy', epoch: 1 })).toMatchObject({
      extended: true,
    })
  })

  test('all resources of a wrapped persona are released', async () => {
    hub = await liveHub()
    const ada = as('ada')
    await ada('lock', { resource: 'deploy' })
    await ada('subscribe', { topic: 'releases' })
    await hub.call('personas', 'wrap', { identity: 'ada' })
    await eventually('the lock is free', async () => (await locks()).length === 0)
    expect(await hub.call('coordinator', 'subscriptions')).toEqual({ subscriptions: [] })
    await expect(ada('lock', { resource: 'deploy' })).rejects.toThrow('persona_wrapped')
  })

  test('any call of a registered agent counts as a sign of life', async () => {
    hub = await liveHub()
    const ada = as('ada', 'run-1')
    await ada('register')
    await hub.clock.advance(LIMITS.lease_ms - 10_000)
    await hub.call('signals', 'inbox', {}, hub.token('ada', 'agent', 'run-1'))
    await hub.clock.advance(LIMITS.lease_ms - 10_000)
    expect((await hub.call<CoordinatorStatus>('coordinator', 'status')).agents).toHaveLength(1)
    await hub.clock.advance(20_000)
    expect((await hub.call<CoordinatorStatus>('coordinator', 'status')).agents).toEqual([])
  })

  test('a broadcast on a topic names its audience', async () => {
    hub = await liveHub()
    for (const identity of ['ada', 'bob', 'cyd'])
      await hub.call('personas', 'add', { identity, surface: 'mcp' })
    await as('bob')('subscribe', { topic: 'releases' })
    const { receipts } = await hub.call<{ receipts: unknown[] }>(
      ...(['signals', 'broadcast', { intent: 'out', topic: 'releases' }, hub.token('ada')] as const),
    )
    expect(receipts).toHaveLength(1)
    expect(await hub.call('signals', 'inbox', {}, hub.token('bob'))).toMatchObject({
      signals: [{ topic: 'releases', from: 'ada' }],
    })
  })

  test('old names of the coordinator work, in which the caller names itself', async () => {
    hub = await liveHub()
    const call = async (tool: string, params: object) => {
      const answer = await hub.http('POST', '/call', { token: hub.token('ada'), body: { tool, params } })
      return (await answer.json()) as { result: unknown }
    }
    const me = { agent_id: 'ada' }
    expect(await call('coord_register', { ...me, purpose: 'x' })).toMatchObject({ result: { purpose: 'x' } })
    expect(await call('coord_heartbeat', { ...me, note: 'y' })).toMatchObject({ result: { note: 'y' } })
    expect(await call('coord_lock', { ...me, resource: 'a' })).toMatchObject({ result: { epoch: 1 } })
    expect(await call('coordinatorLock', { resource: 'a' })).toMatchObject({ result: { extended: true } })
    expect(await call('coord_status', me)).toMatchObject({ result: { locks: [{ resource: 'a' }] } })
    expect(await call('coord_unlock', { ...me, resource: 'a' })).toEqual(
      expect.objectContaining({ result: { released: true } }),
    )
    expect(await call('coord_log', { ...me, message: 'm' })).toMatchObject({
      result: { seq: expect.any(Number) as number },
    })
    const sent = await call('coordinator_send', { to: 'ada', intent: 'x' })
    const { signal_id } = sent.result as { signal_id: string }
    expect(await call('coordinator_inbox', me)).toMatchObject({ result: { signals: [{ signal_id }] } })
    expect(await call('coordinator_ack', { ...me, message_id: signal_id })).toMatchObject({
      result: { completed: [signal_id] },
    })
  })

  test("observers may read the coordinator's state, and daemons may not", async () => {
    hub = await liveHub()
    const look = (kind: 'observer' | 'daemon', action: string, params: object = {}) =>
      hub.call('coordinator', action, params, hub.token('eve', kind))
    for (const action of ['status', 'history', 'blocked', 'subscriptions']) {
      await expect(look('observer', action)).resolves.toBeTypeOf('object')
      await expect(look('daemon', action)).rejects.toThrow('kind_forbidden')
    }
    await expect(look('observer', 'lock', { resource: 'a' })).rejects.toThrow('kind_forbidden')
    await expect(look('daemon', 'register')).rejects.toThrow('kind_forbidden')
  })

  test('the coordinator costs under 190 tokens in full, and under 100 in the smallest list', () => {
    const list = (detail: 'full' | 'micro') =>
      projectMcp(smallKernel(FACADES)).tools({ kind: 'agent' }, { detail })
    const cost = (detail: 'full' | 'micro') =>
      encode(JSON.stringify(list(detail).find(({ name }) => name === 'coordinator'))).length
    expect(cost('full')).toBeLessThan(190)
    expect(cost('micro')).toBeLessThan(100)
  })
})
