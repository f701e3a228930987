/** What the machine is told, and what it asks for. */
import type { NotifyResult, Proof, SurfaceReport } from '../contracts/control.ts'
import type { Doorbell } from '../contracts/doorbell.ts'
import type { PendingEntry } from '../contracts/frames.ts'
import type { DaemonErrorClass } from '../contracts/metrics.ts'

/** Every event brings its moment, in monotonic milliseconds. */
export type DaemonEvent = { now: number } & (
  | { type: 'LINK_UP' }
  /** The hub of this machine has just become ready. `random` keeps fifty daemons apart. */
  | { type: 'HUB_BACK'; random: number }
  /** `random`, in [0, 1), spreads the next attempt. */
  | { type: 'LINK_LOST'; error_class: DaemonErrorClass; detail: string; random: number }
  | {
      type: 'PENDING_LISTED'
      peek_id: string
      signals: readonly PendingEntry[]
      total: number
      as_of_seq: number
      /** For the bell, should this answer let one leave. */
      doorbell_id: string
    }
  | { type: 'PEEK_REFUSED'; peek_id: string; detail: string; random: number }
  | { type: 'SIGNAL_PUSHED'; entry: PendingEntry; total: number }
  | { type: 'SIGNALS_DRAINED'; signal_ids: readonly string[]; session_id: string; total: number }
  | { type: 'SIGNALS_RELEASED'; signal_ids: readonly string[]; total: number }
  /** They expired, or the operator finished them: nobody drained. */
  | { type: 'SIGNALS_GONE'; signal_ids: readonly string[]; total: number }
  /** `same_shim`: whoever was heard last says it. `request` names the answer that this report waits for. */
  | { type: 'SURFACE_REPORTED'; report: SurfaceReport; same_shim: boolean; request: number }
  | { type: 'SURFACE_LOST' }
  /** Who waited for this answer has hung up. */
  | { type: 'REPORT_ABANDONED'; request: number }
  | { type: 'BELL_ANSWERED'; doorbell_id: string; signal_id: string; accepted: boolean; proof: Proof }
  /** Whether the surface still holds the last bell; null where it gave no answer. Its status came as a report before. */
  | { type: 'SURFACE_PROBED'; probe_id: string; holds: boolean | null }
  | { type: 'NOTIFY_REQUESTED'; request: number }
  | { type: 'RESUME_REQUESTED' }
  | { type: 'TIME_PASSED'; random: number }
)
export type EventOf<T extends DaemonEvent['type']> = Extract<DaemonEvent, { type: T }>

/** What the machine asks for. `runtime.ts` performs it. */
export type Effect =
  | { type: 'connect' }
  | { type: 'closeLink' }
  | { type: 'peek'; params: { peek_id: string; limit: number } }
  /** Over the open connection of a push shim, or in the answer to a report. */
  | { type: 'ring'; params: { doorbell: Doorbell; request: number | null } }
  /** Asks the surface for its status; the result comes back as SURFACE_PROBED. */
  | { type: 'probe'; params: { probe_id: string } }
  | { type: 'answerReport'; params: { request: number } }
  | { type: 'answerNotify'; params: { request: number; result: NotifyResult } }
  | {
      type: 'tellDoorbell'
      params: { doorbell_id: string; signal_id: string; stage: 'requested' | 'accepted' | 'seen' }
    }
  /** The hub should know the surface's new facts now, not at the next heartbeat. */
  | { type: 'publishFacts' }
  /** A severe transition: the metric set leaves at once. */
  | { type: 'publishMetrics' }
  | { type: 'resumeSurface' }
  | { type: 'countError'; params: { error_class: DaemonErrorClass; detail: string } }
