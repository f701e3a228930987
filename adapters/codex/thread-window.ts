/**
 * Tracks whether a person's window shows the bound thread. A doorbell in a thread without a window would run a turn
 * that no person sees.
 *
 * The app-server does not report its clients. Whether any window exists is known from outside; that one shows this
 * thread is known from events that only a window causes: the thread was started, opened again, or a turn began in it.
 */
import type { ServerKind } from './thread-search.ts'

/** `now`: an event that only a window causes has just occurred, so a cached result must not be used. */
export type HasWindow = (server_kind: ServerKind, look?: 'now') => boolean

export interface ThreadWindow {
  /** Another thread was bound. `opened`: by an event of a window; `found`: by a search. */
  bound(server_kind: ServerKind, how: 'opened' | 'found'): void
  /** The shim itself opens the thread; the app-server reports that like the opening by a window. */
  opening(): void
  /** The app-server reports that the thread was opened. Returns whether a window did it. */
  opened(server_kind: ServerKind): boolean
  /** A turn began in the thread. */
  turnBegan(): void
  /** Whether a window shows the thread now. Call it regularly, because it also detects closed windows. */
  isShown(server_kind: ServerKind): boolean
}

export function threadWindow(hasWindow: HasWindow): ThreadWindow {
  let shown = true
  /** Number of the shim's own openings that were not reported yet. */
  let own_openings = 0
  return {
    bound(server_kind, how) {
      shown = hasWindow(server_kind, 'now') || how === 'opened'
      own_openings = 0
    },
    opening() {
      own_openings += 1
    },
    opened(server_kind) {
      const is_own = own_openings > 0
      if (is_own) own_openings -= 1
      else {
        hasWindow(server_kind, 'now')
        shown = true
      }
      return !is_own
    },
    turnBegan() {
      shown = true
    },
    isShown(server_kind) {
      if (!hasWindow(server_kind)) {
        shown = false
        own_openings = 0
      }
      return shown
    },
  }
}
