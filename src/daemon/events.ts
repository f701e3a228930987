/** Events that the machine receives, and effects that it requests. */
import type { NotifyResult, Proof, SurfaceReport } from '../contracts/control.ts'
import type { Doorbell } from '../contracts/doorbell.ts'
import type { PendingEntry } from '../contracts/frames.ts'
import type { DaemonErrorClass } from '../contracts/metrics.ts'

/** Every event carries its time in monotonic milliseconds. */
export type DaemonEvent = { now: number } & (
  | { type: 'LINK_UP' }
  /** The hub on this machine has just become ready. `random` spreads the daemons' attempts. */
  | { type: 'HUB_BACK'; random: number }
  /** `random`, in [0, 1), spreads the next attempt. */
  | { type: 'LINK_LOST'; error_class: DaemonErrorClass; detail: string; random: number }
  | {
      type: 'PENDING_LISTED'
      peek_id: string
      signals: readonly PendingEntry[]
      total: number
      as_of_seq: number
      /** Id for the doorbell, in case this list allows one to be sent. */
      doorbell_id: string
    }
  | { type: 'PEEK_REFUSED'; peek_id: string; detail: string; random: number }
  | { type: 'SIGNAL_PUSHED'; entry: PendingEntry; total: number }
  | { type: 'SIGNALS_DRAINED'; signal_ids: readonly string[]; session_id: string; total: number }
  | { type: 'SIGNALS_RELEASED'; signal_ids: readonly string[]; total: number }
  /** The signals expired or the operator completed them; they were not drained. */
  | { type: 'SIGNALS_GONE'; signal_ids: readonly string[]; total: number }
  /**
   * `same_shim`: the previous report came from the same shim. `request` identifies the response this report
   * waits for.
   */
  | { type: 'SURFACE_REPORTED'; report: SurfaceReport; same_shim: boolean; request: number }
  | { type: 'SURFACE_LOST' }
  /** The client that waited for this response has disconnected. */
  | { type: 'REPORT_ABANDONED'; request: number }
  | { type: 'BELL_ANSWERED'; doorbell_id: string; signal_id: string; accepted: boolean; proof: Proof }
  /**
   * Whether the surface still holds the last doorbell; null if it did not respond. Its status arrived as a
   * report before.
   */
  | { type: 'SURFACE_PROBED'; probe_id: string; holds: boolean | null }
  | { type: 'NOTIFY_REQUESTED'; request: number }
  | { type: 'RESUME_REQUESTED' }
  | { type: 'TIME_PASSED'; random: number }
)
export type EventOf<T extends DaemonEvent['type']> = Extract<DaemonEvent, { type: T }>

/** Effects that the machine requests. `runtime.ts` performs them. */
export type Effect =
  | { type: 'connect' }
  | { type: 'closeLink' }
  | { type: 'peek'; params: { peek_id: string; limit: number } }
  /** Sent over the open connection of a push shim, or in the response to a report. */
  | { type: 'ring'; params: { doorbell: Doorbell; request: number | null } }
  /** Requests the surface's status; the result arrives as SURFACE_PROBED. */
  | { type: 'probe'; params: { probe_id: string } }
  | { type: 'answerReport'; params: { request: number } }
  | { type: 'answerNotify'; params: { request: number; result: NotifyResult } }
  | {
      type: 'reportDoorbell'
      params: { doorbell_id: string; signal_id: string; stage: 'requested' | 'accepted' | 'seen' }
    }
  /** Sends the surface's new facts to the hub now instead of with the next heartbeat. */
  | { type: 'publishFacts' }
  /** Publishes the metric set immediately, because of a severe transition. */
  | { type: 'publishMetrics' }
  | { type: 'resumeSurface' }
  | { type: 'countError'; params: { error_class: DaemonErrorClass; detail: string } }

type EffectParams<T extends Effect['type']> =
  Extract<Effect, { type: T }> extends { params: infer P } ? P : undefined

/** One function per effect of the machine. */
export type EffectHandlers = { [T in Effect['type']]: (params: EffectParams<T>) => void }

export function performEffect(effect: Effect, handlers: EffectHandlers): void {
  const handle = handlers[effect.type] as (params: unknown) => void
  handle('params' in effect ? effect.params : undefined)
}
