/**
 * Everything the pacer's decision depends on. The pure functions in `queue-changes.ts` and
 * `surface-changes.ts` take a history and return the next one. Times are monotonic milliseconds taken from
 * the events.
 */
import type { DeliveryReason, Proof } from '../contracts/control.ts'
import type { SurfaceKind } from '../contracts/ids.ts'
import type { Presence } from '../contracts/presence.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { SurfaceFacts, Turn } from '../contracts/registry.ts'
import { EMPTY_INDEX, type PendingIndex } from './queue/pending-index.ts'

export interface PacerRules {
  reconnect_ring: 'boundary' | 'idle'
  /** Delay before a backlog rings a surface that is idle by evidence. */
  reconnect_grace_ms: number
  /** Delay before a backlog rings any other surface, and before an unknown turn counts as over. */
  reconnect_patience_ms: number
  bell_receipt_ms: number
  redoorbell_max: number
  /**
   * Whether the surface can confirm that a doorbell was seen. Without receipts a doorbell counts as lost only
   * after a long time without activity.
   */
  receipts: boolean
  /** Whether the persona is rung without a window. */
  headless: boolean
}

export interface SurfaceView {
  attached: boolean
  /** Whether a surface has ever attached to this daemon. */
  known: boolean
  kind: SurfaceKind
  session_id: string | null
  /** The last non-null session id. A session that reattaches after an absence is the same agent. */
  last_session_id: string | null
  delivery: 'push' | 'pull'
  turn: Turn
  turn_seq: number
  /** Time since which the turn has been idle without interruption; null while it is not idle. */
  idle_since: number | null
  /** Time since which the turn has been unknown; null while it is known. */
  unknown_since: number | null
  /**
   * Doorbell that the surface still holds according to its last report: stored, queued or shown, but not yet
   * in a turn.
   */
  outstanding_doorbell_id: string | null
  /** Time at which a person interrupted the session, if they have sent nothing since; otherwise null. */
  interrupted_since: number | null
  /** False while no window shows the session. */
  window: boolean
  /** How the surface is reached, if it has several ways. */
  via: string | null
  /** Only for `status`. */
  presence: Presence | null
  /** Id of the process that runs the session's turns; null if the surface does not report it. */
  instance_id: string | null
}

/** A doorbell and the signal that it names. */
export interface BellName {
  doorbell_id: string
  signal_id: string
}

/** The last doorbell, until a drain answers it. */
export interface Bell extends BellName {
  /** Session that was rung; null if the surface cannot name its session. */
  session_id: string | null
  /** The surface's turn_seq when the doorbell was sent. A larger one means that a new turn has started. */
  turn_seq: number
  rung_at: number
  /** Signals known to be pending when the doorbell was sent. Any other pending signal has not rung yet. */
  covered: PendingIndex
  seen: boolean
  /**
   * `leaving`: the surface has not responded yet. `open`: the surface has it. `held`: the surface could not
   * take it at that time. `failed`: the attempt failed. In the last two cases it reached no agent.
   */
  outcome: 'leaving' | 'open' | 'held' | 'failed'
  /** Time of the first report of a turn after the doorbell; null before. */
  began_at: number | null
  /** Time at which the first turn after the doorbell ended; null before. Reminders are counted from here. */
  ended_at: number | null
}

/** A doorbell that the surface may still hold, even if a drain has answered it. */
export interface UnseenBell {
  doorbell_id: string
  session_id: string | null
}

export interface History {
  rules: PacerRules
  /** Whether the hub's list was received on the current link. */
  reconciled: boolean
  pending: PendingIndex
  surface: SurfaceView
  /** Whether a waiting report can carry a doorbell in its response: the turn ends, also if `turn` is not idle. */
  take: boolean
  bell: Bell | null
  /**
   * The last doorbell whose prompt may not have been consumed. The surface is probed for it before the next
   * doorbell is sent.
   */
  unseen: UnseenBell | null
  /** Id of the probe that is in progress. */
  probe_id: string | null
  /** Time at which the surface last reported that it holds a doorbell, or did not respond; null before. */
  held_at: number | null
  /** Last doorbells of the sessions that used the surface before the current one; newest last. */
  former: readonly Bell[]
  /**
   * Doorbells that were seen, and doorbells that were refused and not seen: their outcome may be reported
   * late.
   */
  receipts: readonly string[]
  refused: readonly BellName[]
  /** Whether a loud signal became pending after the last doorbell was sent. */
  fresh: boolean
  /** Consecutive doorbells that only repeated an earlier one, since the last drain. */
  rerings: number
  /** Consecutive doorbells without any trace, since the last drain or receipt. */
  lost_rings: number
  /** The last doorbell, kept after a drain has answered it; null before the first. */
  last_doorbell_id: string | null
  /** Last known outcome of that doorbell. */
  last_proof: Proof | null
  /** Time at which a doorbell was last sent, and time at which one was last seen inside a turn. */
  last_rung_at: number | null
  last_seen_at: number | null
  /** Sessions whose re-rings are part of this record: none of them starts a new record. */
  sessions: readonly string[]
  /** Whether a turn ended without a drain after the re-rings were used up. */
  ignored: boolean
  /** Set while a backlog found at a reconnect waits for activity. */
  hold: { since: number } | null
  /** Whether the next doorbell is the first after a hold. */
  after_hold: boolean
  /** Whether `notify_surface` requested a doorbell. */
  manual: boolean
  /**
   * Number of consecutive drains that were released, and the time until which the next doorbell is delayed
   * because of that.
   */
  setbacks: { count: number; since_drain: boolean; rest_until: number }
  /** Pending signals that a doorbell has named since the last drain. */
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
      via: null,
      presence: null,
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
    attached,
    session_id,
    turn,
    turn_seq,
    ...(instance_id !== null && { instance_id }),
    ...(!isReachable(history) && { window: false as const }),
  }
}

/** Whether the surface can be rung: a session without a window is rung only if the persona is headless. */
export function isReachable({ surface, rules }: History): boolean {
  return surface.attached && (surface.window || rules.headless)
}

/**
 * Returns why signals do not reach the agent; null while they do. A cause takes precedence over its effects.
 * An unknown turn counts as running only for `turn_unknown_max_ms`.
 */
export function deliveryReasonOf(history: History, now: number): DeliveryReason | null {
  const { surface, reconciled, ignored, lost_rings, bell, pending } = history
  if (!reconciled) return 'hub_unreachable'
  if (!surface.attached) return 'no_client'
  if (!isReachable(history)) return 'no_window'
  // If another session drained what the failed doorbell was for, nothing is undelivered.
  const broke = bell?.outcome === 'failed' && pending.total > 0
  const { unknown_since } = surface
  const unread = unknown_since !== null && now - unknown_since >= LIMITS.turn_unknown_max_ms
  if (broke || unread || isStuck(history, now) || lost_rings >= LIMITS.lost_rings_max) return 'surface_failed'
  return ignored ? 'not_drained' : null
}

/** Whether signals are pending while the idle surface still holds a doorbell, or does not respond to probes. */
function isStuck({ surface, pending, held_at, last_rung_at }: History, now: number): boolean {
  const { idle_since } = surface
  if (pending.total === 0 || held_at === null || last_rung_at === null || idle_since === null) return false
  return now - Math.max(last_rung_at, idle_since) >= LIMITS.bell_held_max_ms
}

/** Sequence number of the newest signal that a doorbell covered. */
export function coveredSeq({ covered }: Bell): number {
  return covered.entries.reduce((newest, { seq }) => Math.max(newest, seq), 0)
}

/** Sessions without a name cannot be distinguished and count as the same. */
export function isSameSession(one: string | null, other: string | null): boolean {
  return one === null || other === null || one === other
}

/** Record of unanswered doorbells after a drain, or for another agent. */
export const EMPTY_RECORD = { rerings: 0, ignored: false, sessions: [] } as const

export function forgetBell(history: History): History {
  return { ...history, ...EMPTY_RECORD, lost_rings: 0, bell: null, former: [], fresh: false, named: [] }
}
