/** Runs the surface suite against the tmux adapter; screens simulate its pane. */
import { tmuxSurface } from '../../adapters/tmux/tmux-surface.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { silentLog } from '../../src/ports/log.ts'
import { atRest, fakeClock } from '../support/fakes/fake-clock.ts'
import { fakePane } from '../support/fakes/fake-pane.ts'
import { describeSurface } from '../suites/surface.suite.ts'

describeSurface('tmux', { takes: false, receipts: true }, async (host) => {
  const clock = fakeClock()
  const place = fakePane(clock)
  const surface = tmuxSurface({ pane: place.pane, clock, log: silentLog })
  surface.open(host)
  /** Long enough for two screen captures at the slowest rate. */
  const isSeen = () => clock.advance(2 * LIMITS.tmux_quiet_look_ms)
  await atRest()
  await isSeen()
  return {
    surface,
    clock,
    mode: (mode) => void (place.mode = mode),
    rung: () => place.entered,
    async beginTurn() {
      place.busy = true
      await isSeen()
    },
    async endTurn() {
      place.busy = false
      await isSeen()
    },
    close: () => surface.close(),
  }
})
