/** The answer of a drain as a client shows it whole: a payload that is too large is replaced by its first part. */
import type { Result } from './upstream.ts'
import { DrainResult } from '../../contracts/signal.ts'
import { inPart, writtenBytes } from '../../contracts/signal-parts.ts'

/** `payload_bytes_max` is what the client shows of one payload, as JSON. Any other answer is returned as it is. */
export function inParts(result: Result, payload_bytes_max: number): Result {
  const drain = DrainResult.safeParse(result['structuredContent'])
  if (!drain.success || result['isError'] === true) return result
  const isLarge = ({ payload }: DrainResult['signals'][number]) => writtenBytes(payload) > payload_bytes_max
  if (!drain.data.signals.some(isLarge)) return result
  const signals = drain.data.signals.map((signal) =>
    isLarge(signal) ? (inPart(signal, 1) ?? signal) : signal,
  )
  const structuredContent = { ...(result['structuredContent'] as object), signals }
  return {
    ...result,
    structuredContent,
    content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
  }
}
