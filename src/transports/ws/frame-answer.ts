/**
 * Outcome of the answer to a call over WebSocket. The pong of a ping after the answer proves that the caller has received
 * it; the ping is sent only if the outcome is requested.
 */
import type { Link } from './link.ts'
import type { SentAnswer } from '../../ports/sent-answer.ts'

export interface FrameAnswer extends SentAnswer {
  /** Reports that the frame was written, or that it never will be. */
  left(how: 'written' | 'broken'): void
}

/** `now` returns the monotonic time in milliseconds. */
export function createFrameAnswer(link: Link, now: () => number): FrameAnswer {
  let left!: (how: 'written' | 'broken') => void
  const written = new Promise<'written' | 'broken'>((resolve) => (left = resolve))
  let received: Promise<'received' | 'broken'> | null = null
  const ponged = async (): Promise<'received' | 'broken'> => {
    if ((await written) === 'broken' || !link.open) return 'broken'
    return (await link.flushInbound(now())) ? 'received' : 'broken'
  }
  return { left, written: () => written, received: () => (received ??= ponged()) }
}
