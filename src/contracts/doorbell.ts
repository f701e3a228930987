/** The doorbell: notice that signals wait. No body, ever. */
import * as z from 'zod'
import { DoorbellId, Identity, SignalId } from './ids.ts'
import { LIMITS } from './limits.ts'

export const DoorbellReason = z.enum(['signal', 'backlog', 'manual'])
export type DoorbellReason = z.infer<typeof DoorbellReason>

export const Doorbell = z.strictObject({
  doorbell_id: DoorbellId,
  identity: Identity,
  pending_count: z.number().int().min(1),
  /** The signal this bell names; the drain returns the others too. */
  signal_id: SignalId,
  from: z.string(),
  intent: z.string(),
  priority: z.number().int(),
  reason: DoorbellReason,
  text: z.string().max(LIMITS.doorbell_text_length_max),
})
export type Doorbell = z.infer<typeof Doorbell>

const SAFE_LENGTH_MAX = 32

/** The visible part of a doorbell's id; a receipt is recognised by it. Takes the random end of the ULID. */
export function shortBellId(doorbell_id: string): string {
  return doorbell_id.slice(-LIMITS.short_id_length).toLowerCase()
}

/**
 * The one template. Sender and intent are already narrow identifiers at the hub's door; they are
 * narrowed again here because this text reaches a model as it stands.
 */
export function doorbellText(bell: Omit<Doorbell, 'text'>): string {
  const safe = (word: string) => word.replace(/[^A-Za-z0-9._:/-]/g, '').slice(0, SAFE_LENGTH_MAX) || 'unknown'
  const count = bell.pending_count === 1 ? '1 signal waits' : `${bell.pending_count} signals wait`
  const about = `from ${safe(bell.from)}: ${safe(bell.intent)}`
  return `[turnbell] ${count} (${about}). Call signals_pending once. (bell ${shortBellId(bell.doorbell_id)})`
}

/** The short id of the doorbell that a text is, as a client shows it to its agent; null for any other text. */
export function bellInText(text: string): string | null {
  return /^\[turnbell\] .*\(bell ([0-9a-z]+)\)\s*$/.exec(text)?.[1] ?? null
}
