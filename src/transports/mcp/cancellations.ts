/** Running requests that `notifications/cancelled` of a 2025-era session may name. */
import type { RequestId } from '@modelcontextprotocol/server'

export interface Cancellations {
  /** Returns a function that withdraws the offer, because an answered request cannot be cancelled. */
  offer(session_id: string, id: RequestId, cancel: () => void): () => void
  /** Has no effect if no such request is running. */
  cancel(session_id: string, id: RequestId): void
}

export function createCancellations(): Cancellations {
  const running = new Map<string, () => void>()
  return {
    offer(session_id, id, cancel) {
      const key = keyOf(session_id, id)
      running.set(key, cancel)
      return () => {
        // If a client uses an id twice, it means the later request.
        if (running.get(key) === cancel) running.delete(key)
      }
    },
    cancel: (session_id, id) => running.get(keyOf(session_id, id))?.(),
  }
}

function keyOf(session_id: string, id: RequestId): string {
  // 1 and "1" are different ids.
  return `${session_id} ${typeof id} ${id}`
}
