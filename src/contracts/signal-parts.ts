/**
 * Delivery of large payloads in parts. A client truncates long tool results, and signals in the truncated part would
 * count as read. The bridge of such a client delivers the first part, and `signals read` returns the others.
 */
import * as z from 'zod'
import type { Json } from './ids.ts'
import { LIMITS } from './limits/limits.ts'

/** Position of a part in a payload. */
export const PayloadPart = z.object({
  /** Starts at 1. */
  part: z.number().int().min(1),
  parts: z.number().int().min(1),
  /** Call that returns the next part; absent in the last one. */
  next: z.string().optional(),
})
export type PayloadPart = z.infer<typeof PayloadPart>

/**
 * Splits the payload's text (a string itself, anything else as JSON) into parts of at most `signal_part_bytes` of JSON
 * each. Characters are not split.
 */
export function splitPayload(payload: Json): string[] {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const parts: string[] = []
  let part = ''
  let bytes = 0
  for (const character of text) {
    const size = jsonBytes(character)
    if (bytes + size > LIMITS.signal_part_bytes) {
      parts.push(part)
      part = ''
      bytes = 0
    }
    part += character
    bytes += size
  }
  return [...parts, part]
}

/** Replaces the payload by one part. Returns null if there is no such part. */
export function withPart<S extends { signal_id: string; payload: Json }>(
  signal: S,
  part: number,
): (S & { payload_part: PayloadPart }) | null {
  const texts = splitPayload(signal.payload)
  const payload = texts[part - 1]
  if (payload === undefined) return null
  const { signal_id } = signal
  const next =
    part === texts.length ? {} : { next: `signals read {"signal_id":"${signal_id}","part":${part + 1}}` }
  return { ...signal, payload, payload_part: { part, parts: texts.length, ...next } }
}

/** Size in JSON without the quotes, which all parts have. */
export const jsonBytes = (value: Json) => Buffer.byteLength(JSON.stringify(value)) - 2
