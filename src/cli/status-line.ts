/** The line that a client may show at its foot: what waits for its persona. */
import { LIMITS } from '../contracts/limits.ts'
import { Identity } from '../contracts/ids.ts'
import type { Invocation } from './cli.ts'

/** `ada: 3 waiting`; empty where nothing waits, nobody is named or no daemon answers in time. Never throws. */
export async function statusLine(invocation: Invocation, persona: string | undefined): Promise<string> {
  const identity = Identity.safeParse(persona)
  if (!identity.success) return ''
  const late = new Promise<null>((resolve) => {
    invocation.cli.clock.after(LIMITS.status_line_ms, () => resolve(null))
  })
  // A client draws this line all the time: a daemon that is away is nothing to tell of here.
  const asked = invocation.control(identity.data).status()
  const status = await Promise.race([asked.catch(() => null), late])
  return status === null || status.pending_count === 0
    ? ''
    : `${identity.data}: ${status.pending_count} waiting`
}
