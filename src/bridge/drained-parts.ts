/**
 * Shortens the payloads in a drain's result to what the client displays: a payload that is too large is
 * replaced by its first part.
 */
import type { Result } from './hub/answers.ts'
import { DrainResult } from '../contracts/signal.ts'
import { withPart, jsonBytes } from '../contracts/signal-parts.ts'

/**
 * `payload_bytes_max` is the size of one payload as JSON that the client displays. Other results are returned
 * unchanged.
 */
export function truncatePayloads(result: Result, payload_bytes_max: number): Result {
  const drain = DrainResult.safeParse(result['structuredContent'])
  if (!drain.success || result['isError'] === true) return result
  const isLarge = ({ payload }: DrainResult['signals'][number]) => jsonBytes(payload) > payload_bytes_max
  if (!drain.data.signals.some(isLarge)) return result
  const signals = drain.data.signals.map((signal) =>
    isLarge(signal) ? (withPart(signal, 1) ?? signal) : signal,
  )
  const structuredContent = { ...(result['structuredContent'] as object), signals }
  return {
    ...result,
    structuredContent,
    content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
  }
}
