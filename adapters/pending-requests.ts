/** JSON-RPC requests that wait for their answers. */
import type { Clock } from '../src/ports/clock.ts'

export interface PendingRequests {
  /**
   * Sends a request with the next id and resolves with its result. Rejects with `timedOut` after `timeout_ms`; null
   * waits without limit.
   */
  send(
    sendWithId: (id: number) => void,
    timeout: { timeout_ms: number | null; timedOut: () => Error },
  ): Promise<unknown>
  /** Settles the request with this id; unknown ids are ignored. */
  resolve(id: unknown, result: unknown): void
  reject(id: unknown, error: Error): void
  rejectAll(createError: () => Error): void
}

export function pendingRequests(clock: Pick<Clock, 'after'>): PendingRequests {
  const pending = new Map<unknown, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  let next_id = 1
  return {
    send(sendWithId, { timeout_ms, timedOut }) {
      const id = next_id++
      return new Promise((resolve, reject) => {
        const onTimeout = () => pending.get(id)?.reject(timedOut())
        const timeout = timeout_ms === null ? null : clock.after(timeout_ms, onTimeout)
        const settle =
          <A>(then: (value: A) => void) =>
          (value: A) => {
            timeout?.cancel()
            pending.delete(id)
            then(value)
          }
        pending.set(id, { resolve: settle(resolve), reject: settle(reject) })
        sendWithId(id)
      })
    },
    resolve: (id, result) => pending.get(id)?.resolve(result),
    reject: (id, error) => pending.get(id)?.reject(error),
    rejectAll(createError) {
      for (const { reject } of pending.values()) reject(createError())
    },
  }
}
