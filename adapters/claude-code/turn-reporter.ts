/** The tracked turn of a Claude Code session, and its reports to the daemon. Shared by the parts of the surface. */
import { isDeepStrictEqual } from 'node:util'
import type { ModLink } from './mod-link/mod-link.ts'
import type { PostedBell } from './posted-bell.ts'
import { settle, settleDeadline, startTracking, type TrackedTurn } from './turn-tracker.ts'
import { pushStatus, statusDiffers } from '../surface-results.ts'
import { trackedState, type Tracked } from '../tracked-state.ts'
import type { SurfaceStatus } from '../../src/contracts/control.ts'
import type { InstanceId } from '../../src/contracts/ids.ts'
import type { Presence } from '../../src/contracts/presence.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { SurfaceHost } from '../../src/ports/surface.ts'

export interface TurnReporter extends Tracked<TrackedTurn> {
  /** Null before `open` was called. */
  host: SurfaceHost | null
  status(): SurfaceStatus
  report(): void
  /** Sets the next state and reports a changed status. */
  move(next: TrackedTurn): void
  /** Sets the next state without a report. */
  moveSilently(next: TrackedTurn): void
  /** Sets what the module shows besides the turn, and reports a change. */
  show(presence: Presence | null): void
}

export interface TurnReporterDeps {
  session_id: string | null
  instance_id: InstanceId | null
  posted_bell: PostedBell
  mod: Pick<ModLink, 'absence'>
  clock: Clock
  log: Log
}

export function turnReporter(deps: TurnReporterDeps): TurnReporter {
  const { session_id, instance_id, posted_bell, mod, clock, log } = deps
  const tracked = trackedState(startTracking(session_id, clock.monotonic(), clock.now()))
  let presence: Presence | null = null

  function status(): SurfaceStatus {
    const state = tracked.state()
    const outstanding_doorbell_id = posted_bell.outstanding(state)
    const facts = { ...state, instance_id, outstanding_doorbell_id }
    const via = state.by_mod ? 'module' : `hooks: ${mod.absence()}`
    const shown = state.by_mod && presence !== null ? { presence } : {}
    return { ...pushStatus('claude-code', state.session_id, facts), via, ...shown }
  }

  const turn: TurnReporter = {
    ...tracked,
    host: null,
    status,
    report: () => void turn.host?.report(status()),
    move(next) {
      const before = status()
      tracked.move(next)
      if (statusDiffers(before, status())) turn.report()
    },
    moveSilently(next) {
      // Counts the time of the posted doorbell in the present state.
      posted_bell.outstanding(tracked.state())
      tracked.move(next)
    },
    show(next) {
      if (isDeepStrictEqual(next, presence)) return
      presence = next
      if (tracked.state().by_mod) turn.report()
    },
  }
  turn.onMove((next, before) => {
    if (next.turn !== before.turn || next.turn_seq !== before.turn_seq)
      log.debug({ turn: next.turn, turn_seq: next.turn_seq, registry: next.registry }, 'turn')
  })
  return turn
}

export interface TurnSettling {
  close(): void
}

/**
 * Takes over the registry's view when it has contradicted the hooks long enough. `onInterrupted` is called before the
 * end of a turn is reported.
 */
export function settleTurns(
  turn: TurnReporter,
  { clock, onInterrupted }: { clock: Pick<Clock, 'after' | 'monotonic'>; onInterrupted: () => Promise<void> },
): TurnSettling {
  let timer: Timer | null = null
  const settled = () => settle(turn.state(), clock.monotonic())

  async function settleTurn(): Promise<void> {
    if (turn.state().turn === 'busy' && settled().turn === 'idle') await onInterrupted()
    // A hook that arrived during the wait may have started a turn.
    turn.move(settled())
  }

  turn.onMove((next) => {
    timer?.cancel()
    const at_ms = settleDeadline(next)
    timer =
      at_ms === null ? null : clock.after(Math.max(0, at_ms - clock.monotonic()), () => void settleTurn())
  })
  return { close: () => timer?.cancel() }
}
