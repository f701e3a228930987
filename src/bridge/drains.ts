/**
 * Tracks the drains of this bridge from the request to their confirmation or release. The hub keeps drained
 * signals under a lease, and treats the session's next drain as a sign that the client has received the
 * previous one.
 *
 * ```
 * requested ──┬──> received ──┬──> written ──────> confirmed at the hub
 *             │               └──> abandoned ────> released at the hub
 *             └──> lost <───────────(release failed)
 *                   └────────────────────────────> looked up at the hub and released
 * ```
 *
 * - requested: sent to the hub, one at a time.
 * - received: the bridge has the answer, but it is not yet in the client's pipe.
 * - written: the client has the answer. It is confirmed at once, or later by the adapter that knows when it
 *   was read.
 * - abandoned: the client will never see it, or received an error instead.
 * - lost: the answer never arrived. The hub may hold signals under the session, with an unknown drain id.
 *
 * A drain is requested only if no earlier one of its session is received or lost and no report to the hub is
 * outstanding; otherwise it would make the earlier ones final. A missing confirmation costs a repetition but
 * never a signal; a failed release makes its drain a lost one. The client waits less time than the hub is
 * retried, so a drain that may not be requested in time is refused: requesting it anyway could lose or repeat
 * signals.
 */
import { unreachable } from './hub/answers.ts'
import { createHubReports } from './hub/reports.ts'
import { createLeaseCalls, type OpenDrain } from './lease-calls.ts'
import { createLostDrains } from './lost-drains.ts'
import type { Upstream } from './hub/upstream.ts'
import type { DrainId, SessionId, SignalId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

export interface DrainsDeps {
  upstream: Pick<Upstream, 'request'>
  clock: Pick<Clock, 'after'>
  log: Log
}

export interface Drains {
  /**
   * Sends a drain once no earlier one is outstanding. `ask` calls `received` before it resolves. If the
   * answer is lost, the drain is released and requested again. Rejects with `hub_unreachable`, without
   * sending it, if an earlier one is outstanding for `bridge_wait_ms`.
   */
  request<T>(session_id: SessionId, ask: () => Promise<T>): Promise<T>
  /**
   * The answer is being passed to the client. `written`, `confirm` or `release` must follow; until then no
   * other drain of the session is sent.
   */
  received(session_id: SessionId, drain: OpenDrain): void
  /** The client has the answer; whether it was read will be reported later. */
  written(drain_id: DrainId): void
  /** The client has read the drained signals. */
  confirm(drain_id: DrainId): void
  /** The client will never see these signals. Releases whole drains. */
  release(signal_ids: readonly SignalId[]): void
  /** Resolves once every report so far was sent to the hub or failed. */
  settled(): Promise<void>
  /** Releases drains of an earlier bridge of this session that were never confirmed. */
  releaseOrphaned(session_id: SessionId): Promise<void>
}

interface OpenLease {
  session_id: SessionId
  signal_ids: readonly SignalId[]
  written: boolean
}

export function createDrains({ upstream, clock, log }: DrainsDeps): Drains {
  /**
   * Drains received or written whose outcome the hub does not know yet. They are not released with lost ones.
   */
  const open = new Map<DrainId, OpenLease>()
  /**
   * Confirmed drains, oldest first. The hub holds their leases until the turn ends, but they are not released
   * with lost ones because the client has them.
   */
  const confirmed = new Set<DrainId>()
  const gate = createGate(clock, mayDrain)
  const calls = createLeaseCalls(upstream)
  const reports = createHubReports(log, () => gate.check())
  const isKnown = (drain_id: DrainId) => open.has(drain_id) || confirmed.has(drain_id)
  const lost = createLostDrains({ calls, reports, log, isKnown })

  function mayDrain(session_id: SessionId): boolean {
    if (reports.outstanding() > 0) return false
    for (const one of open.values()) if (!one.written && one.session_id === session_id) return false
    return true
  }

  function written(drain_id: DrainId): void {
    const drain = open.get(drain_id)
    if (drain !== undefined) drain.written = true
    gate.check()
  }

  return {
    async request(session_id, ask) {
      for (;;) {
        if (!mayDrain(session_id)) await gate.wait(session_id)
        const answer = await reports.enqueue(async () => {
          // An earlier drain may have been received in the meantime, or a report may be outstanding.
          return mayDrain(session_id) ? { is: await lost.request(session_id, ask) } : null
        })
        if (answer !== null) return answer.is
      }
    },
    received(session_id, { drain_id, signal_ids }) {
      // An empty drain has nothing to confirm or release.
      if (signal_ids.length > 0) open.set(drain_id, { session_id, signal_ids, written: false })
    },
    written,
    confirm(drain_id) {
      const session_id = open.get(drain_id)?.session_id
      const step = () => calls.confirm(session_id, drain_id)
      confirmed.add(drain_id)
      for (const oldest of confirmed) {
        if (confirmed.size <= LIMITS.bridge_confirms_max) break
        confirmed.delete(oldest)
      }
      reports.report(`drain ${drain_id} confirmed`, step, () => open.delete(drain_id))
      written(drain_id)
    },
    release(signal_ids) {
      const released = new Set(signal_ids)
      for (const [drain_id, { session_id, signal_ids }] of [...open]) {
        if (!signal_ids.some((id) => released.has(id))) continue
        open.delete(drain_id)
        const step = () => calls.release(session_id, signal_ids)
        reports.report(`${signal_ids.length} signals released`, step, (reported) => {
          if (!reported) lost.add(session_id)
        })
      }
    },
    settled: () => reports.settled(),
    releaseOrphaned: (session_id) =>
      reports.enqueue(() => lost.release(session_id, LIMITS.bridge_leftover_wait_ms)),
  }
}

/** Holds back drains that may not be sent yet. */
function createGate(clock: Pick<Clock, 'after'>, mayDrain: (session_id: SessionId) => boolean) {
  const waiting = new Set<() => void>()
  return {
    /** Waits outside the queue, because the requests it waits for may go through the queue. */
    wait(session_id: SessionId): Promise<void> {
      return new Promise((resolve, reject) => {
        const late = clock.after(LIMITS.bridge_wait_ms, () => {
          waiting.delete(check)
          reject(unreachable(new Error('the outcome of an earlier drain has not been reported to it yet')))
        })
        const check = () => {
          if (!mayDrain(session_id)) return
          late.cancel()
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
      })
    },
    check() {
      for (const check of [...waiting]) check()
    },
  }
}
