/** Tests reports that a daemon sent before a drain and that reach the hub after it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SurfaceFacts } from '../../../src/contracts/registry.ts'
import type { DrainResult } from '../../../src/contracts/signal.ts'
import { liveHub, type Client, type LiveHub } from '../../support/worlds/live-hub.ts'

let hub: LiveHub
let daemon: Client
let seq = 0

beforeEach(async () => {
  hub = await liveHub()
  daemon = await hub.join('bob', 'daemon', { surface: 'claude-code' })
})
afterEach(() => hub.close())

/** Resolves when the hub has processed the report. */
async function report(turn: 'idle' | 'busy', turn_seq: number): Promise<void> {
  daemon.send({
    type: 'heartbeat',
    seq: (seq += 1),
    surface: { attached: true, session_id: 'run-1', turn, turn_seq },
  })
  await hub.call('signals', 'inbox', { to: 'bob', limit: 1 })
}

async function drained(): Promise<string> {
  const { signal_id } = await hub.call<{ signal_id: string }>('signals', 'send', {
    to: 'bob',
    intent: 'note',
  })
  const token = hub.token('bob', 'agent', 'run-1')
  const { signals } = await hub.call<DrainResult>('signals', 'pending', {}, token)
  expect(signals.map((signal) => signal.signal_id)).toEqual([signal_id])
  return signal_id
}

const read = (signal_id: string) =>
  hub.call<{ status: string; stages: { confirmed_at: string | null } }>('signals', 'read', { signal_id })

const isFinal = async (signal_id: string) => (await read(signal_id)).stages.confirmed_at !== null

test('an end of turn sent before the drain does not confirm it', async () => {
  await report('busy', 1)
  await daemon.settled()
  // From here on the daemon receives nothing, so it sends nothing after the drain.
  daemon.socket.pause()
  const signal_id = await drained()
  await report('idle', 1)
  await report('busy', 2)
  expect(await isFinal(signal_id)).toBe(false)
  daemon.socket.resume()
  await daemon.settled()
  expect(await isFinal(signal_id)).toBe(false)
  await report('idle', 2)
  await daemon.settled()
  expect(await isFinal(signal_id)).toBe(true)
})

test('the end of the turn of the drain confirms it', async () => {
  await report('busy', 1)
  await daemon.settled()
  const signal_id = await drained()
  await daemon.settled()
  await report('idle', 1)
  await daemon.settled()
  expect(await isFinal(signal_id)).toBe(true)
})

describe('a restarted daemon', () => {
  test.each([
    ['keeps the leases of a session that runs on in the same process', 'client-1', 'acked'],
    ['causes a release of leases of a session whose process has ended', 'client-2', 'released'],
    ['causes a release of leases of a session whose process is unknown', undefined, 'released'],
  ])('a restarted daemon %s', async (_, instance_id, status) => {
    const here = { attached: true, session_id: 'run-1', turn_seq: 1 } as const
    tell({ ...here, turn: 'busy', instance_id: 'client-1' })
    await daemon.settled()
    const signal_id = await drained()
    // The hub has read everything that the daemon sent so far.
    await hub.call('signals', 'inbox', { to: 'bob', limit: 1 })
    await daemon.settled()
    daemon.socket.terminate()
    daemon = await hub.join('bob', 'daemon', { surface: 'claude-code' })
    tell({ attached: false, session_id: null, turn: 'unknown', turn_seq: 0, returning_session_id: 'run-1' })
    await daemon.settled()
    expect((await read(signal_id)).status).toBe('acked')
    tell({ ...here, turn: 'idle', ...(instance_id === undefined ? {} : { instance_id }) })
    await daemon.settled()
    await hub.call('signals', 'inbox', { to: 'bob', limit: 1 })
    const after = await read(signal_id)
    expect(after.status === 'acked' ? 'acked' : 'released').toBe(status)
    expect(after.stages.confirmed_at === null).toBe(status === 'released')
  })

  test('a restarted daemon causes an immediate release of leases of an unexpected session', async () => {
    await report('busy', 1)
    await daemon.settled()
    const signal_id = await drained()
    tell({ attached: false, session_id: null, turn: 'unknown', turn_seq: 0, returning_session_id: 'run-2' })
    await daemon.settled()
    await hub.call('signals', 'inbox', { to: 'bob', limit: 1 })
    expect((await read(signal_id)).status).not.toBe('acked')
  })
})

test('leases of a session whose process was replaced under its daemon are released', async () => {
  const here = { attached: true, session_id: 'run-1', turn_seq: 1 } as const
  tell({ ...here, turn: 'busy', instance_id: 'server-1' })
  await daemon.settled()
  const signal_id = await drained()
  tell({ ...here, turn: 'unknown', instance_id: 'server-1' })
  tell({ ...here, turn: 'idle', instance_id: 'server-2' })
  await daemon.settled()
  await hub.call('signals', 'inbox', { to: 'bob', limit: 1 })
  expect(await read(signal_id)).toMatchObject({ stages: { confirmed_at: null } })
  expect((await read(signal_id)).status).not.toBe('acked')
})

function tell(surface: SurfaceFacts): void {
  daemon.send({ type: 'heartbeat', seq: (seq += 1), surface })
}
