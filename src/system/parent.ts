/** The life of a process that belongs to the one which started it. */
import { systemClock } from './clock.ts'
import type { Clock } from '../ports/clock.ts'

const PARENT_CHECK_MS = 500

/** Tells a process which one started it. */
export const PARENT_PID = 'TURNBELL_PARENT_PID'

/**
 * Ends this process once its parent is gone. A daemon that was killed says no goodbye, and its successor
 * starts a shim of its own, so the old one must go: two shims would ring twice. Call what is returned to
 * look at once.
 *
 * Who the parent is must be told: it may be gone before this is called, and then init stands in its place.
 */
export function leaveWithParent(
  self: Pick<NodeJS.Process, 'env' | 'ppid' | 'exit'> = process,
  clock: Pick<Clock, 'every'> = systemClock,
): () => void {
  const parent = Number(self.env[PARENT_PID]) || self.ppid
  // What this process starts has another parent.
  delete self.env[PARENT_PID]
  const look = () => {
    if (self.ppid !== parent) self.exit(0)
  }
  look()
  clock.every(PARENT_CHECK_MS, look)
  return look
}
