/** Reads from the app-server what became of the doorbells that were put into the queue of the bound thread. */
import type { AppServer } from './app-server.ts'
import type { BellQueue } from './bell-queue.ts'
import { bellSeen, bellsFound, bellsGone, type TrackedThread } from './thread-tracker.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface BellWatch {
  /**
   * Updates the tracked thread: doorbells found in the queue, seen in a turn, or lost. Where the app-server does not
   * answer, the thread stays as it is.
   */
  look(): Promise<void>
}

export interface BellWatchDeps {
  queue: BellQueue
  clock: Clock
  log: Log
  /** The app-server through which the bound thread is reached. */
  server: () => AppServer | null
  state: () => TrackedThread
  move: (next: TrackedThread) => void
}

export function bellWatch({ queue, clock, log, server, state, move }: BellWatchDeps): BellWatch {
  /** Since when a doorbell is in neither the queue nor a turn of the idle thread. */
  let missing_since_ms: number | null = null

  /**
   * A doorbell that has left the queue, and that no turn shows, may be in between: it counts as lost only after
   * `codex_bell_lost_ms` in which the thread was idle.
   */
  async function look(): Promise<void> {
    const [to, threadId] = [server(), state().thread_id]
    if (to === null || threadId === null) return
    try {
      const standing = await queue.standing(to, threadId)
      if (state().thread_id !== threadId) return
      move(bellsFound(state(), standing))
      if (state().queued.length > standing.length) await readReceipts(to, threadId)
      if (state().thread_id !== threadId) return
      const missing = state().queued.filter((doorbell_id) => !standing.includes(doorbell_id))
      if (missing.length === 0 || state().turn !== 'idle') missing_since_ms = null
      else missing_since_ms ??= clock.monotonic()
      if (missing_since_ms === null || clock.monotonic() - missing_since_ms < LIMITS.codex_bell_lost_ms)
        return
      log.warn(
        { thread_id: threadId, doorbell_ids: missing },
        'a doorbell has left the queue and began no turn',
      )
      missing_since_ms = null
      move(bellsGone(state(), missing))
    } catch (error) {
      log.debug({ err: error, thread_id: threadId }, 'the app-server did not report its queue')
    }
  }

  /** @throws AppServerError */
  async function readReceipts(from: AppServer, threadId: string): Promise<void> {
    const seen = await queue.seen(from, threadId, state().queued)
    if (state().thread_id === threadId) for (const doorbell_id of seen) move(bellSeen(state(), doorbell_id))
  }

  return { look }
}
