/** An agent that only calls says that its session is over; who has a link is known to be gone by that. */
import { TurnbellError } from '../contracts/errors.ts'
import type { Identity, SessionId } from '../contracts/ids.ts'
import type { Caller } from '../contracts/token.ts'
import type { Registrations } from '../modules/registry/registrations.ts'
import type { RouteResolver } from '../modules/signals/needs.ts'

export interface SessionEndNeeds {
  registrations: Pick<Registrations, 'ended'>
  routes: Pick<RouteResolver, 'sessions'>
  /** What holds something for sessions. */
  modules: readonly { sessionLost(identity: Identity, session_id: SessionId): Promise<void> }[]
}

/** Saying it again changes nothing. Throws `kind_forbidden`, `request_invalid`, and what the store refuses. */
export function createSessionEnd(needs: SessionEndNeeds): (caller: Caller) => Promise<void> {
  const { registrations, routes, modules } = needs
  return async ({ kind, identity, session_id }) => {
    if (kind !== 'agent') {
      throw new TurnbellError('kind_forbidden', {
        detail: `Only an agent ends its session, and the caller is the ${kind} ${identity}.`,
        hint: 'Call with the token of the session that is over.',
      })
    }
    if (session_id === undefined) {
      throw new TurnbellError('request_invalid', {
        detail: 'The token names no session, so there is none to end.',
        hint: 'Call with the token of the session that is over.',
      })
    }
    // What leaves with its row ends as every session does whose row has left.
    if (registrations.ended({ identity, session_id })) return
    // A link or a daemon speaks for it, and will say when it is over.
    if (routes.sessions(identity).includes(session_id)) return
    await Promise.all(modules.map((module) => module.sessionLost(identity, session_id)))
  }
}
