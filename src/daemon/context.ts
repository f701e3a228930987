/** Context of the daemon's state machine, and the next deadline at which elapsed time changes it. */
import type { DeliveryReason, MachineState } from '../contracts/control.ts'
import type { SurfaceKind } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { deliveryReasonOf, type History, type PacerRules } from './history.ts'
import { restoreHistory, type SavedState } from './saved-state.ts'
import { decide } from './pacer.ts'
import type { InterimChanges } from './reconcile.ts'

export interface MachineInput {
  identity: string
  surface: SurfaceKind
  rules: PacerRules
  now: number
  /**
   * State saved by the previous daemon of this persona, with times converted to this process's monotonic
   * clock.
   */
  saved_state?: SavedState | null
}

/** Newest signal received for the persona, whether or not it is still pending. */
export interface LastReceived {
  signal_id: string
  from: string
  intent: string
  at: number
}

export interface Context {
  identity: string
  history: History
  /** Time of the latest event, in monotonic milliseconds. */
  now: number
  /**
   * `failures` counts attempts that failed since the last reconcile; `retry_at` is null while an attempt
   * runs.
   */
  link: { failures: number; retry_at: number | null }
  /** The pending list requested from the hub, in RECONCILING. */
  reconcile: { peek_id: string; by: number; interim: InterimChanges; active: boolean } | null
  /** The last check of the queue before a doorbell, in EMITTING. */
  check: { peek_id: string; by: number; limit: number } | null
  /** The surface report whose response waits for that check. */
  take: { request: number; by: number } | null
  peeks: number
  probes: number
  doorbells_rung: number
  last_drain_at: number | null
  last_received: LastReceived | null
  /** Current reason why nothing is delivered, and the time since which it is unchanged. */
  delivery: { reason: DeliveryReason | null; since: number }
  /** Time from which a surface that never attached counts as absent. */
  absent_by: number
  absence_counted: boolean
}

export function newContext({
  identity,
  surface,
  rules,
  now,
  saved_state: memory = null,
}: MachineInput): Context {
  const history = restoreHistory(rules, surface, memory)
  return {
    identity,
    history,
    now,
    // The first attempt is due immediately.
    link: { failures: 0, retry_at: now },
    reconcile: null,
    check: null,
    take: null,
    peeks: 0,
    probes: 0,
    doorbells_rung: memory?.doorbells_rung ?? 0,
    last_drain_at: memory?.last_drain_at ?? null,
    last_received: memory?.last_received ?? null,
    delivery: { reason: deliveryReasonOf(history, now), since: now },
    absent_by: now + LIMITS.surface_attach_grace_ms,
    absence_counted: false,
  }
}

/** Returns the nearest time at which elapsed time alone changes the state; null if only another event can. */
export function nextDeadline(state: MachineState, context: Context): number | null {
  const { link, reconcile: list, check, take, history: known } = context
  const moments: (number | null | undefined)[] = []
  if (state === 'DISCONNECTED') moments.push(link.retry_at)
  if (state === 'RECONCILING') moments.push(list?.by)
  if (state === 'EMITTING') moments.push(check?.by, take?.by)
  if (state === 'CONNECTED') {
    const decision = decide(known, context.now)
    moments.push(decision.kind === 'wait' ? decision.until : undefined)
  }
  if (!known.surface.known && !context.absence_counted) moments.push(context.absent_by)
  return moments.reduce<number | null>(
    (nearest, at) => (at == null ? nearest : nearest === null ? at : Math.min(nearest, at)),
    null,
  )
}
