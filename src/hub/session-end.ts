/**
 * End of a session: with its last registration, or when its agent ends it. Every part of the hub then releases what it
 * holds for the session.
 */
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { Identity, SessionId } from '../contracts/ids.ts'
import type { LeaveReason, Registration } from '../contracts/registry.ts'
import type { Caller } from '../contracts/token.ts'
import type { Registrations } from '../modules/registry/registrations.ts'
import type { RouteResolver } from '../modules/registry/route.ts'
import type { Log } from '../ports/log.ts'
import type { HubModule } from './hub-module.ts'
import type { Lifecycle } from './lifecycle.ts'

export interface SessionEndDeps {
  registrations: Pick<Registrations, 'ended'>
  routes: Pick<RouteResolver, 'sessions'>
  modules: readonly HubModule[]
  lifecycle: Pick<Lifecycle, 'failureLevel'>
  log: Log
}

export interface SessionEnd {
  part: HubModule
  /**
   * Ends the caller's own session. Idempotent. Throws `kind_forbidden`, `request_invalid`, and errors of the store.
   */
  end(caller: Caller): Promise<void>
  /** Resolves once no release is in progress. */
  settled(): Promise<void>
}

export function createSessionEnd(deps: SessionEndDeps): SessionEnd {
  const { registrations, routes, modules } = deps
  const releasing = new Map<string, Promise<unknown>>()

  // An identity contains no space.
  const keyOf = (identity: Identity, session_id: SessionId) => `${identity} ${session_id}`

  async function lost(identity: Identity, session_id: SessionId): Promise<void> {
    const key = keyOf(identity, session_id)
    const here = Promise.all(modules.map(async (module) => module.sessionLost?.(identity, session_id)))
    const done = Promise.all([releasing.get(key), here])
    releasing.set(key, done)
    try {
      await done
    } finally {
      if (releasing.get(key) === done) releasing.delete(key)
    }
  }

  const rowLeft = ({ kind, identity, session_id }: Registration, reason: LeaveReason) => {
    // Another registration may still hold the session.
    if (kind === 'daemon' || routes.sessions(identity).includes(session_id)) return
    lost(identity, session_id).catch((err: unknown) => {
      deps.log[deps.lifecycle.failureLevel()](
        { err, identity, reason },
        'leases of a lost session not released',
      )
    })
  }

  async function end({ kind, identity, session_id }: Caller): Promise<void> {
    if (kind !== 'agent') {
      throw new TurnbellError('kind_forbidden', {
        detail: `Only an agent can end its session; the caller is the ${kind} ${identity}.`,
        hint: 'Call with the token of the session to end.',
      })
    }
    if (session_id === undefined) {
      throw new TurnbellError('request_invalid', {
        detail: 'The token names no session.',
        hint: 'Call with the token of the session to end.',
      })
    }
    // The end of the registration releases everything held for the session.
    if (registrations.ended({ identity, session_id })) {
      await releasing.get(keyOf(identity, session_id))
      return
    }
    // A link or a daemon uses the session; its end will end the session.
    if (routes.sessions(identity).includes(session_id)) return
    await lost(identity, session_id)
  }

  return {
    part: { name: 'sessions', listener: { rowLeft } },
    end,
    async settled() {
      await Promise.allSettled(releasing.values())
    },
  }
}
