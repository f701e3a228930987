/** What `notifications/cancelled` of a session of the 2025 era may name. */
import type { RequestId } from '@modelcontextprotocol/server'

export interface Cancellations {
  /** Returns what ends it: an answered request can no longer be cancelled. */
  offer(session_id: string, id: RequestId, cancel: () => void): () => void
  /** Nothing happens where no such request runs. */
  cancel(session_id: string, id: RequestId): void
}

export function createCancellations(): Cancellations {
  const running = new Map<string, () => void>()
  return {
    offer(session_id, id, cancel) {
      const key = keyOf(session_id, id)
      running.set(key, cancel)
      return () => {
        // A client that uses an id twice means the later request.
        if (running.get(key) === cancel) running.delete(key)
      }
    },
    cancel: (session_id, id) => running.get(keyOf(session_id, id))?.(),
  }
}

function keyOf(session_id: string, id: RequestId): string {
  // 1 and "1" are two ids.
  return `${session_id} ${typeof id} ${id}`
}
