/** Final requests to the hub when the bridge's client is gone. The caller limits the time for them. */
import type { Bridge } from './bridge.ts'
import type { Upstream } from './hub/upstream.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock } from '../ports/clock.ts'

/**
 * Waits for running calls up to a limit, because a lock that reaches the hub after the end of its session
 * would never be released. Then settles the drains, and then ends the session: in the opposite order, signals
 * that the client has read would be released. Never rejects; without these requests the hub ends the session
 * by timeout.
 */
export async function settleAndEndSession(
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
 * Checks the persona for a client that exits without a request to the hub, so that an unknown persona is
 * still refused. Looks for the hub for at most `wait_ms`. Never rejects; the upstream reports the refusal.
 */
export async function finalPersonaCheck(
  upstream: Pick<Upstream, 'checkPersona'>,
  wait_ms: number,
): Promise<void> {
  await upstream.checkPersona(wait_ms).catch(() => undefined)
}
