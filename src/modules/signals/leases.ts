/**
 * Drained is not yet read. A drain's ack stays tentative, as a lease, until something shows that the
 * agent really has the signals; if the session is lost before that, they go back to pending.
 *
 * What finishes a lease: the session's next turn boundary, a confirm with its drain_id, the session's
 * next drain once both answers were completely written. What takes it back: an answer that broke,
 * a restart of the hub, the loss of the session, `lease_ms` without a sign of life from it.
 *
 * The store keeps the leases; what is kept here is only what decides about them, and dies with the hub.
 */
import type { ReleaseCause } from './events.ts'
import type { SignalNeeds } from './needs.ts'
import type { DrainId, Identity, SessionId, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Turn } from '../../contracts/registry.ts'
import { timestamp } from '../../ports/clock.ts'
import type { Confirmed, Released } from '../../ports/signal-store.ts'

export interface Lease {
  drain_id: DrainId
  identity: Identity
  session_id: SessionId
  /** A turn after this one, or this one once it is idle, confirms. Null until a turn is known. */
  boundary_turn: number | null
  /** The answer left the hub completely. Before that no next drain confirms. */
  written: boolean
  /** What is reported from now on was sent after the answer left. Before that no end of a turn confirms. */
  caught_up: boolean
}

export interface Leases {
  /** Takes back what a former run left. */
  start(): Promise<{ released: number }>
  /** Call before the store drains, so that a session lost meanwhile takes the lease back in order. */
  open(drain_id: DrainId, identity: Identity, session_id: SessionId): Lease
  /** Nothing was drained under it. */
  forget(lease: Lease): void
  /** False once it was confirmed, taken back or forgotten. */
  stands(lease: Lease): boolean
  /** Once more, for a session that was lost before the store had drained. */
  takeBack(lease: Lease): Promise<void>
  settle(lease: Lease, answered: Promise<'written' | 'broken'>): void
  /** Only the persona's own; confirming twice, or what is unknown, changes nothing. */
  confirm(identity: Identity, drain_id: DrainId): Promise<void>
  /**
   * The session drains again: what it was completely given before, it has. Only once it was given this answer as well:
   * a request that its sender has given up may arrive late, and says nothing.
   */
  followed(identity: Identity, session_id: SessionId, answered: Promise<'written' | 'broken'>): void
  turnReported(identity: Identity, session_id: SessionId, turn: Turn, turn_seq: number): Promise<void>
  seen(identity: Identity, session_id: SessionId): void
  lost(identity: Identity, session_id: SessionId): Promise<void>
  /** The agent gave signals of this lease back; with the last one it is over. */
  givenBack(drain_id: DrainId): void
  /** Sessions heard of within `lease_ms` and not lost since. */
  recentSessions(identity: Identity): SessionId[]
  sweep(): Promise<void>
  /** Tells what went back, and what came back too often. */
  tellReleased(released: readonly Released[], cause: ReleaseCause): void
}

interface Session {
  identity: Identity
  session_id: SessionId
  seen_at: number
  /** As last reported; null before the first report. */
  turn: { turn: Turn; turn_seq: number } | null
  leases: Set<Lease>
}

/** Whose a drain is, and its lease as long as that stands. */
interface Owner {
  identity: Identity
  lease: Lease | null
}

/** How many finished leases are remembered, so that a late confirm still finds its owner. */
const REMEMBERED = 10_000

export function createLeases(needs: SignalNeeds): Leases {
  const { store, clock, events, log } = needs
  const personas = new Map<Identity, Map<SessionId, Session>>()
  /** Whose drain_id it is; oldest first. A confirm for another persona's must not count. */
  const owners = new Map<DrainId, Owner>()

  const sessionOf = (identity: Identity, session_id: SessionId): Session => {
    const sessions = getOrMake(personas, identity, () => new Map<SessionId, Session>())
    return getOrMake(sessions, session_id, () => ({
      identity,
      session_id,
      seen_at: clock.monotonic(),
      turn: null,
      leases: new Set<Lease>(),
    }))
  }
  const knownSession = (identity: Identity, session_id: SessionId) => personas.get(identity)?.get(session_id)
  const drop = (session: Session) => {
    const sessions = personas.get(session.identity)
    sessions?.delete(session.session_id)
    if (sessions?.size === 0) personas.delete(session.identity)
  }
  const own = (drain_id: DrainId, owner: Owner) => {
    owners.set(drain_id, owner)
    if (owners.size <= REMEMBERED) return
    for (const [oldest, { lease: held }] of owners) {
      if (owners.size <= REMEMBERED) break
      // A lease that still stands is remembered whatever the bound says.
      if (held === null) owners.delete(oldest)
    }
  }
  const forget = (lease: Lease) => {
    knownSession(lease.identity, lease.session_id)?.leases.delete(lease)
    const owner = owners.get(lease.drain_id)
    if (owner) owner.lease = null
  }

  const tellReleased: Leases['tellReleased'] = (released, cause) => {
    for (const [to, signals] of groupBy(released, (signal) => signal.to)) {
      const ids = (status: Released['status']) =>
        signals.filter((signal) => signal.status === status).map((signal) => signal.signal_id)
      const pending_count = store.pendingCount(to)
      const [back, dead] = [ids('pending'), ids('dead')]
      for (const signal_ids of inParts(back)) events.released({ to, signal_ids, cause, pending_count })
      for (const signal_ids of inParts(dead)) events.dead({ to, signal_ids, pending_count })
    }
  }

  /**
   * What is addressed to a session waits for nobody else while that is there. Call when it may have gone
   * for good: whoever rings for the persona has more to ring for.
   */
  const tellFreed = (to: Identity, session_id: SessionId) => {
    if (needs.routes.sessions(to).includes(session_id)) return
    const pending_count = store.pendingCount(to)
    if (store.pendingCount(to, [session_id]) === pending_count) return
    const others = new Set(store.peek(to, Infinity, [session_id]).map(({ signal_id }) => signal_id))
    const signal_ids = store
      .peek(to, Infinity)
      .map(({ signal_id }) => signal_id)
      .filter((signal_id) => !others.has(signal_id))
      // The count says how many they are; a frame has its bounds.
      .slice(0, LIMITS.peek_limit_max)
    events.freed({ to, signal_ids, session_id, pending_count })
  }

  const confirmDrain = async (drain_id: DrainId, { identity, lease }: Owner) => {
    const confirming = store.confirm(drain_id, timestamp(clock))
    if (lease !== null) forget(lease)
    let done: Confirmed
    try {
      done = await confirming
    } catch (error) {
      // Not confirmed after all: the lease stands, and the store says why it takes no writes.
      if (lease !== null) {
        sessionOf(identity, lease.session_id).leases.add(lease)
        own(drain_id, { identity, lease })
      }
      throw error
    }
    const { confirmed: signal_ids, waited } = done
    if (signal_ids.length === 0) return
    const pending_count = store.pendingCount(identity)
    events.confirmed({ to: identity, drain_id, signal_ids, waited, pending_count })
  }
  const confirmLease = (lease: Lease) => confirmDrain(lease.drain_id, { identity: lease.identity, lease })

  const releaseLease = async (lease: Lease, cause: ReleaseCause) => {
    forget(lease)
    tellReleased(await store.release(lease.drain_id), cause)
  }

  /**
   * What was heard until here may have been said before the agent had its answer, and turns may have come and gone
   * unheard where no link was there to tell. So only a turn that ends from now on confirms.
   */
  const catchUp = async (lease: Lease) => {
    const all = (await needs.caughtUp?.(lease.identity)) ?? true
    lease.caught_up = true
    if (!all) lease.boundary_turn = null
    const heard = knownSession(lease.identity, lease.session_id)?.turn ?? null
    if (heard !== null && isPast(lease, heard.turn, heard.turn_seq))
      lease.boundary_turn = boundaryAfter(heard.turn, heard.turn_seq)
  }

  const unsettled =
    ({ drain_id }: Lease) =>
    (err: unknown) =>
      log.error({ err, drain_id }, 'a lease could not be settled; its time will run out')

  const stands = (lease: Lease) => owners.get(lease.drain_id)?.lease === lease

  return {
    tellReleased,
    forget,
    stands,
    takeBack: (lease) => releaseLease(lease, 'session_lost'),

    async start() {
      const left = store.leases()
      for (const { drain_id, identity } of left) own(drain_id, { identity, lease: null })
      const released = await Promise.all(left.map(({ drain_id }) => store.release(drain_id)))
      tellReleased(released.flat(), 'hub_restarted')
      return { released: released.flat().length }
    },

    open(drain_id, identity, session_id) {
      const session = sessionOf(identity, session_id)
      session.seen_at = clock.monotonic()
      const lease: Lease = {
        drain_id,
        identity,
        session_id,
        boundary_turn: session.turn === null ? null : boundaryAfter(session.turn.turn, session.turn.turn_seq),
        written: false,
        caught_up: false,
      }
      session.leases.add(lease)
      own(drain_id, { identity, lease })
      return lease
    },

    settle(lease, answered) {
      answered
        .then(async (how) => {
          if (how === 'written') {
            lease.written = true
            await catchUp(lease)
          } else if (stands(lease)) await releaseLease(lease, 'answer_broken')
        })
        .catch(unsettled(lease))
    },

    async confirm(identity, drain_id) {
      const owner = owners.get(drain_id)
      if (owner?.identity !== identity) return
      await confirmDrain(drain_id, owner)
    },

    followed(identity, session_id, answered) {
      for (const lease of knownSession(identity, session_id)?.leases ?? []) {
        if (!lease.written) continue
        answered
          .then(async (how) => {
            if (how === 'written' && stands(lease)) await confirmLease(lease)
          })
          .catch(unsettled(lease))
      }
    },

    async turnReported(identity, session_id, turn, turn_seq) {
      const session = sessionOf(identity, session_id)
      session.seen_at = clock.monotonic()
      const continues = session.turn === null || countsOn(session.turn.turn_seq, turn_seq)
      session.turn = { turn, turn_seq }
      const finished: Lease[] = []
      for (const lease of session.leases) {
        if (lease.boundary_turn === null || !continues) {
          lease.boundary_turn = boundaryAfter(turn, turn_seq)
        } else if (!lease.caught_up) {
          // It drains in this one, or has ended it before it drained: what is heard next will tell.
          if (turn === 'busy') lease.boundary_turn = Math.max(lease.boundary_turn, turn_seq)
        } else if (isPast(lease, turn, turn_seq)) {
          finished.push(lease)
        }
      }
      await Promise.all(finished.map(confirmLease))
    },

    seen(identity, session_id) {
      sessionOf(identity, session_id).seen_at = clock.monotonic()
    },

    async lost(identity, session_id) {
      const session = knownSession(identity, session_id)
      const leases = [...(session?.leases ?? [])]
      if (session) drop(session)
      // Before the leases, whose signals are told as released.
      tellFreed(identity, session_id)
      await Promise.all(leases.map((lease) => releaseLease(lease, 'session_lost')))
    },

    givenBack(drain_id) {
      const lease = owners.get(drain_id)?.lease
      if (lease === null || lease === undefined) return
      if (!store.leases().some((standing) => standing.drain_id === drain_id)) forget(lease)
    },

    recentSessions: (identity) => [...(personas.get(identity)?.keys() ?? [])],

    async sweep() {
      const silent_since = clock.monotonic() - LIMITS.lease_ms
      const standing = new Set(store.leases().map(({ drain_id }) => drain_id))
      const overdue: Lease[] = []
      for (const sessions of [...personas.values()]) {
        for (const session of [...sessions.values()]) {
          const silent = session.seen_at <= silent_since
          for (const lease of [...session.leases]) {
            if (silent) overdue.push(lease)
            // Its signals were all completed or released one by one.
            else if (lease.written && !standing.has(lease.drain_id)) forget(lease)
          }
          if (!silent) continue
          drop(session)
          tellFreed(session.identity, session.session_id)
        }
      }
      await Promise.all(overdue.map((lease) => releaseLease(lease, 'lease_timed_out')))
    },
  }
}

/**
 * Turns are counted one by one. Else another shim counts, perhaps in the very turn in which the agent drained: what was
 * said before means nothing now.
 */
function countsOn(before: number, turn_seq: number): boolean {
  return turn_seq === before || turn_seq === before + 1
}

function isPast({ boundary_turn }: Lease, turn: Turn, turn_seq: number): boolean {
  if (boundary_turn === null) return false
  return turn_seq > boundary_turn || (turn_seq === boundary_turn && turn === 'idle')
}

/**
 * The turn whose end (or whose successor) shows that the answer was read. While idle the agent may
 * already stand in a turn that was not reported yet, so the next one is taken.
 */
function boundaryAfter(turn: Turn, turn_seq: number): number {
  return turn === 'busy' ? turn_seq : turn_seq + 1
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make()))
  return value
}

/** As many ids as one frame or event carries; the rest follows in the next. */
export function inParts(signal_ids: readonly SignalId[]): SignalId[][] {
  const size = LIMITS.told_ids_max
  return Array.from({ length: Math.ceil(signal_ids.length / size) }, (_, part) =>
    signal_ids.slice(part * size, (part + 1) * size),
  )
}

/** Keeps the order of first appearance. */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) getOrMake(groups, keyOf(item), () => [] as T[]).push(item)
  return groups
}
