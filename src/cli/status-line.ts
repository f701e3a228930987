/** The status line of a client: the number of signals that wait for its persona. */
import { LIMITS } from '../contracts/limits/limits.ts'
import { Identity } from '../contracts/ids.ts'
import type { Clock } from '../ports/clock.ts'
import { sessionPersona } from '../contracts/clients/session-persona.ts'
import { type Cli, invocationIn } from './cli.ts'

/** Returns the line of the session that this runs in. Options take precedence over the environment. */
export function sessionStatusLine(cli: Cli, options: { persona?: string; home?: string }): Promise<string> {
  const { persona, home } = sessionPersona(cli.env, options)
  return statusLine(persona, {
    clock: cli.clock,
    pending: async (identity) => (await invocationIn(cli, home).control(identity).status()).pending_count,
  })
}

/** Returns `ada: 3 waiting`. Returns '' if nothing waits, no persona is named or no daemon answers in time. Never throws. */
export async function statusLine(
  persona: string | undefined,
  daemon: { clock: Pick<Clock, 'after'>; pending: (identity: Identity) => Promise<number> },
): Promise<string> {
  const identity = Identity.safeParse(persona)
  if (!identity.success) return ''
  const late = new Promise<number>((resolve) => daemon.clock.after(LIMITS.status_line_ms, () => resolve(0)))
  // Because a client redraws this line all the time, it does not report an unreachable daemon.
  const pending = daemon.pending(identity.data).catch(() => 0)
  const waiting = await Promise.race([pending, late])
  return waiting === 0 ? '' : `${identity.data}: ${waiting} waiting`
}
