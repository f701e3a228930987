/** What the machine keeps, and the moments at which time alone changes it. */
import type { DeliveryReason, MachineState } from '../contracts/control.ts'
import type { SurfaceKind } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import { deliveryReasonOf, type History, type PacerRules } from './history.ts'
import { rememberedHistory, type DaemonMemory } from './memory.ts'
import { decide } from './pacer.ts'
import type { Meanwhile } from './reconcile.ts'

export interface Input {
  identity: string
  surface: SurfaceKind
  rules: PacerRules
  now: number
  /** What an earlier daemon of this persona left, with this one's monotonic times. */
  memory?: DaemonMemory | null
}

/** The newest signal that came for the persona, whatever became of it. */
export interface LastReceived {
  signal_id: string
  from: string
  intent: string
  at: number
}

export interface Context {
  identity: string
  history: History
  /** The moment of the latest event. */
  now: number
  /** Attempts that failed since the queue was last reconciled; `retry_at` is null while one runs. */
  link: { failures: number; retry_at: number | null }
  /** The list that is on its way, in RECONCILING. */
  reconcile: { peek_id: string; by: number; meanwhile: Meanwhile; active: boolean } | null
  /** The last look before a bell, in EMITTING. */
  check: { peek_id: string; by: number; limit: number } | null
  /** The report whose answer waits for that look. */
  take: { request: number; by: number } | null
  peeks: number
  probes: number
  doorbells_rung: number
  last_drain_at: number | null
  last_received: LastReceived | null
  /** The reason why nothing is delivered, and since when it has been the same. */
  delivery: { reason: DeliveryReason | null; since: number }
  /** A surface that never attached counts as absent from here on. */
  absent_by: number
  absence_counted: boolean
}

export function newContext({ identity, surface, rules, now, memory = null }: Input): Context {
  const history = rememberedHistory(rules, surface, memory)
  return {
    identity,
    history,
    now,
    // The first attempt is due at once.
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

/** The nearest moment at which time alone changes something; null when only news can. */
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
