/**
 * One Claude Code session as a surface: reports its turns, rings it while it is idle, and hands over a
 * bell with the answer to a Stop. Whether a bell is due is the daemon's decision.
 */
import {
  askAnswered,
  bellAsked,
  bellContinued,
  bellPosted,
  bellRefused,
  foundBusy,
  hookFired,
  registryForbids,
  registryRead,
  settled,
  settlesAt,
  showsDialog,
  startTracking,
  wasInterrupted,
  type TrackedTurn,
} from './turn-tracker.ts'
import { postedBell } from './posted-bell.ts'
import type { RegistryRecord, TurnEvent } from './turn-events.ts'
import { DEFERRED, pushStatus, saysMore } from '../surface-words.ts'
import type { RingResult } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { InstanceId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'
import type { Ways } from './ways.ts'

export interface ClaudeSurfaceDeps {
  session_id: string | null
  /** The client's process, which runs the turns. */
  instance_id?: InstanceId | null
  ways: Ways
  clock: Clock
  log: Log
  /** What a person who looks after the daemon should know. */
  degraded: Log
  /** A worker that replaced a killed one may have missed hooks. */
  respawned: boolean
  /**
   * A turn was interrupted, and its end is about to be reported: the moment to take back what the agent
   * was not shown. The report waits for it, however long it takes.
   */
  interrupted: () => Promise<void>
  /** The client stands still, as by Ctrl-Z: whatever is posted then waits, and all of it comes when it goes on. */
  isStopped: () => boolean
}

export interface ClaudeSurface extends Surface {
  open(host: SurfaceHost): void
  /** Any hook of the main agent but Stop. */
  hookFired(event: TurnEvent): Promise<void>
  /**
   * The main agent stopped. Resolves with the bell that the answer must carry, or null. A bell for an
   * aborted hook is never given: nobody reads its answer. The daemon arms it again when no receipt comes.
   */
  stopped(event: TurnEvent, aborted: () => boolean): Promise<Doorbell | null>
  /** The answer that carries the bell has left this process. */
  continuedWith(doorbell: Doorbell): void
  registryRead(record: RegistryRecord | null): void
  session(): string | null
  close(): void
}

export function claudeSurface(deps: ClaudeSurfaceDeps): ClaudeSurface {
  const { clock, ways, log } = deps
  const now = () => clock.monotonic()
  let state = startTracking(deps.session_id, now(), clock.now())
  let host: SurfaceHost | null = null
  let timer: Timer | null = null
  /** Hooks have come, or their absence was told of. */
  let hooks_settled = deps.respawned
  const last = postedBell({ ways, now, isStopped: deps.isStopped })
  /** While a doorbell is outstanding. */
  let looking: Timer | null = null
  /** Rings that wait for the registry to catch up with the hooks. */
  const watchers = new Set<() => void>()

  const status = () =>
    pushStatus('claude-code', state.session_id, {
      ...state,
      instance_id: deps.instance_id ?? null,
      outstanding_doorbell_id: last.outstanding(state),
    })
  /** A Stop that waits for its answer has the bell with that. */
  const standsIdle = () => state.turn === 'idle' && !state.asking

  /** Takes the next state over and tells whoever waits for a change. */
  function move(next: TrackedTurn, how: { report: boolean } = { report: true }): void {
    const told = status()
    const before = state
    state = next
    if (next.turn !== before.turn || next.turn_seq !== before.turn_seq) {
      log.debug({ turn: next.turn, turn_seq: next.turn_seq, registry: next.registry }, 'turn')
    }
    timer?.cancel()
    const at = settlesAt(next)
    timer = at === null ? null : clock.after(Math.max(0, at - now()), () => void settle())
    if (how.report && saysMore(told, status())) void host?.report(status())
    for (const check of watchers) check()
  }

  /** No event reports a stopped client (Ctrl-Z). Without this look its time would count as time at the prompt. */
  function lookAtBell(): void {
    if (last.outstanding(state) !== null) return
    looking?.cancel()
    looking = null
  }

  /** The registry has said something else than the hooks for long enough. */
  async function settle(): Promise<void> {
    if (state.turn === 'busy' && settled(state, now()).turn === 'idle') await deps.interrupted()
    // What came meanwhile may have made it a running turn again.
    move(settled(state, now()))
  }

  /** A whole turn in the registry, and no hook of it: the client cannot call this worker. */
  function missHooks(before: RegistryRecord['status'], after: RegistryRecord['status']): void {
    if (hooks_settled || before !== 'busy' || (after !== 'idle' && after !== 'shell')) return
    hooks_settled = true
    deps.degraded.warn({}, 'the client tells no hooks; its turns are read from its registry alone')
  }

  /** After a Stop the registry says `busy` for a moment longer. Resolves once it may be rung, or not. */
  function registryAgrees(): Promise<boolean> {
    if (!registryForbids(state)) return Promise.resolve(true)
    return new Promise((resolve) => {
      const done = (agrees: boolean) => {
        watchers.delete(check)
        patience.cancel()
        resolve(agrees)
      }
      const check = () => {
        if (state.turn !== 'idle') done(false)
        else if (!registryForbids(state)) done(true)
      }
      const patience = clock.after(LIMITS.claude_registry_lag_ms, () => done(false))
      watchers.add(check)
    })
  }

  return {
    status: async () => status(),

    async notify_surface(doorbell): Promise<RingResult> {
      if (!standsIdle()) return DEFERRED
      const agrees = await registryAgrees()
      if (!standsIdle() || deps.isStopped()) return DEFERRED
      if (!agrees) {
        // A turn or a dialog that no hook told of. Saying busy makes the daemon wait for its end.
        move(foundBusy(state, now()))
        return DEFERRED
      }
      // While a subagent works the registry allows a message, but the dialog still delays it.
      if (showsDialog(state) || last.outstanding(state) !== null) return DEFERRED
      last.blameWay(state)
      last.posting(doorbell.doorbell_id, state)
      move(bellPosted(state, doorbell.doorbell_id))
      const posted = await ways.post(doorbell.text)
      if (posted === 'unavailable') move(bellRefused(state, doorbell.doorbell_id))
      else last.posted(state)
      looking ??= clock.every(LIMITS.claude_bell_look_ms, lookAtBell)
      return posted === 'sent' ? { accepted: true, proof: 'sent' } : { accepted: false, proof: posted }
    },

    async resume_surface() {
      void host?.report(status())
    },

    open(daemon) {
      host = daemon
    },

    async hookFired(event) {
      hooks_settled = true
      if (event.event === 'UserPromptSubmit' && wasInterrupted(state)) await deps.interrupted()
      move(hookFired(state, event, now()))
    },

    async stopped(event, aborted) {
      hooks_settled = true
      move(hookFired(state, event, now()), { report: false })
      if (host === null) return null
      if (aborted()) {
        void host.report(status())
        return null
      }
      move(bellAsked(state))
      const { doorbell } = await host.report({ ...status(), take: true })
      move(askAnswered(state, now()))
      if (doorbell !== null && aborted()) {
        log.warn(
          { doorbell_id: doorbell.doorbell_id },
          'the client gave the Stop hook up; its bell is not given',
        )
        return null
      }
      return doorbell
    },

    continuedWith(doorbell) {
      move(bellContinued(state, doorbell.doorbell_id, now()))
    },

    registryRead(record) {
      missHooks(state.registry, record?.status ?? null)
      move(registryRead(state, record, now()))
    },

    session: () => state.session_id,

    close() {
      timer?.cancel()
      looking?.cancel()
      host = null
    },
  }
}
