/** Searches the thread to ring and binds it, one search at a time. A failed search is repeated. */
import type { BellQueue } from './bell-queue.ts'
import type { BoundThread } from './bound-thread.ts'
import type { EarlyNotifications } from './early-notifications.ts'
import type { ThreadBinder } from './thread-binder.ts'
import { searchThread, type FoundThread, type SearchDeps } from './thread-search.ts'
import { bellSeen } from './thread-tracker.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'

export interface BindSearch {
  /** Searches after the searches before. A thread that was bound during the search takes precedence. Never rejects. */
  search(): Promise<void>
  close(): void
}

export interface BindSearchDeps extends Omit<SearchDeps, 'servers'> {
  thread: BoundThread
  queue: BellQueue
  binder: ThreadBinder
  early: EarlyNotifications
  clock: Pick<Clock, 'after'>
}

export function bindSearch(deps: BindSearchDeps): BindSearch {
  const { thread, binder, early, reach, alive, clock, log } = deps
  let last_search: Promise<void> = Promise.resolve()
  let retry_timer: Timer | null = null
  /** Reason of the last failed search, so that it is logged once. */
  let last_failure: string | null = null

  async function searchOnce(): Promise<void> {
    const { bind_count, disconnect_count } = thread
    early.clear()
    const found = await searchThread({ servers: thread.servers, reach, alive, log }, thread.reported)
    last_failure = null
    if (found === null || thread.bind_count !== bind_count) return
    const seen = await lastSeen(found, deps)
    if (thread.bind_count !== bind_count) return
    if (seen !== null) thread.replace(bellSeen(thread.state(), seen))
    const reported = found.kind === 'queue' ? thread.reported.get(found.thread.thread_id) : null
    // Lost during the search: its app-server disconnected, or its session ended.
    if (thread.disconnect_count !== disconnect_count || reported === undefined) void search()
    else if (found.kind === 'live') {
      if (!binder.bind(found.thread, found.server_kind, 'found')) void search()
    } else if (reported !== null) binder.bindQueue(reported, found.server_kind)
  }

  function retryLater(error: unknown): void {
    const reason = String(error)
    log[reason === last_failure ? 'debug' : 'warn']({ err: error }, 'thread search failed; retrying')
    last_failure = reason
    retry_timer?.cancel()
    retry_timer = clock.after(LIMITS.codex_search_retry_ms, () => void search())
  }

  function search(): Promise<void> {
    last_search = last_search.then(searchOnce).catch(retryLater)
    return last_search
  }

  return { search, close: () => retry_timer?.cancel() }
}

/**
 * Reads the last seen doorbell after the start of the shim. Otherwise the daemon would count a doorbell as lost whose
 * turn ended while no shim ran.
 */
async function lastSeen(
  found: FoundThread,
  { thread, queue, log }: Pick<BindSearchDeps, 'thread' | 'queue' | 'log'>,
): Promise<DoorbellId | null> {
  const to = thread.servers[found.server_kind]
  if (to === null || thread.state().seen_doorbell_id !== null) return null
  const thread_id = found.kind === 'live' ? found.thread.id : found.thread.thread_id
  try {
    return await queue.lastSeen(to, thread_id)
  } catch (error) {
    log.debug({ err: error, thread_id }, 'last doorbell of the thread could not be read')
    return null
  }
}
