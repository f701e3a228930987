/** Sessions with their tracks: cached, read from the store, and changed one change after the other. */
import type { SessionId } from '../../contracts/ids.ts'
import type { ActivityStore } from '../../ports/activity-store.ts'
import { createKeyedQueue } from '../../ports/serial-queue.ts'
import { fromRow, type Session } from './session-track.ts'

/** A track has a few KiB, at most a few hundred. */
const CACHED_MAX = 256

export interface Sessions {
  /** Runs changes of one session one at a time, in the order of the calls. */
  exclusive<T>(session_id: SessionId, change: (held: HeldSession) => Promise<T>): Promise<T>
  /** Waits until the changes that have begun are complete. */
  settled(): Promise<void>
  /** Removes all sessions from the cache. */
  forgetAll(): void
}

export interface HeldSession {
  /** Returns the stored session, null if it is unknown. */
  read(): Promise<Session | null>
  /** Stores rows that contain the session's own row; it is cached afterwards. */
  write(session: Session, rows: Parameters<ActivityStore['write']>[0]): Promise<void>
  /** Call it when the session was deleted. */
  forget(): void
}

export function createSessions(store: Pick<ActivityStore, 'session' | 'write'>): Sessions {
  const queued = createKeyedQueue()
  const cache = new Map<SessionId, Session>()
  const running = new Set<Promise<unknown>>()

  const remember = (session_id: SessionId, session: Session) => {
    // The first key is the one that was used least recently.
    cache.delete(session_id)
    cache.set(session_id, session)
    const [oldest] = cache.keys()
    if (cache.size > CACHED_MAX && oldest !== undefined) cache.delete(oldest)
  }
  const hold = (session_id: SessionId): HeldSession => ({
    async read() {
      const cached = cache.get(session_id)
      if (cached !== undefined) return cached
      const row = await store.session(session_id)
      if (row === null) return null
      const session = fromRow(row)
      remember(session_id, session)
      return session
    },
    async write(session, rows) {
      // Until the write has succeeded, the store is the only one that knows.
      cache.delete(session_id)
      await store.write(rows)
      remember(session_id, session)
    },
    forget: () => void cache.delete(session_id),
  })
  return {
    exclusive(session_id, change) {
      const result = queued(session_id, () => change(hold(session_id)))
      const settled = result.then(
        () => undefined,
        () => undefined,
      )
      running.add(settled)
      void settled.then(() => running.delete(settled))
      return result
    },
    async settled() {
      await Promise.all(running)
    },
    forgetAll: () => cache.clear(),
  }
}
