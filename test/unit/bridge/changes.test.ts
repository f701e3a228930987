/** What a client is told of changes, and when it is told to be on the safe side. */
import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createChanges } from '../../../src/transports/bridge/changes.ts'
import type { Upstream } from '../../../src/transports/bridge/upstream.ts'
import { atRest, fakeClock } from '../../support/fake-clock.ts'

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
  const changes = createChanges({
    ...{ upstream: { listen }, clock, log: silentLog },
    onTools: () => void told.push('tools'),
    onResource: (uri) => void told.push(uri),
  })
  return { changes, clock, told, streams }
}

test('a client that only hears of its tools is told nothing as its stream opens', () => {
  const { changes, streams, told } = setting()
  changes.want([])
  streams[0]?.say(ACKNOWLEDGED)
  expect(told).toEqual([])
})

test('a wish that is added is told of once its stream stands: until then nothing was', async () => {
  const { changes, streams, told } = setting()
  changes.want(['a'])
  streams[0]?.say(ACKNOWLEDGED)
  told.length = 0
  changes.want(['b'])
  await atRest()
  expect([told, streams.length]).toEqual([[], 2])
  streams[1]?.say(ACKNOWLEDGED)
  expect(told).toEqual(['tools', 'a', 'b'])
})

test('a wish that was there before opens no other stream', () => {
  const { changes, streams } = setting()
  changes.want(['a'])
  changes.want(['a'])
  expect(streams).toHaveLength(1)
})

test('a stream that ended is opened again, and everything counts as changed', async () => {
  const { changes, clock, streams, told } = setting()
  changes.want([])
  streams[0]?.say(ACKNOWLEDGED)
  streams[0]?.end()
  await atRest()
  await clock.advance(LIMITS.bridge_listen_min_ms)
  streams[1]?.say(ACKNOWLEDGED)
  expect(told).toEqual(['tools'])
})
