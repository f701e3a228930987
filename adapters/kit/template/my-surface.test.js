/** The surface under the published suite: the test plays the client. Run it with vitest. */
import { atRest, describeSurface, fakeClock } from 'turnbell/surface-suite'
import { mySurface } from './my-surface.js'

describeSurface('my surface', { takes: false, receipts: true }, async (host) => {
  const clock = fakeClock()
  const client = playedClient(clock)
  const surface = mySurface(client, clock.now())
  surface.open(host)
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

/** Queues what it is handed and shows it in the turn that begins next, unless it is told to fail at that. */
function playedClient(clock) {
  const calls = {}
  let busy = false
  let queued = []
  const client = {
    session_id: 'session-1',
    mode: 'takes',
    /** What came through. */
    shown: [],
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
    leave: () => calls.gone(),
  }
  return client
}
