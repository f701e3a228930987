/**
 * Large payloads in parts. A client shows its model only so much of one answer, and what it cuts away would count as
 * read. So the bridge of such a client hands over the first part, and `signals read` returns the others.
 */
import * as z from 'zod'
import type { Json } from './ids.ts'
import { LIMITS } from './limits.ts'

/** Which part of a payload is shown. */
export const PayloadPart = z.object({
  /** Counts from 1. */
  part: z.number().int().min(1),
  parts: z.number().int().min(1),
  /** How to get the next one; absent with the last. */
  next: z.string().optional(),
})
export type PayloadPart = z.infer<typeof PayloadPart>

/**
 * The payload's text (a string as it is, anything else as JSON) in parts of at most `signal_part_bytes` each, as they
 * are written in JSON. No character is split.
 */
export function partsOf(payload: Json): string[] {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const parts: string[] = []
  let part = ''
  let bytes = 0
  for (const character of text) {
    const size = writtenBytes(character)
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

/** One part in place of the payload. Null where there is no such part. */
export function inPart<S extends { signal_id: string; payload: Json }>(
  signal: S,
  part: number,
): (S & { payload_part: PayloadPart }) | null {
  const texts = partsOf(signal.payload)
  const payload = texts[part - 1]
  if (payload === undefined) return null
  const { signal_id } = signal
  const next =
    part === texts.length ? {} : { next: `signals read {"signal_id":"${signal_id}","part":${part + 1}}` }
  return { ...signal, payload, payload_part: { part, parts: texts.length, ...next } }
}

/** Quotes are not counted: every part has the same two. */
export const writtenBytes = (value: Json) => Buffer.byteLength(JSON.stringify(value)) - 2
