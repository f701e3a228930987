/** The doorbell: a notice of pending signals, without a payload. */
import * as z from 'zod'
import { DoorbellId, Identity, SignalId } from './ids.ts'
import { LIMITS } from './limits/limits.ts'

export const DoorbellReason = z.enum(['signal', 'backlog', 'manual'])
export type DoorbellReason = z.infer<typeof DoorbellReason>

export const Doorbell = z.strictObject({
  doorbell_id: DoorbellId,
  identity: Identity,
  pending_count: z.number().int().min(1),
  /** Signal named in the text; the drain returns all. */
  signal_id: SignalId,
  from: z.string(),
  intent: z.string(),
  priority: z.number().int(),
  reason: DoorbellReason,
  text: z.string().max(LIMITS.doorbell_text_length_max),
})
export type Doorbell = z.infer<typeof Doorbell>

const SAFE_LENGTH_MAX = 32

/** Visible part of a doorbell's id, by which receipts are matched: the random end of the ULID. */
export function shortBellId(doorbell_id: string): string {
  return doorbell_id.slice(-LIMITS.short_id_length).toLowerCase()
}

/**
 * Renders the text of a doorbell. Sender and intent are sanitized again, because a model reads this text unfiltered.
 */
export function doorbellText(bell: Omit<Doorbell, 'text'>): string {
  const safe = (word: string) => word.replace(/[^A-Za-z0-9._:/-]/g, '').slice(0, SAFE_LENGTH_MAX) || 'unknown'
  const count = bell.pending_count === 1 ? '1 signal waits' : `${bell.pending_count} signals wait`
  const about = `from ${safe(bell.from)}: ${safe(bell.intent)}`
  return `[turnbell] ${count} (${about}). Call signals_pending once. (bell ${shortBellId(bell.doorbell_id)})`
}

/** Returns the short id if the text is a doorbell as shown to an agent, otherwise null. */
export function bellInText(text: string): string | null {
  return /^\[turnbell\] .*\(bell ([0-9a-z]+)\)\s*$/.exec(text)?.[1] ?? null
}
