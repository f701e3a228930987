/**
 * The client of a keeper that died. Its stdin is closed, so it finishes its turn and exits. No session is started
 * until then, because two clients in one session would both write its conversation.
 */
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Log } from '../../../src/ports/log.ts'
import { pause } from '../../../src/ports/pause.ts'

export interface OrphanedClient {
  pid: number
  /** Start time, to detect a reused pid; null if the system does not report it. */
  started: string | null
}

/** Resolves when a session may begin, at the latest one check after `claude_orphan_max_ms`. */
export async function waitForOrphanedClient(
  { pid, started }: OrphanedClient,
  deps: {
    alive(pid: number, started: string | null): boolean
    /** Like `alive`, but true only if the process is certainly the same one. */
    is(pid: number, started: string | null): boolean
    killGroup(pid: number): void
    clock: Pick<Clock, 'after' | 'monotonic'>
    log: Log
  },
): Promise<void> {
  const { clock, log } = deps
  const since = clock.monotonic()
  let warn_at = since + LIMITS.claude_orphan_warn_ms
  const pauseBetweenChecks = () => pause(clock, LIMITS.claude_orphan_check_ms)

  if (deps.alive(pid, started)) log.info({ client_pid: pid }, 'waiting for an earlier client to exit')
  while (deps.alive(pid, started)) {
    const now = clock.monotonic()
    const fields = { client_pid: pid, waited_ms: now - since }
    if (now - since >= LIMITS.claude_orphan_max_ms) {
      if (!deps.is(pid, started)) {
        // Only the pid matches, and it may have been reused, so the process must not be killed.
        return log.warn(fields, 'earlier client did not exit, or its pid was reused; session begins')
      }
      log.warn(fields, 'earlier client did not exit; its process group was killed')
      deps.killGroup(pid)
      // No process writes after this, even if the pid is not free at once.
      return pauseBetweenChecks()
    }
    if (now >= warn_at) {
      warn_at += LIMITS.claude_orphan_warn_ms
      log.warn(fields, 'earlier client still running; no session until it exits')
    }
    await pauseBetweenChecks()
  }
}
