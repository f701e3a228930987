import { afterEach, describe, expect, test } from 'vitest'
import { CLOSE, type HubFrame } from '../../../src/contracts/frames.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { liveHub, type Client, type LiveHub } from '../../support/worlds/live-hub.ts'
import { facts } from '../../support/worlds/signal-world.ts'

let hub: LiveHub
afterEach(() => hub.close())

const add = (identity: string) => hub.call('personas', 'add', { identity, surface: 'command' })
const send = (to: string) =>
  hub.call<{ signal_id: string; route: object }>('signals', 'send', { to, intent: 'note' })

/** Returns peer frames as `joined daemon d-1` or `left agent run-1 preempt`. */
function peers(client: Client): string[] {
  return client.frames.flatMap((frame: HubFrame) => {
    if (frame.type === 'peer.joined') return [`joined ${frame.kind} ${frame.session_id}`]
    return frame.type === 'peer.left' ? [`left ${frame.kind} ${frame.session_id} ${frame.reason}`] : []
  })
}
async function watcher(channel = 'global'): Promise<Client> {
  const client = await hub.join('watcher', 'observer')
  await client.ask({ type: 'subscribe', channel })
  return client
}

describe('signals for one session', () => {
  test('signals for one session are published to the daemon as free when that session leaves', async () => {
    hub = await liveHub()
    await add('bob')
    const agent = await hub.join('bob', 'agent', { session_id: 'run-1', surface: 'mcp' })
    const daemon = await hub.join('bob', 'daemon', { surface: 'command' })
    daemon.send({ type: 'heartbeat', seq: 1, surface: facts('run-2') })
    await daemon.settled()
    const { signal_id } = await hub.call<{ signal_id: string }>('signals', 'send', {
      to: 'bob',
      intent: 'note',
      to_session: 'run-1',
    })
    await daemon.settled()
    expect(daemon.frames.some(({ type }) => type === 'signal.pushed')).toBe(false)
    agent.socket.close()
    expect(await daemon.next('signal.released')).toEqual({
      type: 'signal.released',
      signal_ids: [signal_id],
      pending_count: 1,
      in_progress_count: 0,
    })
    const { events } = hub.stores.events.read({ type: 'signal.freed', limit: 9 })
    expect(events).toMatchObject([{ agent_id: 'bob', data: { session_id: 'run-1', pending_count: 1 } }])
  })

  test.each([
    ['at once', []],
    ['after the agent was absent', [{ ...facts('run-1'), attached: false, session_id: null }]],
  ])(
    'signals for one session are pushed to the daemon whose surface has that session %s',
    async (_, between) => {
      hub = await liveHub()
      await add('bob')
      await hub.join('bob', 'agent', { session_id: 'run-2', surface: 'mcp' })
      const daemon = await hub.join('bob', 'daemon', { surface: 'command' })
      const shows = (seq: number, surface: ReturnType<typeof facts>) =>
        daemon.send({ type: 'heartbeat', seq, surface })
      shows(1, facts('run-1'))
      await daemon.settled()
      const to_all = await send('bob')
      const { signal_id } = await hub.call<{ signal_id: string }>('signals', 'send', {
        to: 'bob',
        intent: 'note',
        to_session: 'run-2',
      })
      for (const surface of [...between, facts('run-2'), facts('run-2')]) shows(2, surface)
      await daemon.settled()
      const pushed = daemon.frames.flatMap((frame) => (frame.type === 'signal.pushed' ? [frame] : []))
      expect(pushed.map((frame) => [frame.signal_id, frame.pending_count])).toEqual([
        [to_all.signal_id, 1],
        [signal_id, 2],
      ])
      await eventually(
        'it is noted',
        async () => (await hub.stores.signals.read(signal_id))?.stages.pushed_at,
      )
    },
  )

  test('signals for one session are pushed to and counted by a daemon whose surface cannot name its session', async () => {
    hub = await liveHub()
    await add('bob')
    await hub.join('bob', 'agent', { session_id: 'run-2', surface: 'mcp' })
    const daemon = await hub.join('bob', 'daemon', { surface: 'tmux' })
    daemon.send({ type: 'heartbeat', seq: 1, surface: { ...facts('run-1'), session_id: null } })
    await daemon.settled()
    const { signal_id } = await hub.call<{ signal_id: string }>('signals', 'send', {
      to: 'bob',
      intent: 'note',
      to_session: 'run-2',
    })
    expect(await daemon.next('signal.pushed')).toMatchObject({ signal_id, pending_count: 1 })
    expect(await daemon.ask({ type: 'pending.peek' })).toMatchObject({ total: 1 })
  })

  test('signals for one session are rejected after a daemon has reported an absent agent', async () => {
    hub = await liveHub()
    await add('bob')
    const daemon = await hub.join('bob', 'daemon', { surface: 'command' })
    daemon.send({ type: 'heartbeat', seq: 1, surface: facts('run-1') })
    daemon.send({ type: 'heartbeat', seq: 2, surface: { ...facts('run-1'), attached: false } })
    await daemon.settled()
    await expect(
      hub.call('signals', 'send', { to: 'bob', intent: 'note', to_session: 'run-1' }),
    ).rejects.toThrow('target_stale')
  })

  test('signals for one session are not published as free when the session has another registration', async () => {
    hub = await liveHub()
    await add('bob')
    const link = await hub.join('bob', 'agent', { session_id: 'run-1', surface: 'mcp' })
    await hub.join('bob', 'agent', { session_id: 'run-1', surface: 'tmux' })
    const daemon = await hub.join('bob', 'daemon', { surface: 'command' })
    await hub.call('signals', 'send', { to: 'bob', intent: 'note', to_session: 'run-1' })
    link.socket.close()
    await daemon.next('peer.left')
    await daemon.settled()
    expect(daemon.frames.some(({ type }) => type === 'signal.released')).toBe(false)
  })
})

describe('peer frames', () => {
  test('peer frames report joins, leaves and preemptions in order', async () => {
    hub = await liveHub()
    const eye = await watcher()
    await hub.join('bob', 'agent', { session_id: 'run-1' })
    const second = await hub.join('bob', 'agent', { session_id: 'run-2' })
    second.socket.close()
    await eventually('the last one is told', () => peers(eye).length === 4)
    expect(peers(eye)).toEqual([
      'joined agent run-1',
      'left agent run-1 preempt',
      'joined agent run-2',
      'left agent run-2 close',
    ])
  })

  test.each(['agents/bob', 'sessions/run-1'])(
    'peer frames reach subscribers %s and no others',
    async (channel) => {
      hub = await liveHub()
      const eye = await watcher(channel)
      const elsewhere = await watcher('agents/alice')
      await hub.join('bob', 'agent', { session_id: 'run-1' })
      await eventually('it is told', () => peers(eye).length === 1)
      await elsewhere.settled()
      expect(peers(elsewhere)).toEqual([])
    },
  )

  test('peer frames contain the persona, surface, kind and session, and nothing else', async () => {
    hub = await liveHub()
    const eye = await watcher()
    await hub.join('bob', 'daemon', { session_id: 'd-1', surface: 'tmux' })
    expect(await eye.next('peer.joined')).toEqual({
      type: 'peer.joined',
      identity: 'bob',
      surface: 'tmux',
      kind: 'daemon',
      session_id: 'd-1',
    })
  })

  test('peer events are in the event stream as well', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'daemon', { session_id: 'd-1' })
    client.socket.close()
    await eventually(
      'both are there',
      () => hub.stores.events.read({ type: 'peer.', limit: 9 }).events.length === 2,
    )
    expect(hub.stores.events.read({ type: 'peer.', limit: 9 }).events).toMatchObject([
      { type: 'peer.joined', agent_id: 'bob', data: { kind: 'daemon', session_id: 'd-1' } },
      { type: 'peer.left', agent_id: 'bob', data: { reason: 'close' } },
    ])
  })
})

describe('a second client of a registration', () => {
  test('a client with another session preempts the first, which is notified and closed with 4409', async () => {
    hub = await liveHub()
    const first = await hub.join('bob', 'daemon', { session_id: 'd-1' })
    const second = await hub.join('bob', 'daemon', { session_id: 'd-2' })
    expect(await first.next('error')).toMatchObject({ code: 'binding_stale', retry: 'after_rebind' })
    expect(await first.closed).toBe(CLOSE.stale)
    await second.settled()
    expect(hub.hub.api.health().connected.daemon).toBe(1)
  })

  test('a client with the same session takes over silently', async () => {
    hub = await liveHub()
    const first = await hub.join('bob', 'daemon', { session_id: 'd-1' })
    const second = await hub.join('bob', 'daemon', { session_id: 'd-1' })
    expect(await first.closed).toBe(1006)
    await second.settled()
    expect(first.frames.filter(({ type }) => type === 'error')).toEqual([])
    expect(hub.hub.api.health().connected.daemon).toBe(1)
  })

  test('a client of another kind or surface coexists with the first', async () => {
    hub = await liveHub()
    const links = [
      await hub.join('bob', 'daemon', { session_id: 'a' }),
      await hub.join('bob', 'agent', { session_id: 'b' }),
      await hub.join('bob', 'agent', { session_id: 'c', surface: 'tmux' }),
    ]
    for (const link of links) await link.settled()
    expect(hub.hub.api.health().connected).toEqual({ agent: 2, daemon: 1, observer: 0 })
    const { personas } = await hub.call<{ personas: { registrations: { kind: string }[] }[] }>(
      'personas',
      'list',
    )
    expect(personas[0]?.registrations.map(({ kind }) => kind).sort()).toEqual(['agent', 'agent', 'daemon'])
  })

  test('a client that replaces a session with drained signals returns them to pending', async () => {
    hub = await liveHub()
    await add('bob')
    const { signal_id } = await send('bob')
    const first = await hub.join('bob', 'agent', { session_id: 'run-1' })
    await first.ask({ type: 'call', facade: 'signals', action: 'pending' })
    const second = await hub.join('bob', 'agent', { session_id: 'run-2' })
    const again = await second.ask({ type: 'call', facade: 'signals', action: 'pending' })
    expect(again).toMatchObject({ result: { signals: [{ signal_id, deliveries: 2 }] } })
  })
})

describe('an expired daemon', () => {
  test('an expired daemon is reported to all and closed, and its route is stale until another one connects', async () => {
    hub = await liveHub()
    await add('bob')
    const eye = await watcher()
    const daemon = await hub.join('bob', 'daemon', { session_id: 'd-1' })
    daemon.send({ type: 'heartbeat', seq: 1, surface: facts('run-1') })
    await daemon.settled()
    expect((await send('bob')).route).toEqual({ live: true, reason: null })
    await hub.clock.advance(LIMITS.registration_expire_ms + LIMITS.sweep_interval_ms)
    expect(await daemon.closed).toBe(CLOSE.going_away)
    await eventually('it is told', () => peers(eye).at(-1) === 'left daemon d-1 expire')
    expect((await send('bob')).route).toEqual({ live: false, reason: 'stale' })
    const next = await hub.join('bob', 'daemon', { session_id: 'd-2' })
    next.send({ type: 'heartbeat', seq: 1, surface: facts('run-1') })
    await next.settled()
    expect((await send('bob')).route).toEqual({ live: true, reason: null })
  })
})

describe('wrapping a persona', () => {
  test.each(['wrap', 'remove'] as const)(
    'wrapping a persona stops its daemon with reason %s, and later sends are rejected',
    async (why) => {
      hub = await liveHub()
      await add('bob')
      const daemon = await hub.join('bob', 'daemon', { session_id: 'd-1' })
      await hub.call('personas', why, { identity: 'bob' })
      expect(await daemon.next('peer.left')).toMatchObject({ reason: 'wrap' })
      expect(await daemon.next('lifecycle.shutdown')).toEqual({ type: 'lifecycle.shutdown', reason: why })
      expect(await daemon.closed).toBe(CLOSE.going_away)
      await expect(send('bob')).rejects.toThrow('target_wrapped')
    },
  )
})

describe('turn reports', () => {
  test("turn reports in heartbeats confirm the drains of a daemon's session", async () => {
    hub = await liveHub()
    await add('bob')
    await send('bob')
    const daemon = await hub.join('bob', 'daemon', { session_id: 'd-1' })
    daemon.send({ type: 'heartbeat', seq: 1, surface: facts('run-1', 'busy', 1) })
    await daemon.settled()
    await hub.call('signals', 'pending', {}, hub.token('bob', 'agent', 'run-1'))
    expect(hub.stores.signals.leases()).toHaveLength(1)
    // An end that arrives before the agent's response would be counted again.
    await daemon.settled()
    daemon.send({ type: 'heartbeat', seq: 2, surface: facts('run-1', 'idle', 1) })
    await eventually('it is final', () => hub.stores.signals.leases().length === 0)
    expect(hub.stores.events.read({ type: 'signal.confirmed', limit: 5 }).events).toHaveLength(1)
  })

  test('a report of a vanished surface releases its drains', async () => {
    hub = await liveHub()
    await add('bob')
    await send('bob')
    const daemon = await hub.join('bob', 'daemon', { session_id: 'd-1' })
    daemon.send({ type: 'heartbeat', seq: 1, surface: facts('run-1', 'busy', 1) })
    await daemon.settled()
    await hub.call('signals', 'pending', {}, hub.token('bob', 'agent', 'run-1'))
    daemon.send({ type: 'heartbeat', seq: 2, surface: facts(null, 'unknown', 1, false) })
    expect(await daemon.next('signal.released')).toMatchObject({ pending_count: 1 })
  })

  test('turn reports end with the daemon, but confirmed drains stay confirmed', async () => {
    hub = await liveHub()
    await add('bob')
    await send('bob')
    const daemon = await hub.join('bob', 'daemon', { session_id: 'd-1' })
    daemon.send({ type: 'heartbeat', seq: 1, surface: facts('run-1', 'busy', 1) })
    await daemon.settled()
    await hub.call('signals', 'pending', {}, hub.token('bob', 'agent', 'run-1'))
    daemon.socket.terminate()
    await eventually('it left', () => hub.hub.api.health().connected.daemon === 0)
    await hub.clock.advance(LIMITS.registration_expire_ms * 2)
    expect(hub.stores.signals.pendingCount('bob')).toBe(0)
    expect((await send('bob')).route).toEqual({ live: false, reason: 'daemon_down' })
  })
})
