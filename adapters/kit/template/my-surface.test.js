/** Runs the published suite against the surface with a fake client. Run it with vitest. */
import { expect, test } from 'vitest'
import { atRest, describeSurface, fakeClock } from 'turnbell/surface-suite'
import { mySurface } from './my-surface.js'

describeSurface('my surface', { takes: false, receipts: true }, async (host) => {
  const clock = fakeClock()
  const client = fakeClient(clock)
  const surface = mySurface(client, clock.now())
  surface.open(host)
  client.come('session-1')
  return {
    surface,
    clock,
    mode(mode) {
      client.mode = mode
      if (mode === 'gone') client.leave()
    },
    rung: () => client.shown,
    async beginTurn() {
      client.begin()
      await atRest()
    },
    async endTurn() {
      client.end()
      await atRest()
    },
    close() {},
  }
})

test('my surface is rung again when its client is back and idle', async () => {
  const client = fakeClient(fakeClock())
  const surface = mySurface(client, 1)
  const bell = { doorbell_id: 'pw0yh82y', text: '[turnbell] 1 signal waits. (bell pw0yh82y)' }
  client.come('session-1')
  client.leave()
  expect(await surface.notify_surface(bell)).toMatchObject({ proof: 'unavailable' })
  client.come('session-2', true)
  expect(await surface.status()).toMatchObject({ session_id: 'session-2', turn: 'busy', turn_seq: 2 })
  expect(await surface.notify_surface(bell)).toMatchObject({ proof: 'deferred' })
  client.end()
  expect(await surface.notify_surface(bell)).toMatchObject({ accepted: true })
})

/** Queues messages and shows them in the next turn; `mode` selects a failure. */
function fakeClient(clock) {
  const calls = {}
  let busy = false
  let queued = []
  const client = {
    mode: 'takes',
    /** The texts that were accepted. */
    shown: [],
    onThere: (call) => (calls.there = call),
    onTurnBegun: (call) => (calls.begun = call),
    onTurnEnded: (call) => (calls.ended = call),
    onGone: (call) => (calls.gone = call),
    async queue(text) {
      if (client.mode === 'breaks') throw new Error('the queue broke')
      if (client.mode === 'delays') await new Promise((resolve) => clock.after(1_500, resolve))
      if (client.mode === 'swallows') return
      client.shown.push(text)
      queued.push(text)
      if (client.mode === 'duplicates') queued.push(text)
    },
    begin() {
      busy = true
      calls.begun(queued)
      queued = []
    },
    end() {
      if (busy) calls.ended()
      busy = false
    },
    come(session_id, now_busy = false) {
      busy = now_busy
      calls.there({ session_id, busy })
    },
    leave: () => calls.gone(),
  }
  return client
}
