/**
 * What a killed worker of this session drained and never handed on. It goes back before a turn of the session is told:
 * the next boundary would make it final.
 */
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import { pause } from '../../src/ports/pause.ts'

/** Resolves once a hub has answered. While none does nobody is rung either, so nothing is missed by waiting. */
export async function leftDrainsAreBack(
  giveBack: () => Promise<void>,
  { clock, log }: { clock: Pick<Clock, 'after'>; log: Log },
): Promise<void> {
  for (let told = false; ; told = true) {
    try {
      return await giveBack()
    } catch (error) {
      log[told ? 'debug' : 'warn'](
        { err: error },
        'the hub was not asked yet for what an earlier worker left',
      )
    }
    await pause(clock, LIMITS.shim_reconnect_max_ms)
  }
}
