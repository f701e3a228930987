/** Posts doorbells into the idle session. */
import type { DeliveryPaths } from './delivery-paths.ts'
import type { ModLink } from './mod-link/mod-link.ts'
import type { PostedBell } from './posted-bell.ts'
import type { TurnReporter } from './turn-reporter.ts'
import { bellPosted, bellRejected, foundBusy, isDialogOpen, registryBlocksRing } from './turn-tracker.ts'
import { DEFERRED, FAILED } from '../surface-results.ts'
import type { RingResult } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'

export interface BellRinger {
  ring(doorbell: Doorbell): Promise<RingResult>
  close(): void
}

export interface BellRingerDeps {
  turn: TurnReporter
  posted_bell: PostedBell
  paths: DeliveryPaths
  mod: Pick<ModLink, 'attached' | 'ring'>
  clock: Clock
  isStopped: () => boolean
}

export function bellRinger(deps: BellRingerDeps): BellRinger {
  const { turn, posted_bell, paths, mod, clock, isStopped } = deps
  const waitForRegistry = registryWait(turn, clock)
  /** Runs while a doorbell is outstanding. */
  let check_timer: Timer | null = null

  /** False while a Stop hook waits for its response, because the doorbell is returned in it. */
  const isIdle = () => turn.state().turn === 'idle' && !turn.state().stop_pending

  /** Called regularly, because no event reports a suspended client: its time must not count as time at the prompt. */
  function checkBell(): void {
    if (posted_bell.outstanding(turn.state()) !== null) return
    check_timer?.cancel()
    check_timer = null
  }

  /** A module that waits for a doorbell submits it; after an interrupt the client accepts none from a module. */
  const ringsByModule = () => mod.attached() !== null && turn.state().by_mod && !turn.state().interrupted

  async function ringByModule(doorbell: Doorbell): Promise<RingResult> {
    const { doorbell_id } = doorbell
    if (isStopped() || posted_bell.outstanding(turn.state()) !== null) return DEFERRED
    posted_bell.posting(doorbell_id, turn.state(), 'module')
    turn.move(bellPosted(turn.state(), doorbell_id))
    const outcome = await mod.ring(doorbell)
    if (outcome === 'untaken' || (outcome === 'stopped' && turn.state().ended_by_itself)) {
      turn.move(bellRejected(turn.state(), doorbell_id))
      return ringByPath(doorbell)
    }
    posted_bell.posted(turn.state())
    check_timer ??= clock.every(LIMITS.claude_bell_look_ms, checkBell)
    // A dropped doorbell is also reported as an event, which has removed it.
    if (outcome === 'entered') return { accepted: true, proof: 'confirmed' }
    if (outcome === 'waits' || outcome === 'gone') return { accepted: true, proof: 'sent' }
    return outcome === 'failed' ? FAILED : DEFERRED
  }

  async function ringByPath({ doorbell_id, text }: Doorbell): Promise<RingResult> {
    const agrees = await waitForRegistry()
    if (!isIdle() || isStopped()) return DEFERRED
    if (!agrees) {
      // The module reports the turn that begins now. Without it no hook has reported a turn or a dialog; reporting busy makes
      // the daemon wait for its end.
      if (!turn.state().by_mod) turn.move(foundBusy(turn.state(), clock.monotonic()))
      return DEFERRED
    }
    const state = turn.state()
    // While a subagent works the registry does not block a message, but an open dialog delays it.
    if (isDialogOpen(state) || posted_bell.outstanding(state) !== null) return DEFERRED
    posted_bell.markPathLost(state)
    posted_bell.posting(doorbell_id, state, 'path')
    turn.move(bellPosted(state, doorbell_id))
    const outcome = await paths.post(text)
    if (outcome === 'unavailable') turn.move(bellRejected(turn.state(), doorbell_id))
    else posted_bell.posted(turn.state())
    check_timer ??= clock.every(LIMITS.claude_bell_look_ms, checkBell)
    return outcome === 'sent' ? { accepted: true, proof: 'sent' } : { accepted: false, proof: outcome }
  }

  return {
    async ring(doorbell) {
      if (!isIdle()) return DEFERRED
      return ringsByModule() ? ringByModule(doorbell) : ringByPath(doorbell)
    },
    close: () => check_timer?.cancel(),
  }
}

/**
 * Returns a function that waits while the registry shows `busy` after a Stop. It resolves with whether the session may
 * be rung.
 */
function registryWait(turn: TurnReporter, clock: Pick<Clock, 'after'>): () => Promise<boolean> {
  /** Checks of the rings that wait until the registry agrees with the hooks. */
  const checks = new Set<() => void>()
  turn.onMove(() => {
    for (const check of checks) check()
  })
  return () => {
    if (!registryBlocksRing(turn.state())) return Promise.resolve(true)
    return new Promise((resolve) => {
      const done = (agrees: boolean) => {
        checks.delete(check)
        timeout.cancel()
        resolve(agrees)
      }
      const check = () => {
        if (turn.state().turn !== 'idle') done(false)
        else if (!registryBlocksRing(turn.state())) done(true)
      }
      const timeout = clock.after(LIMITS.claude_registry_lag_ms, () => done(false))
      checks.add(check)
    })
  }
}
