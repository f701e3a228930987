/**
 * Whether a person's window shows the thread that is rung. A doorbell in a thread without a window would run a turn
 * that nobody sees.
 *
 * The app-server does not report its clients. Whether any window exists is known from outside; that one shows this
 * thread is known from events that only a window causes: the thread was started, opened again, or a turn began in it.
 */
import type { Place } from './thread-search.ts'

/** `now`: something has just happened that only a window causes, so what was seen a moment ago does not count. */
export type HasWindow = (place: Place, look?: 'now') => boolean

export interface ThreadWindow {
  /** Another thread was bound. `opened`: by an event of a window; `found`: by a search. */
  bound(place: Place, how: 'opened' | 'found'): void
  /** The shim itself opens the thread; the app-server reports that like the opening by a window. */
  opening(): void
  /** The app-server reports that the thread was opened. Returns whether a window did it. */
  opened(place: Place): boolean
  /** A turn began in the thread. */
  turnBegan(): void
  /** Whether a window shows it now. Windows that are gone are noticed here, so it has to be called regularly. */
  isShown(place: Place): boolean
}

export function threadWindow(hasWindow: HasWindow): ThreadWindow {
  let shown = true
  /** Openings of our own that were not reported yet. */
  let own_openings = 0
  return {
    bound(place, how) {
      shown = hasWindow(place, 'now') || how === 'opened'
      own_openings = 0
    },
    opening() {
      own_openings += 1
    },
    opened(place) {
      const is_own = own_openings > 0
      if (is_own) own_openings -= 1
      else {
        hasWindow(place, 'now')
        shown = true
      }
      return !is_own
    },
    turnBegan() {
      shown = true
    },
    isShown(place) {
      if (!hasWindow(place)) {
        shown = false
        own_openings = 0
      }
      return shown
    },
  }
}
