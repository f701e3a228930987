/** Sessions that showed a sign of life, with their open leases, and the owner of each drain. */
import { newLease, type Lease, type Session } from './lease-state.ts'
import type { DrainId, Identity, SessionId } from '../../contracts/ids.ts'
import type { Clock } from '../../ports/clock.ts'
import { getOrCreate } from '../lib/group-by.ts'

/** Persona and session of a drain, and its lease until that is confirmed, released or discarded. */
export interface DrainOwner {
  identity: Identity
  session_id: SessionId
  lease: Lease | null
}

export interface LeaseSessions {
  find: (identity: Identity, session_id: SessionId) => Session | undefined
  /** Returns the session and records it where it is unknown. */
  ensure: (identity: Identity, session_id: SessionId) => Session
  remove: (session: Session) => void
  ids: (identity: Identity) => SessionId[]
  all: () => Session[]

  ownerOf: (drain_id: DrainId) => DrainOwner | undefined
  /** Records the owner of a drain whose lease a former hub held. */
  setOwner: (drain_id: DrainId, owner: DrainOwner) => void
  addLease: (drain_id: DrainId, session: Session) => Lease
  /** Puts back a lease whose confirmation failed. */
  restoreLease: (lease: Lease) => void
  /** Ends the lease; its owner stays known for a late confirm. */
  discard: (lease: Lease) => void
  isOpen: (lease: Lease) => boolean
}

/** Maximum number of finished drains whose owner is remembered, so that a late confirm still finds it. */
const OWNERS_MAX = 10_000

export function createLeaseSessions(clock: Clock): LeaseSessions {
  const personas = new Map<Identity, Map<SessionId, Session>>()
  /** By drain_id, oldest first. A confirm for another persona's drain must not count. */
  const owners = new Map<DrainId, DrainOwner>()

  const find: LeaseSessions['find'] = (identity, session_id) => personas.get(identity)?.get(session_id)
  const ensure: LeaseSessions['ensure'] = (identity, session_id) => {
    const sessions = getOrCreate(personas, identity, () => new Map<SessionId, Session>())
    return getOrCreate(sessions, session_id, () => ({
      identity,
      session_id,
      seen_at: clock.monotonic(),
      turn: null,
      reports_turns: false,
      has_drained: false,
      leases: new Set<Lease>(),
    }))
  }
  const setOwner: LeaseSessions['setOwner'] = (drain_id, owner) => {
    owners.set(drain_id, owner)
    if (owners.size <= OWNERS_MAX) return
    for (const [oldest, { lease }] of owners) {
      if (owners.size <= OWNERS_MAX) break
      // An open lease is kept even above the bound.
      if (lease === null) owners.delete(oldest)
    }
  }
  const attach = (lease: Lease, session: Session) => {
    session.leases.add(lease)
    const { identity, session_id } = session
    setOwner(lease.drain_id, { identity, session_id, lease })
  }

  return {
    find,
    ensure,
    remove(session) {
      const sessions = personas.get(session.identity)
      sessions?.delete(session.session_id)
      if (sessions?.size === 0) personas.delete(session.identity)
    },
    ids: (identity) => [...(personas.get(identity)?.keys() ?? [])],
    all: () => [...personas.values()].flatMap((sessions) => [...sessions.values()]),

    ownerOf: (drain_id) => owners.get(drain_id),
    setOwner,
    addLease(drain_id, session) {
      const lease = newLease(drain_id, session)
      attach(lease, session)
      return lease
    },
    restoreLease: (lease) => attach(lease, ensure(lease.identity, lease.session_id)),
    discard(lease) {
      find(lease.identity, lease.session_id)?.leases.delete(lease)
      const owner = owners.get(lease.drain_id)
      if (owner) owner.lease = null
    },
    isOpen: (lease) => owners.get(lease.drain_id)?.lease === lease,
  }
}
