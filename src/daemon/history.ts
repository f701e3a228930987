/**
 * What the pacer knows. How news changes it stands in `queue-changes.ts` and `surface-changes.ts`: pure functions that
 * take the history and return the next one. Times are monotonic milliseconds that come in with the news.
 */
import type { DeliveryReason, Proof } from '../contracts/control.ts'
import type { SurfaceKind } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { SurfaceFacts, Turn } from '../contracts/registry.ts'
import { EMPTY_INDEX, type PendingIndex } from './pending-index.ts'

export interface PacerRules {
  reconnect_ring: 'boundary' | 'idle'
  /** Before a backlog rings a surface that is idle by evidence. */
  reconnect_grace_ms: number
  /** Before a backlog rings any other surface, and before an unknown turn counts as over. */
  reconnect_patience_ms: number
  bell_receipt_ms: number
  redoorbell_max: number
  /**
   * The surface can tell that a bell was seen. Without that a bell is only known to be lost when nothing
   * happens for very long.
   */
  receipts: boolean
  /** The persona is rung without a window. */
  headless: boolean
}

export interface SurfaceView {
  attached: boolean
  /** Whether one has ever attached to this daemon: only then can one come back. */
  known: boolean
  kind: SurfaceKind
  session_id: string | null
  /** The last session that had a name. One that is back after nobody was there is no other agent. */
  last_session_id: string | null
  delivery: 'push' | 'pull'
  turn: Turn
  turn_seq: number
  /** Since when the turn has been idle without a break; null while it is not. */
  idle_since: number | null
  /** The same for a turn of which nothing is known. */
  unknown_since: number | null
  /** The bell that the surface still holds, by its last report: stored, queued or shown, and in no turn yet. */
  outstanding_doorbell_id: string | null
  /** Since when the session stands interrupted by a person who has sent nothing since; null while it does not. */
  interrupted_since: number | null
  /** False while no window shows the session. */
  window: boolean
  /** The process that runs the turns of the session; null where the surface does not tell. */
  instance_id: string | null
}

/** A bell, and the signal that it names. */
export interface BellName {
  doorbell_id: string
  signal_id: string
}

/** The last bell, until a drain answers it. */
export interface Bell extends BellName {
  /** Whose bell it is; null where the surface cannot name its session. */
  session_id: string | null
  /** The surface's turn_seq when it left: a larger one means that a new turn began since. */
  turn_seq: number
  rung_at: number
  /** What was known to wait when it left: whatever else waits has never rung. */
  covered: PendingIndex
  seen: boolean
  /**
   * `leaving`: the surface has not answered yet. `open`: it has it. `held`: it could not take it just
   * then. `failed`: the attempt broke. The last two reached nobody.
   */
  outcome: 'leaving' | 'open' | 'held' | 'failed'
  /** When the first turn after it was heard of; null before. */
  began_at: number | null
  /** When the first turn after it was over; null before. Reminders are counted from there. */
  ended_at: number | null
}

/** A bell that may still be in the hands of its surface, whatever a drain has answered. */
export interface UnseenBell {
  doorbell_id: string
  session_id: string | null
}

export interface History {
  rules: PacerRules
  /** The hub's list was read on the link we have. */
  reconciled: boolean
  pending: PendingIndex
  surface: SurfaceView
  /** A report waits whose answer can carry a bell: the end of a turn, whatever its `turn` says. */
  take: boolean
  bell: Bell | null
  /**
   * The last bell whose prompt may not have been consumed. The surface is asked about it before the next bell is sent.
   */
  unseen: UnseenBell | null
  /** The question to the surface that is under way. */
  probe_id: string | null
  /** When the surface last said that it holds a bell, or gave no answer; null before. */
  held_at: number | null
  /** The last bells of sessions that were at the surface before the one that is there; newest last. */
  former: readonly Bell[]
  /** Bells that were seen, and those that no surface took and nobody has seen: what became of one may be told late. */
  receipts: readonly string[]
  refused: readonly BellName[]
  /** Something loud came to wait after the last bell left. */
  fresh: boolean
  /** Bells in a row that only repeated what was rung already, since the last drain. */
  rerings: number
  /** Bells in a row that left no trace, since the last drain or receipt. */
  lost_rings: number
  /** The last doorbell, also once a drain has answered it; null before one. */
  last_doorbell_id: string | null
  /** What became of that, as far as anybody knows. */
  last_proof: Proof | null
  /** When a bell last left, and when one was last seen inside a turn. */
  last_rung_at: number | null
  last_seen_at: number | null
  /** Sessions whose re-rings count, or counted, in this record: none of them begins a new one. */
  sessions: readonly string[]
  /** The re-rings are used up and a turn ended without a drain once more. */
  ignored: boolean
  /** A backlog found at a reconnect waits for activity. */
  hold: { since: number } | null
  /** The next bell is the first since a hold. */
  after_hold: boolean
  /** `notify_surface` asked for a bell. */
  manual: boolean
  /** How often in a row a drain was taken back, and until when the next bell for that rests. */
  setbacks: { count: number; since_drain: boolean; rest_until: number }
  /** Signals that a bell has named since the last drain; only those that still wait. */
  named: readonly string[]
}

export const NO_SETBACKS: History['setbacks'] = { count: 0, since_drain: false, rest_until: 0 }

export function newHistory(rules: PacerRules, kind: SurfaceKind): History {
  return {
    rules,
    reconciled: false,
    pending: EMPTY_INDEX,
    surface: {
      attached: false,
      known: false,
      kind,
      session_id: null,
      last_session_id: null,
      delivery: 'push',
      turn: 'unknown',
      turn_seq: 0,
      idle_since: null,
      unknown_since: null,
      outstanding_doorbell_id: null,
      interrupted_since: null,
      window: true,
      instance_id: null,
    },
    take: false,
    bell: null,
    unseen: null,
    probe_id: null,
    held_at: null,
    former: [],
    receipts: [],
    refused: [],
    fresh: false,
    rerings: 0,
    lost_rings: 0,
    last_doorbell_id: null,
    last_proof: null,
    last_rung_at: null,
    last_seen_at: null,
    sessions: [],
    ignored: false,
    hold: null,
    after_hold: false,
    manual: false,
    setbacks: NO_SETBACKS,
    named: [],
  }
}

export function factsOf(history: History): SurfaceFacts {
  const { attached, session_id, turn, turn_seq, instance_id } = history.surface
  if (!attached) return { attached, session_id: null, turn, turn_seq }
  return {
    ...{ attached, session_id, turn, turn_seq },
    ...(instance_id !== null && { instance_id }),
    ...(!isReachable(history) && { window: false as const }),
  }
}

/** A session that no window shows is rung only if the persona is headless. */
export function isReachable({ surface, rules }: History): boolean {
  return surface.attached && (surface.window || rules.headless)
}

/**
 * Why signals do not reach the agent; null while they do. The cause comes before its effects. An unknown turn counts as
 * a running one, but not for ever.
 */
export function deliveryReasonOf(history: History, now: number): DeliveryReason | null {
  const { surface, reconciled, ignored, lost_rings, bell, pending } = history
  if (!reconciled) return 'hub_unreachable'
  if (!surface.attached) return 'no_client'
  if (!isReachable(history)) return 'no_window'
  // What a broken bell was for may have been taken by somebody else: then nothing is undelivered.
  const broke = bell?.outcome === 'failed' && pending.total > 0
  const { unknown_since } = surface
  const unread = unknown_since !== null && now - unknown_since >= LIMITS.turn_unknown_max_ms
  if (broke || unread || isStuck(history, now) || lost_rings >= LIMITS.lost_rings_max) return 'surface_failed'
  return ignored ? 'not_drained' : null
}

/** Something waits behind a bell that the idle surface still holds, or of which it gives no answer. */
function isStuck({ surface, pending, held_at, last_rung_at }: History, now: number): boolean {
  const { idle_since } = surface
  if (pending.total === 0 || held_at === null || last_rung_at === null || idle_since === null) return false
  return now - Math.max(last_rung_at, idle_since) >= LIMITS.bell_held_max_ms
}

/** The newest signal that a bell was for: what is newer has not rung with it. */
export function coveredSeq({ covered }: Bell): number {
  return covered.entries.reduce((newest, { seq }) => Math.max(newest, seq), 0)
}

/** Where one of the two has no name nothing tells them apart. */
export function isSameSession(one: string | null, other: string | null): boolean {
  return one === null || other === null || one === other
}

/** What a drain, or another agent, wipes clean. */
export const NO_RECORD = { rerings: 0, ignored: false, sessions: [] } as const

export function forgetBell(history: History): History {
  return { ...history, ...NO_RECORD, lost_rings: 0, bell: null, former: [], fresh: false, named: [] }
}
