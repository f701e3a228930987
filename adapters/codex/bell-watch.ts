/** Reads from the app-server whether the doorbells in the bound thread's queue were seen or lost. */
import type { AppServer } from './app-server.ts'
import type { BellQueue } from './bell-queue.ts'
import type { BoundThread } from './bound-thread.ts'
import { bellSeen, bellsFound, bellsRemoved } from './thread-tracker.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface BellWatch {
  /**
   * Updates the tracked thread: doorbells found in the queue, seen in a turn, or lost. If the app-server does not
   * answer, the thread is unchanged.
   */
  check(): Promise<void>
}

export interface BellWatchDeps {
  thread: BoundThread
  queue: BellQueue
  clock: Clock
  log: Log
}

export function bellWatch({ thread, queue, clock, log }: BellWatchDeps): BellWatch {
  const { server, state, move } = thread
  /**
   * When each doorbell was first found in neither the queue nor a turn of the idle thread. One shared time would make
   * the next doorbell look as old as an earlier one whose turn began late.
   */
  let missing_since_ms: ReadonlyMap<DoorbellId, number> = new Map()

  /**
   * A doorbell that has left the queue, and that no turn shows, may be in between: it counts as lost only after
   * `codex_bell_lost_ms` in which the thread was idle and the app-server answered.
   */
  async function check(): Promise<void> {
    const [to, threadId] = [server(), state().thread_id]
    if (to === null || threadId === null) return
    try {
      const queued_ids = await queue.listQueued(to, threadId)
      if (state().thread_id !== threadId) return
      move(bellsFound(state(), queued_ids))
      if (state().queued.length > queued_ids.length) await readReceipts(to, threadId)
      if (state().thread_id !== threadId) return
      const { turn, queued } = state()
      const missing = turn === 'idle' ? queued.filter((doorbell_id) => !queued_ids.includes(doorbell_id)) : []
      const now = clock.monotonic()
      const since = (doorbell_id: DoorbellId) => missing_since_ms.get(doorbell_id) ?? now
      missing_since_ms = new Map(missing.map((doorbell_id) => [doorbell_id, since(doorbell_id)]))
      const lost = missing.filter((doorbell_id) => now - since(doorbell_id) >= LIMITS.codex_bell_lost_ms)
      if (lost.length === 0) return
      log.warn({ thread_id: threadId, doorbell_ids: lost }, 'doorbell left the queue without starting a turn')
      move(bellsRemoved(state(), lost))
    } catch (error) {
      missing_since_ms = new Map()
      log.debug({ err: error, thread_id: threadId }, 'queue of the thread could not be read')
    }
  }

  /** @throws AppServerError */
  async function readReceipts(from: AppServer, threadId: string): Promise<void> {
    const seen = await queue.filterSeen(from, threadId, state().queued)
    if (state().thread_id === threadId) for (const doorbell_id of seen) move(bellSeen(state(), doorbell_id))
  }

  // A doorbell is not missing while a turn runs.
  thread.onMove(({ turn, queued }) => {
    const missing = [...missing_since_ms].filter(([doorbell_id]) => queued.includes(doorbell_id))
    missing_since_ms = new Map(turn === 'idle' ? missing : [])
  })
  return { check }
}
