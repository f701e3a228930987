/** Data of leases and of the sessions that hold them, and the rules for comparing turns. */
import type { DrainId, Identity, SessionId, SignalId } from '../../contracts/ids.ts'
import type { Turn } from '../../contracts/registry.ts'

export interface Lease {
  drain_id: DrainId
  identity: Identity
  session_id: SessionId
  /** Ids of the drained signals; empty until the store has drained. */
  signal_ids: readonly SignalId[]
  /** The lease is confirmed by the end of this turn or by any later turn. Null until a turn is known. */
  boundary_turn: number | null
  /**
   * Earlier value of `boundary_turn` whose end was reported before the answer was known to have arrived. It applies
   * again once the agent shows that it has the answer. Otherwise null.
   */
  unverified_turn: number | null
  /** The answer left the hub completely. Before that a next drain does not count. */
  written: boolean
  /** Every report sent before the answer left has been processed. Before that the end of a turn does not confirm. */
  flushed: boolean
  /** The caller has shown a sign of life after its answer. */
  received: boolean
  /** The session has drained again, which counts once the answer is known to be received. */
  drained_again: boolean
  /** Its turn has ended. */
  turn_ended: boolean
  /** A confirm or a next drain has shown that the agent has the answer. */
  seen: boolean
  /** Its signals are pending again; the end of the turn confirms those that were not drained again. */
  released: boolean
}

export interface TurnReport {
  turn: Turn
  turn_seq: number
}

export interface Session {
  identity: Identity
  session_id: SessionId
  seen_at: number
  /** As last reported; null before the first report. */
  turn: TurnReport | null
  /** A turn was reported, not only an idle surface. */
  reports_turns: boolean
  has_drained: boolean
  leases: Set<Lease>
}

export function newLease(drain_id: DrainId, { identity, session_id, turn }: Session): Lease {
  return {
    drain_id,
    identity,
    session_id,
    signal_ids: [],
    boundary_turn: turn === null ? null : boundaryAfter(turn),
    unverified_turn: null,
    written: false,
    received: false,
    drained_again: false,
    turn_ended: false,
    flushed: false,
    seen: false,
    released: false,
  }
}

/**
 * Whether a report continues the count of the report before it. Turns are counted one by one; any other step means that
 * another shim counts, perhaps within the turn of the drain, and earlier reports no longer apply.
 */
export function continuesCount(before: number, turn_seq: number): boolean {
  return turn_seq === before || turn_seq === before + 1
}

/** Whether the report shows that the lease's turn has ended. */
export function isPast({ boundary_turn }: Lease, { turn, turn_seq }: TurnReport): boolean {
  if (boundary_turn === null) return false
  return turn_seq > boundary_turn || (turn_seq === boundary_turn && turn === 'idle')
}

/**
 * Turn whose end, or whose successor, shows that the answer was read. An idle agent may already be in a turn that was
 * not reported yet, so the next turn is taken.
 */
export function boundaryAfter({ turn, turn_seq }: TurnReport): number {
  return turn === 'busy' ? turn_seq : turn_seq + 1
}
