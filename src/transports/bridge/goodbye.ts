/** What a bridge says to the hub when its client is gone. It is the caller's to bound the time for it. */
import type { Bridge } from './bridge.ts'
import type { Upstream } from './upstream.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../../ports/clock.ts'

/**
 * Lets what is under way arrive, for a while: a lock that reaches the hub after the end of its session stands
 * with nobody to free it. Then says what became of the drains, and then that the session is over: the other
 * way round, what the client has read would go back. Never rejects; a hub that does not hear it ends the
 * session by its silence.
 */
export async function sayGoodbye(
  { calls, drains }: Pick<Bridge, 'calls' | 'drains'>,
  upstream: Pick<Upstream, 'endSession'>,
  clock: Pick<Clock, 'after'>,
): Promise<void> {
  await new Promise<void>((resolve) => {
    const late = clock.after(LIMITS.bridge_last_calls_ms, resolve)
    void calls.settled().then(() => {
      late.cancel()
      resolve()
    })
  })
  await drains.settled()
  await upstream.endSession().catch(() => undefined)
}

/**
 * For a client that ends without a question to the hub: a persona that does not exist is refused all the same. Looks for
 * the hub as the first call would, for at most `wait_ms`. Never rejects; the upstream tells of the refusal.
 */
export async function lastCheck(upstream: Pick<Upstream, 'checkPersona'>, wait_ms: number): Promise<void> {
  await upstream.checkPersona(wait_ms).catch(() => undefined)
}
