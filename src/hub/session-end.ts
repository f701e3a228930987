/**
 * Ends of sessions. An agent that only calls says that its session is over; who has a link is known to be gone
 * by that. Whatever is held for a session goes back when it ends, and is waited for before the hub ends.
 */
import { TurnbellError } from '../contracts/errors.ts'
import type { Identity, SessionId } from '../contracts/ids.ts'
import type { Caller } from '../contracts/token.ts'
import type { Registrations } from '../modules/registry/registrations.ts'
import type { RouteResolver } from '../modules/signals/needs.ts'

export interface SessionEndNeeds {
  registrations: Pick<Registrations, 'ended'>
  routes: Pick<RouteResolver, 'sessions'>
  /** What holds something for sessions, and takes it back at the moment. */
  modules: () => readonly { sessionLost(identity: Identity, session_id: SessionId): Promise<void> }[]
}

export interface SessionEnd {
  /** Takes back what the session held. Resolves once that is kept; rejects with what the store refuses. */
  lost(identity: Identity, session_id: SessionId): Promise<void>
  /**
   * The caller's own is over. Saying it again changes nothing. Throws `kind_forbidden`, `request_invalid`, and
   * what the store refuses.
   */
  end(caller: Caller): Promise<void>
  /** Resolves once nothing is being taken back. */
  settled(): Promise<void>
}

export function createSessionEnd({ registrations, routes, modules }: SessionEndNeeds): SessionEnd {
  const under_way = new Map<string, Promise<unknown>>()

  // No identity has a space.
  const keyOf = (identity: Identity, session_id: SessionId) => `${identity} ${session_id}`

  async function lost(identity: Identity, session_id: SessionId): Promise<void> {
    const key = keyOf(identity, session_id)
    const here = Promise.all(modules().map((module) => module.sessionLost(identity, session_id)))
    const done = Promise.all([under_way.get(key), here])
    under_way.set(key, done)
    try {
      await done
    } finally {
      if (under_way.get(key) === done) under_way.delete(key)
    }
  }

  async function end({ kind, identity, session_id }: Caller): Promise<void> {
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
    // A row that leaves takes along what its session held; here it is only waited for.
    if (registrations.ended({ identity, session_id })) {
      await under_way.get(keyOf(identity, session_id))
      return
    }
    // A link or a daemon speaks for it, and will say when it is over.
    if (routes.sessions(identity).includes(session_id)) return
    await lost(identity, session_id)
  }

  return {
    lost,
    end,
    async settled() {
      await Promise.allSettled(under_way.values())
    },
  }
}
