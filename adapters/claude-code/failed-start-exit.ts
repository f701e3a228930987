/**
 * Ends a respawned worker that could not start, after `claude_respawn_ms`. Its predecessor worked, so the cause, such as a
 * full disk or a missing home, may pass, and the keeper starts another worker. A first worker, and one without a persona,
 * stays idle.
 */
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'

export function exitAfterFailedStart(
  { respawned, persona }: { respawned: boolean; persona: string | undefined },
  { clock, exit }: { clock: Pick<Clock, 'after'>; exit: () => void },
): void {
  if (respawned && persona !== undefined) clock.after(LIMITS.claude_respawn_ms, exit)
}
