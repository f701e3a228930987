/** Reads from the app-server what became of the doorbells that were put into the queue of the bound thread. */
import type { AppServer } from './app-server.ts'
import type { BellQueue } from './bell-queue.ts'
import { bellSeen, bellsFound, bellsGone, type TrackedThread } from './thread-tracker.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface BellWatch {
  /**
   * Updates the tracked thread: doorbells found in the queue, seen in a turn, or lost. Where the app-server does not
   * answer, the thread stays as it is.
   */
  look(): Promise<void>
  /** To be called with each next state of the thread: a doorbell is not missing while a turn runs. */
  moved(next: TrackedThread): void
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
  /**
   * When a look first found each doorbell in neither the queue nor a turn of the idle thread. One time for all would make
   * the next doorbell look as old as an earlier one whose turn began late.
   */
  let missing_since_ms: ReadonlyMap<DoorbellId, number> = new Map()

  /**
   * A doorbell that has left the queue, and that no turn shows, may be in between: it counts as lost only after
   * `codex_bell_lost_ms` in which the thread was idle and the app-server answered.
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
      const { turn, queued } = state()
      const missing = turn === 'idle' ? queued.filter((doorbell_id) => !standing.includes(doorbell_id)) : []
      const now = clock.monotonic()
      const since = (doorbell_id: DoorbellId) => missing_since_ms.get(doorbell_id) ?? now
      missing_since_ms = new Map(missing.map((doorbell_id) => [doorbell_id, since(doorbell_id)]))
      const lost = missing.filter((doorbell_id) => now - since(doorbell_id) >= LIMITS.codex_bell_lost_ms)
      if (lost.length === 0) return
      log.warn({ thread_id: threadId, doorbell_ids: lost }, 'a doorbell has left the queue and began no turn')
      move(bellsGone(state(), lost))
    } catch (error) {
      missing_since_ms = new Map()
      log.debug({ err: error, thread_id: threadId }, 'the app-server did not report its queue')
    }
  }

  /** @throws AppServerError */
  async function readReceipts(from: AppServer, threadId: string): Promise<void> {
    const seen = await queue.seen(from, threadId, state().queued)
    if (state().thread_id === threadId) for (const doorbell_id of seen) move(bellSeen(state(), doorbell_id))
  }

  return {
    look,
    moved({ turn, queued }) {
      const missing = [...missing_since_ms].filter(([doorbell_id]) => queued.includes(doorbell_id))
      missing_since_ms = new Map(turn === 'idle' ? missing : [])
    },
  }
}
