/** Removes doorbells that are no longer due from the queue of the bound thread. */
import type { AppServer } from './app-server.ts'
import type { BellQueue } from './bell-queue.ts'
import type { BoundThread } from './bound-thread.ts'
import { bellsRemoved } from './thread-tracker.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import type { Log } from '../../src/ports/log.ts'

export interface BellRemoval {
  /** Withdraws the queued doorbells without waiting for the app-server. */
  withdraw(): void
  /** Withdraws the queued doorbells of a thread. Returns the deleted ones. @throws AppServerError */
  withdrawFrom(server: AppServer, threadId: string): Promise<DoorbellId[]>
}

export interface BellRemovalDeps {
  thread: BoundThread
  queue: BellQueue
  log: Log
}

export function bellRemoval({ thread, queue, log }: BellRemovalDeps): BellRemoval {
  async function withdrawFrom(to: AppServer, threadId: string): Promise<DoorbellId[]> {
    const deleted = await queue.withdraw(to, threadId)
    if (thread.state().thread_id === threadId) thread.move(bellsRemoved(thread.state(), deleted))
    return deleted
  }

  function withdraw(): void {
    const [to, threadId] = [thread.server(), thread.state().thread_id]
    if (to === null || threadId === null) return
    withdrawFrom(to, threadId).catch((error: unknown) =>
      log.warn({ err: error }, 'doorbell could not be withdrawn'),
    )
  }

  // Interrupted before the doorbell began its turn: it would run after the person's next turn, when the daemon rings
  // again.
  thread.onMove((next, before) => {
    if (next.paused && !before.paused && next.queued.length > 0) withdraw()
  })
  return { withdraw, withdrawFrom }
}
