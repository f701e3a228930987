/** The line that a client may show at its foot: what waits for its persona. */
import { LIMITS } from '../contracts/limits.ts'
import { Identity } from '../contracts/ids.ts'
import type { Clock } from '../ports/clock.ts'
import { sessionPlace } from '../system/session-place.ts'
import { type Cli, invocationIn } from './cli.ts'

/** The line of the session that this runs in; what the command was told outright wins over its environment. */
export function sessionStatusLine(cli: Cli, said: { persona?: string; home?: string }): Promise<string> {
  const { persona, home } = sessionPlace(cli.env, said)
  return statusLine(persona, {
    clock: cli.clock,
    pending: async (identity) => (await invocationIn(cli, home).control(identity).status()).pending_count,
  })
}

/** `ada: 3 waiting`; empty where nothing waits, nobody is named or no daemon answers in time. Never throws. */
export async function statusLine(
  persona: string | undefined,
  daemon: { clock: Pick<Clock, 'after'>; pending: (identity: Identity) => Promise<number> },
): Promise<string> {
  const identity = Identity.safeParse(persona)
  if (!identity.success) return ''
  const late = new Promise<number>((resolve) => daemon.clock.after(LIMITS.status_line_ms, () => resolve(0)))
  // A client draws this line all the time: a daemon that is away is nothing to tell of here.
  const asked = daemon.pending(identity.data).catch(() => 0)
  const waiting = await Promise.race([asked, late])
  return waiting === 0 ? '' : `${identity.data}: ${waiting} waiting`
}
