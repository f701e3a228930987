/** What a bridge says to the hub when its client is gone. It is the caller's to bound the time for it. */
import type { Drains } from './drains.ts'
import type { Upstream } from './upstream.ts'

/**
 * Says what became of the drains, then that the session is over: the other way round, what the client has
 * read would go back. Never rejects; a hub that does not hear it ends the session by its silence.
 */
export async function sayGoodbye(
  drains: Pick<Drains, 'settled'>,
  upstream: Pick<Upstream, 'endSession'>,
): Promise<void> {
  await drains.settled()
  await upstream.endSession().catch(() => undefined)
}
