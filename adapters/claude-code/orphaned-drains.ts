/**
 * Drains that a killed worker of this session took and never delivered. They are released before any turn of the
 * session is reported, because the next turn boundary would confirm them.
 */
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import { pause } from '../../src/ports/pause.ts'

/** Releases them and resolves when a hub has answered. Without a hub no doorbell is due, so waiting loses nothing. */
export async function releaseOrphanedDrains(
  release: () => Promise<void>,
  { clock, log }: { clock: Pick<Clock, 'after'>; log: Log },
): Promise<void> {
  for (let warned = false; ; warned = true) {
    try {
      return await release()
    } catch (error) {
      log[warned ? 'debug' : 'warn']({ err: error }, 'orphaned drains not released yet')
    }
    await pause(clock, LIMITS.shim_reconnect_max_ms)
  }
}
