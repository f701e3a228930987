/** The signals module as the rest of the hub sees it: one facade over send, drain, ack and the sweep. */
import type { PendingEntry } from '../../contracts/frames.ts'
import type { Identity, Json, SessionId, SignalId } from '../../contracts/ids.ts'
import type {
  DrainInput,
  DrainResult,
  Receipt,
  SendInput,
  SignalStatus,
  SignalView,
} from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'

export interface BroadcastInput extends Omit<SendInput, 'to' | 'to_session' | 'require_live'> {
  /** Personas; all active ones but the sender when absent. */
  to?: Identity[] | undefined
}

export interface BroadcastResult {
  broadcast_id: string
  receipts: Receipt[]
  /** Recipients that were refused, with the code. */
  refused: { to: Identity; code: string; detail: string }[]
}

export interface InboxQuery {
  /** Whose inbox. The operator may name any persona, or none for all; everybody else only itself. */
  to?: Identity | undefined
  status?: SignalStatus[] | undefined
  from?: Identity | undefined
  before_seq?: number | undefined
  limit: number
}

export interface SignalService {
  /** Throws `target_unknown`, `target_wrapped`, `target_stale`, `target_not_routable`, `payload_too_large`, `queue_full`; then nothing is stored. */
  send(caller: Caller, input: SendInput): Promise<Receipt>
  broadcast(caller: Caller, input: BroadcastInput): Promise<BroadcastResult>
  /** Only an agent drains, and only its own queue. `answered` decides what becomes of the lease. */
  drain(caller: Caller, input: DrainInput, answered: Promise<'written' | 'broken'>): Promise<DrainResult>
  /** Changes nothing; for daemons. */
  peek(identity: Identity, limit: number): { signals: PendingEntry[]; total: number; as_of_seq: number }
  inbox(caller: Caller, query: InboxQuery): Promise<SignalView[]>
  ack(
    caller: Caller,
    input: { signal_ids: SignalId[]; result?: Json | undefined },
  ): Promise<{ completed: SignalId[]; already: SignalId[]; unknown: SignalId[] }>
  release(
    caller: Caller,
    input: { signal_ids: SignalId[] },
  ): Promise<{ released: SignalId[]; unknown: SignalId[] }>
  replay(
    caller: Caller,
    input: { signal_ids: SignalId[] },
  ): Promise<{ replayed: SignalId[]; unknown: SignalId[] }>
  read(caller: Caller, signal_id: SignalId): Promise<SignalView>

  // What the registry and the daemons tell it.
  /** The session reached a turn boundary after these leases were taken: their acks are final. */
  turnReported(
    identity: Identity,
    session_id: SessionId,
    turn: 'idle' | 'busy' | 'unknown',
    turn_seq: number,
  ): Promise<void>
  /** The session is lost: its tentative acks are taken back. */
  sessionLost(identity: Identity, session_id: SessionId): Promise<void>
  /** A sign of life of the session: its leases live on. */
  sessionSeen(identity: Identity, session_id: SessionId): void
  doorbellReported(identity: Identity, signal_id: SignalId, stage: 'requested' | 'accepted' | 'seen'): void
  /** Expiry, leases without a sign of life, compaction. Called on a timer. */
  sweep(): Promise<void>
}
