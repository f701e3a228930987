/** What a daemon had sent before a drain may reach the hub after it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { DrainResult } from '../../../src/contracts/signal.ts'
import { liveHub, type Client, type LiveHub } from '../../support/live-hub.ts'

let hub: LiveHub
let daemon: Client
let seq = 0

beforeEach(async () => {
  hub = await liveHub()
  daemon = await hub.join('bob', 'daemon', { surface: 'claude-code' })
})
afterEach(() => hub.close())

/** The hub has heard it once this resolves. */
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

async function isFinal(signal_id: string): Promise<boolean> {
  const { stages } = await hub.call<{ stages: { confirmed_at: string | null } }>('signals', 'read', {
    signal_id,
  })
  return stages.confirmed_at !== null
}

test('the end of a turn that was sent before the drain makes nothing final', async () => {
  await report('busy', 1)
  await daemon.settled()
  // From here on the daemon hears nothing, and so says nothing that comes after the drain.
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

test('the end of the turn that has drained makes it final', async () => {
  await report('busy', 1)
  await daemon.settled()
  const signal_id = await drained()
  await daemon.settled()
  await report('idle', 1)
  await daemon.settled()
  expect(await isFinal(signal_id)).toBe(true)
})

test('a session that its daemon expects back keeps what it has drained, and no other does', async () => {
  await report('busy', 1)
  await daemon.settled()
  const signal_id = await drained()
  daemon.socket.terminate()
  daemon = await hub.join('bob', 'daemon', { surface: 'claude-code' })
  await reportGone('run-1')
  expect(await hub.call('signals', 'read', { signal_id })).toMatchObject({ status: 'acked', deliveries: 1 })
  await reportGone('run-2')
  await hub.call('signals', 'inbox', { to: 'bob', limit: 1 })
  expect(await hub.call('signals', 'read', { signal_id })).not.toMatchObject({ status: 'acked' })
})

async function reportGone(session_id: string): Promise<void> {
  const gone = { attached: false, session_id: null, turn: 'unknown', turn_seq: 0 } as const
  const surface = { ...gone, returning_session_id: session_id }
  daemon.send({ type: 'heartbeat', seq: (seq += 1), surface })
  await daemon.settled()
}
