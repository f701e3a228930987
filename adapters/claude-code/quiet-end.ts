/**
 * When a worker ends that could not begin and stays quiet in its session. One that took another's place worked
 * before: what keeps this one from it, a full disk or a home that is not there, may pass, and its keeper starts the
 * next. A session that acts for nobody has nothing to come back to.
 */
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'

export function endQuiet(
  { respawned, persona }: { respawned: boolean; persona: string | undefined },
  { clock, end }: { clock: Pick<Clock, 'after'>; end: () => void },
): void {
  if (respawned && persona !== undefined) clock.after(LIMITS.claude_quiet_ms, end)
}
