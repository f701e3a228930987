/** What the signals module tells the rest of the hub, always after the store has made it durable. */
import type { PendingEntry } from '../../contracts/frames.ts'
import type { DrainId, Identity, SessionId, SignalId } from '../../contracts/ids.ts'

/** Why drained signals went back to pending. */
export type ReleaseCause = 'answer_broken' | 'hub_restarted' | 'session_lost' | 'lease_timed_out' | 'asked'

export interface SignalEvents {
  /** A new signal waits. */
  pushed(push: PendingEntry & { to: Identity; to_session?: SessionId; pending_count: number }): void
  /** The same key came again: nothing was stored and nobody is told. */
  repeated(signal: { signal_id: SignalId; to: Identity; from: Identity }): void
  drained(drain: {
    to: Identity
    signal_ids: SignalId[]
    session_id: SessionId
    drain_id: DrainId
    pending_count: number
  }): void
  /** `waited` names those that had gone back and were pending again: they left the queue by this. */
  confirmed(confirm: {
    to: Identity
    drain_id: DrainId
    signal_ids: SignalId[]
    waited: SignalId[]
    pending_count: number
  }): void
  released(release: {
    to: Identity
    signal_ids: SignalId[]
    cause: ReleaseCause
    pending_count: number
  }): void
  /** They waited for one session, which is gone: any session of the persona may drain them now. */
  freed(freed: { to: Identity; signal_ids: SignalId[]; session_id: SessionId; pending_count: number }): void
  /** Dead or finished ones wait again. */
  replayed(replay: { to: Identity; signal_ids: SignalId[]; pending_count: number }): void
  /** `waited` names those that were still pending: they left the queue without a drain. */
  completed(completion: {
    to: Identity
    by: 'agent' | 'operator'
    signal_ids: SignalId[]
    waited: SignalId[]
    session_id: SessionId
    pending_count: number
  }): void
  expired(expiry: { to: Identity; signal_ids: SignalId[]; pending_count: number }): void
  /** Its sender or the operator took it back while it was pending. */
  cancelled(cancel: { to: Identity; by: Identity; signal_ids: SignalId[]; pending_count: number }): void
  dead(death: { to: Identity; signal_ids: SignalId[]; pending_count: number }): void
  /** The result is kept with the signal, but the persona that should hear of it takes no signals. */
  replyRefused(refusal: { signal_id: SignalId; reply_to: Identity; code: string }): void
  rung(bell: {
    to: Identity
    signal_id: SignalId
    doorbell_id: string
    stage: 'requested' | 'accepted' | 'seen'
  }): void
}
