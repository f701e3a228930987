/** Runs the surface suite against the Codex adapter; notifications of an app-server simulate its thread. */
import { codexSurface } from '../../adapters/codex/codex-surface.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { silentLog } from '../../src/ports/log.ts'
import { fakeAppServer } from '../support/fakes/fake-app-server.ts'
import { atRest, fakeClock } from '../support/fakes/fake-clock.ts'
import { describeSurface } from '../suites/surface.suite.ts'

const TRAITS = { takes: false, receipts: true, outstanding: true, lost_ms: LIMITS.codex_bell_lost_ms }

describeSurface('codex', TRAITS, async (host) => {
  const clock = fakeClock()
  const place = fakeAppServer(clock)
  const surface = codexSurface({ identity: 'ada', clock, log: silentLog })
  surface.open(host)
  await surface.connected(place.server)
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
      place.begins().forEach((notification) => surface.handleNotification(notification))
      await atRest()
    },
    async endTurn() {
      if ((await surface.status()).turn !== 'busy') return
      place.ends().forEach((notification) => surface.handleNotification(notification))
      await atRest()
    },
    close: () => surface.close(),
  }
})
