/** Tests which changes a client is notified of, and which notifications are sent as a precaution. */
import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createChangeSubscription } from '../../../src/bridge/change-subscription.ts'
import type { Upstream } from '../../../src/bridge/hub/upstream.ts'
import { atRest, fakeClock } from '../../support/fakes/fake-clock.ts'

type OnMessage = Parameters<Upstream['listen']>[2]
const ACKNOWLEDGED = { method: 'notifications/subscriptions/acknowledged' }

function setting() {
  const clock = fakeClock()
  const told: string[] = []
  const streams: { say: OnMessage; end: () => void }[] = []
  const listen: Upstream['listen'] = (_, abort, say) =>
    new Promise((end) => {
      streams.push({ say, end })
      abort.addEventListener('abort', () => end(), { once: true })
    })
  const changes = createChangeSubscription({
    upstream: { listen },
    clock,
    log: silentLog,
    onTools: () => void told.push('tools'),
    onResource: (uri) => void told.push(uri),
  })
  return { changes, clock, told, streams }
}

test('a client that watches only tools is not notified when its stream opens', () => {
  const { changes, streams, told } = setting()
  changes.subscribe([])
  streams[0]?.say(ACKNOWLEDGED)
  expect(told).toEqual([])
})

test('an added resource counts as changed once its stream is open', async () => {
  const { changes, streams, told } = setting()
  changes.subscribe(['a'])
  streams[0]?.say(ACKNOWLEDGED)
  told.length = 0
  changes.subscribe(['b'])
  await atRest()
  expect([told, streams.length]).toEqual([[], 2])
  streams[1]?.say(ACKNOWLEDGED)
  expect(told).toEqual(['tools', 'a', 'b'])
})

test('a resource that is already watched opens no other stream', () => {
  const { changes, streams } = setting()
  changes.subscribe(['a'])
  changes.subscribe(['a'])
  expect(streams).toHaveLength(1)
})

test('a stream that ended is reopened, and everything counts as changed', async () => {
  const { changes, clock, streams, told } = setting()
  changes.subscribe([])
  streams[0]?.say(ACKNOWLEDGED)
  streams[0]?.end()
  await atRest()
  await clock.advance(LIMITS.bridge_listen_min_ms)
  streams[1]?.say(ACKNOWLEDGED)
  expect(told).toEqual(['tools'])
})
