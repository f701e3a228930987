/** Runs the surface suite against the ACP adapter; the test simulates its agent, prompt by prompt. */
import { acpSurface, type AcpSurface } from '../../adapters/acp/acp-surface.ts'
import { silentLog } from '../../src/ports/log.ts'
import { createIds } from '../../src/system/random.ts'
import { doorbell } from '../support/doorbells.ts'
import { fakeAcpAgent } from '../support/fakes/fake-acp-agent.ts'
import { atRest, fakeClock, seededRandom } from '../support/fakes/fake-clock.ts'
import { describeSurface } from '../suites/surface.suite.ts'

describeSurface('acp', { takes: false, receipts: true }, async (host) => {
  const clock = fakeClock()
  const surface: AcpSurface = acpSurface({
    kind: 'opencode',
    policy: 'reject',
    clock,
    ids: createIds(clock, seededRandom()),
    log: silentLog,
    onTurnEnded() {},
    onTurnFailed: () => place.restarts(),
    onResumeRequested() {},
  })
  const place = fakeAcpAgent(clock, surface)
  surface.open(host)
  surface.ready(place.agent())
  await atRest()
  return {
    surface,
    clock,
    mode(mode) {
      place.mode = mode
      if (mode === 'gone') place.dies()
    },
    rung: () => place.shown,
    // The agent has no other input, so a turn without a doorbell of the suite is caused by another doorbell.
    async beginTurn() {
      if (place.prompted()) return
      place.quiet = true
      place.comesToRest()
      await atRest()
      // The daemon may have rung already.
      if (!place.prompted()) void surface.notify_surface(doorbell())
      await atRest()
    },
    async endTurn() {
      place.ends()
      await atRest()
    },
    close: () => surface.close(),
  }
})
