/**
 * The client that an earlier keeper left behind. Nobody holds its stdin any more, so it ends its turn and
 * then itself. Until then there is no session: two clients in one would each write its conversation.
 */
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Log } from '../../../src/ports/log.ts'
import { pause } from '../../../src/ports/pause.ts'

export interface FormerClient {
  pid: number
  /** Tells it from a later process with its number; null where the system does not say. */
  started: string | null
}

/** Resolves when a session may begin, after `claude_left_max_ms` and one more look at the latest. */
export async function formerClientIsGone(
  { pid, started }: FormerClient,
  deps: {
    alive(pid: number, started: string | null): boolean
    /** For sure. */
    is(pid: number, started: string | null): boolean
    killGroup(pid: number): void
    clock: Pick<Clock, 'after' | 'monotonic'>
    log: Log
  },
): Promise<void> {
  const { clock, log } = deps
  const since = clock.monotonic()
  let warn_at = since + LIMITS.claude_left_warn_ms
  const nextLook = () => pause(clock, LIMITS.claude_left_check_ms)

  if (deps.alive(pid, started)) log.info({ client_pid: pid }, 'an earlier client still ends its turn')
  while (deps.alive(pid, started)) {
    const now = clock.monotonic()
    const fields = { client_pid: pid, waited_ms: now - since }
    if (now - since >= LIMITS.claude_left_max_ms) {
      if (!deps.is(pid, started)) {
        // Only its number says that it is ours: it may be anybody's by now, and must not be killed for that.
        return log.warn(fields, 'an earlier client hangs, or is another program by now; a session begins')
      }
      log.warn(fields, 'an earlier client hangs; it is ended with all that it started')
      deps.killGroup(pid)
      // Nothing outlives that as a program that writes, even where its number is not free at once.
      return nextLook()
    }
    if (now >= warn_at) {
      warn_at += LIMITS.claude_left_warn_ms
      log.warn(fields, 'an earlier client still has not ended; there is no session until it has')
    }
    await nextLook()
  }
}
