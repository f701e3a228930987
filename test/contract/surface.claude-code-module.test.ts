/** Runs the surface suite against the Claude Code adapter while a simulated module reports the turns and submits doorbells. */
import { claudeSurface } from '../../adapters/claude-code/claude-surface.ts'
import { createModLink } from '../../adapters/claude-code/mod-link/mod-link.ts'
import type { WaitAnswer } from '../../adapters/claude-code/mod/messages.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { silentLog } from '../../src/ports/log.ts'
import { atRest, fakeClock } from '../support/fakes/fake-clock.ts'
import { fakeModule } from '../support/fakes/fake-module.ts'
import { describeSurface, type PlaceMode } from '../suites/surface.suite.ts'

const TRAITS = {
  ...{ takes: false, receipts: true, ends_with_client: true },
  ...{ outstanding: true, lost_ms: LIMITS.claude_bell_lost_ms },
}

describeSurface('claude-code by its module', TRAITS, async (host) => {
  const clock = fakeClock()
  let mode: PlaceMode = 'takes'
  const shown: string[] = []
  /** Doorbells that the client has, before a turn began with them. */
  let queued: NonNullable<WaitAnswer['bell']>[] = []
  let turns = 0

  const link = createModLink({
    ...{ version: '0.1.0', enabled: true, clock, log: silentLog },
    newEpoch: () => 'epoch-1',
    onAttached: (hello) => surface.modAttached(hello),
    onEvent: (event, of) => surface.modEvent(event, of),
    onDropped: () => surface.modDropped(),
    onLost: () => surface.modLost(),
  })
  const surface = claudeSurface({
    ...{ session_id: 'session-1', mod: link, clock, log: silentLog, degraded: silentLog, respawned: false },
    onInterrupted: async () => {},
    drainsReleased: async () => {},
    isStopped: () => false,
    paths: { markLost() {}, unread: () => false, post: async () => 'unavailable' },
  })
  surface.open(host)
  const module = fakeModule(link, { busy: false })
  const beat = clock.every(5_000, () => module.report())

  const take = (bell: NonNullable<WaitAnswer['bell']>) => {
    shown.push(bell.text)
    queued.push(bell)
  }
  module.listen((bell) => {
    if (mode === 'breaks' || mode === 'swallows')
      module.report({ kind: 'bell', doorbell_id: bell.doorbell_id, dropped: 'failed' })
    else if (mode === 'delays') clock.after(1_500, () => take(bell))
    else take(bell)
  })
  await atRest()

  return {
    surface,
    clock,
    mode(next) {
      mode = next
      if (next === 'gone') module.report({ kind: 'ended' })
    },
    rung: () => shown,
    async beginTurn() {
      if (link.attached() === null) return
      for (const { doorbell_id } of queued) {
        module.report({ kind: 'bell', doorbell_id })
        if (mode === 'duplicates') module.report({ kind: 'bell', doorbell_id })
      }
      queued = []
      module.report({ kind: 'turn_started', turn: `t${++turns}` })
      await atRest()
    },
    async endTurn() {
      if ((await surface.status()).turn !== 'busy') return
      module.report({ kind: 'turn_ended', turn: `t${turns}`, reason: 'answer' })
      await atRest()
    },
    close() {
      beat.cancel()
      surface.close()
      link.close()
    },
  }
})
