/** Ends a process with its parent. */
import { systemClock } from '../clock.ts'
import type { Clock } from '../../ports/clock.ts'

const PARENT_CHECK_MS = 500

/** Variable with the pid of the parent. */
export const PARENT_PID = 'TURNBELL_PARENT_PID'

/**
 * Ends this process when its parent has ended. A killed daemon cannot stop its shim, and its successor starts a new
 * one, so the old one must exit: two shims would ring twice. Call the returned function to check at once.
 *
 * The pid must be passed, because the parent may end before this is called, and init would then be the parent.
 */
export function leaveWithParent(
  self: Pick<NodeJS.Process, 'env' | 'ppid' | 'exit'> = process,
  clock: Pick<Clock, 'every'> = systemClock,
): () => void {
  const parent = Number(self.env[PARENT_PID]) || self.ppid
  // Child processes have a different parent.
  delete self.env[PARENT_PID]
  const look = () => {
    if (self.ppid !== parent) self.exit(0)
  }
  look()
  clock.every(PARENT_CHECK_MS, look)
  return look
}
