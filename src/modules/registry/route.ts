/** Whether a doorbell can reach a persona now, and the reason if not. Resolved at every send. */
import type { Registrations } from './registrations.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import type { Registration } from '../../contracts/registry.ts'
import type { Route } from '../../contracts/signal.ts'

/** Whether a doorbell can reach this persona now, and which sessions of it are present. */
export interface RouteResolver {
  resolve(identity: Identity): Route
  /** Surface and last heartbeat, as a sentence for the sender that required a live route. */
  describe(identity: Identity): string
  /** The sessions of this persona that hold a registration now. */
  sessions(identity: Identity): SessionId[]
}

export function createRouteResolver(registrations: Registrations): RouteResolver {
  const resolve = (identity: Identity): Route => {
    const rows = registrations.rows(identity)
    const daemons = rows.filter((row) => row.kind === 'daemon')
    const agents = rows.filter((row) => row.kind === 'agent' && registrations.hasLink(row))
    const fresh = (row: Registration) => registrations.isFresh(row)
    if (daemons.some((row) => fresh(row) && isRung(row))) return live
    if (agents.some(fresh)) return live
    if (daemons.some(fresh)) return { live: false, reason: 'surface_absent' }
    if (daemons.length > 0 || agents.length > 0) return { live: false, reason: 'stale' }

    const past = registrations.lastSeen(identity)
    if (past === null) return { live: false, reason: 'no_binding' }
    if (past.expired) return { live: false, reason: 'stale' }
    return { live: false, reason: past.daemon_left === null ? 'no_binding' : 'daemon_down' }
  }

  const describe = (identity: Identity): string => {
    const rows = registrations.rows(identity)
    if (rows.length > 0) {
      return rows
        .map(
          (row) =>
            `${row.kind} on ${row.surface}, last seen at ${row.last_heartbeat_at}, surface ${row.facts?.attached === true ? 'attached' : 'not attached'}`,
        )
        .join('; ')
    }
    const past = registrations.lastSeen(identity)
    if (past === null) return 'no agent or daemon joined since the hub started'
    return `no agent or daemon is connected; last seen on ${past.surface} at ${past.last_heartbeat_at}`
  }

  const sessions = (identity: Identity): SessionId[] =>
    registrations
      .rows(identity)
      .filter((row) => row.kind === 'agent')
      .map((row) => row.session_id)

  return { resolve, describe, sessions }
}

/** Whether a doorbell reaches the surface: it is attached, and its window is not closed. */
const isRung = ({ facts }: Registration) => facts?.attached === true && facts.window !== false

const live: Route = { live: true, reason: null }
