/** Runs the surface suite against the opencode adapter; events of a server simulate its session. */
import { opencodeSurface } from '../../adapters/opencode/opencode-surface.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { silentLog } from '../../src/ports/log.ts'
import { atRest, fakeClock } from '../support/fakes/fake-clock.ts'
import { fakeOpencode } from '../support/fakes/fake-opencode.ts'
import { describeSurface } from '../suites/surface.suite.ts'

const TRAITS = { takes: false, receipts: true, outstanding: true, lost_ms: LIMITS.opencode_bell_lost_ms }

describeSurface('opencode', TRAITS, async (host) => {
  const clock = fakeClock()
  const place = fakeOpencode(clock)
  const surface = opencodeSurface({ identity: 'ada', clock, log: silentLog, storeSession: () => {} })
  surface.open(host)
  await surface.connected(place.server, { id: 'ses_1', directory: '/project' })
  await atRest()
  return {
    surface,
    clock,
    mode(mode) {
      place.mode = mode
      if (mode === 'gone') surface.disconnected()
    },
    rung: () => place.shown,
    async beginTurn() {
      place.begins().forEach((event) => surface.handleEvent(event))
      await atRest()
    },
    async endTurn() {
      if ((await surface.status()).turn !== 'busy') return
      place.ends().forEach((event) => surface.handleEvent(event))
      await atRest()
    },
    close: () => surface.close(),
  }
})
