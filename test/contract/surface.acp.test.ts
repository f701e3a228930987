/** The adapter of the Agent Client Protocol: its agent is played, prompt by prompt. */
import { acpSurface, type AcpSurface } from '../../adapters/acp/acp-surface.ts'
import { silentLog } from '../../src/ports/log.ts'
import { createIds } from '../../src/system/random.ts'
import { doorbell } from '../support/doorbells.ts'
import { fakeAcpAgent } from '../support/fake-acp-agent.ts'
import { atRest, fakeClock, seededRandom } from '../support/fake-clock.ts'
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
    onTurnBroke: () => place.restarts(),
    onWanted() {},
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
    // Nobody else can prompt it, so a turn that no bell of the suite's caused is that of another bell.
    async beginTurn() {
      if (place.prompted()) return
      place.quiet = true
      place.comesToRest()
      await atRest()
      // The daemon may have been faster.
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
