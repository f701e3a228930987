/** The life of a process that belongs to the one which started it. */
import { systemClock } from './clock.ts'

const PARENT_CHECK_MS = 500

/**
 * Ends this process once its parent is gone. A daemon that was killed says no goodbye, and its successor
 * starts a shim of its own, so the old one must go: two shims would ring twice. Call what is returned to
 * look at once.
 */
export function leaveWithParent(): () => void {
  const parent = process.ppid
  const look = () => {
    if (process.ppid !== parent) process.exit(0)
  }
  systemClock.every(PARENT_CHECK_MS, look)
  return look
}
