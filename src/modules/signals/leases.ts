/**
 * Leases of drains. The ack of a drain stays tentative until the turn in which it was made has ended, so that an agent
 * that dies during its turn loses nothing.
 *
 * Where the session's turns are reported, only the end of the turn makes a drain final. A confirm, or the next drain in
 * the same turn, shows that the agent has the answer: `seen_at` is set, and the end of this turn counts even if it was
 * reported before the answer was known to have arrived.
 * Where nobody reports the session's turns, a confirm or the session's next drain makes it final.
 *
 * A lease is released by a broken answer, a restart of the hub, the loss of the session, or `lease_ms` without a sign of
 * life. The store keeps the leases; the state here only decides about them and is lost with the hub.
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
  /** Ids of the drained signals; empty until the store has drained. */
  signal_ids: readonly SignalId[]
  /** A turn after this one, or this one once it is idle, confirms. Null until a turn is known. */
  boundary_turn: number | null
  /**
   * The earlier value of `boundary_turn`, whose end was reported before the answer was known to have arrived. It applies
   * again as soon as the agent shows that it has the answer. Otherwise null.
   */
  doubtful_turn: number | null
  /** The answer left the hub completely. Before that no next drain counts. */
  written: boolean
  /** Reports from now on were sent after the answer left. Before that no end of a turn confirms. */
  caught_up: boolean
  /** A confirm or a next drain has shown that the agent has the answer. */
  seen: boolean
  /** Its signals are pending again; the end of the turn confirms those that were not drained since. */
  released: boolean
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
  settle(lease: Lease, signal_ids: readonly SignalId[], answered: Promise<'written' | 'broken'>): void
  /**
   * The agent has the answer of this drain. Final at once where nobody reports the session's turns, otherwise with the
   * end of its turn. Only the persona's own drains; an unknown or already confirmed drain changes nothing.
   */
  confirm(identity: Identity, drain_id: DrainId): Promise<void>
  /**
   * The session drains again, which shows that it has the answers that were completely written before. Counts only once
   * this answer is written as well: a request that its sender has given up may arrive late.
   */
  followed(identity: Identity, session_id: SessionId, answered: Promise<'written' | 'broken'>): void
  turnReported(identity: Identity, session_id: SessionId, turn: Turn, turn_seq: number): Promise<void>
  seen(identity: Identity, session_id: SessionId): void
  lost(identity: Identity, session_id: SessionId): Promise<void>
  /** The agent gave signals of this lease back; with the last one it is over. */
  givenBack(drain_id: DrainId): void
  /** No drain of the session was answered yet, since the hub has started or since the session was lost. */
  isNew(identity: Identity, session_id: SessionId): boolean
  notNew(identity: Identity, session_id: SessionId): void
  /** Sessions heard of within `lease_ms` and not lost since. */
  recentSessions(identity: Identity): SessionId[]
  sweep(): Promise<void>
  /** Tells what went back, and what came back too often. */
  tellReleased(released: readonly Released[], cause: ReleaseCause): void
}

interface Reported {
  turn: Turn
  turn_seq: number
}

interface Session {
  identity: Identity
  session_id: SessionId
  seen_at: number
  /** As last reported; null before the first report. */
  turn: Reported | null
  /** A turn was reported, not only an idle surface. */
  reports_turns: boolean
  has_drained: boolean
  leases: Set<Lease>
}

/** Persona and session of a drain, and its lease until that is confirmed, released or forgotten. */
interface Owner {
  identity: Identity
  session_id: SessionId
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
      reports_turns: false,
      has_drained: false,
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

  const confirmDrain = async (drain_id: DrainId, { identity, session_id, lease }: Owner) => {
    const confirming = store.confirm(drain_id, timestamp(clock))
    if (lease !== null) forget(lease)
    let done: Confirmed
    try {
      done = await confirming
    } catch (error) {
      // Not confirmed after all: the lease stands, and the store says why it takes no writes.
      if (lease !== null) {
        sessionOf(identity, session_id).leases.add(lease)
        own(drain_id, { identity, session_id, lease })
      }
      throw error
    }
    const { confirmed: signal_ids, waited } = done
    if (signal_ids.length === 0) return
    const pending_count = store.pendingCount(identity)
    events.confirmed({ to: identity, drain_id, signal_ids, waited, pending_count })
  }
  const confirmLease = (lease: Lease) => {
    const { drain_id, identity, session_id } = lease
    return confirmDrain(drain_id, { identity, session_id, lease })
  }

  const releaseLease = async (lease: Lease, cause: ReleaseCause) => {
    forget(lease)
    tellReleased(await store.release(lease.drain_id), cause)
  }

  /** Waits for the reports that are under way. Where some may be missing, the next report is the new baseline. */
  const hearReports = async (lease: Lease) => {
    if (lease.caught_up) return
    const all = (await needs.caughtUp?.(lease.identity)) ?? true
    lease.caught_up = true
    if (all) return
    lease.boundary_turn = null
    lease.doubtful_turn = null
  }

  /**
   * Reports that arrived up to here may have been sent before the agent had its answer, and turns may have passed
   * without a report where no link was open. So only the end of a turn from now on confirms, unless the agent shows that
   * it has the answer.
   */
  const catchUp = async (lease: Lease) => {
    await hearReports(lease)
    if (lease.seen) return
    const heard = knownSession(lease.identity, lease.session_id)?.turn ?? null
    if (heard === null || !isPast(lease, heard)) return
    lease.doubtful_turn = lease.boundary_turn
    lease.boundary_turn = boundaryAfter(heard)
  }

  /** The agent has the answer: final where nobody reports the session's turns, or where its turn is over. */
  const answerSeen = async (lease: Lease) => {
    const session = sessionOf(lease.identity, lease.session_id)
    if (session.turn !== null) await hearReports(lease)
    if (!stands(lease)) return
    if (!session.reports_turns) return confirmLease(lease)
    if (!lease.seen) store.mark(lease.signal_ids, 'seen_at', timestamp(clock))
    lease.seen = true
    lease.boundary_turn = lease.doubtful_turn ?? lease.boundary_turn
    lease.doubtful_turn = null
    if (session.turn !== null && isPast(lease, session.turn)) await confirmLease(lease)
  }

  /**
   * The agent has an answer whose signals went back to pending since. Where its turn is still running they stay pending
   * until its end, as the agent may still die in it.
   */
  const releasedAnswerSeen = async (drain_id: DrainId, owner: Owner) => {
    const { identity, session_id } = owner
    const session = knownSession(identity, session_id)
    if (!session?.reports_turns || session.turn?.turn !== 'busy') return confirmDrain(drain_id, owner)
    const lease = newLease(drain_id, session)
    Object.assign(lease, { written: true, caught_up: true, seen: true, released: true })
    session.leases.add(lease)
    own(drain_id, { identity, session_id, lease })
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
      for (const { drain_id, identity, session_id } of left)
        own(drain_id, { identity, session_id, lease: null })
      const released = await Promise.all(left.map(({ drain_id }) => store.release(drain_id)))
      tellReleased(released.flat(), 'hub_restarted')
      return { released: released.flat().length }
    },

    open(drain_id, identity, session_id) {
      const session = sessionOf(identity, session_id)
      session.seen_at = clock.monotonic()
      const lease = newLease(drain_id, session)
      session.leases.add(lease)
      own(drain_id, { identity, session_id, lease })
      return lease
    },

    settle(lease, signal_ids, answered) {
      lease.signal_ids = signal_ids
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
      if (owner.lease === null) await releasedAnswerSeen(drain_id, owner)
      else await answerSeen(owner.lease)
    },

    followed(identity, session_id, answered) {
      for (const lease of knownSession(identity, session_id)?.leases ?? []) {
        if (!lease.written) continue
        answered
          .then(async (how) => {
            if (how === 'written' && stands(lease)) await answerSeen(lease)
          })
          .catch(unsettled(lease))
      }
    },

    async turnReported(identity, session_id, turn, turn_seq) {
      const session = sessionOf(identity, session_id)
      session.seen_at = clock.monotonic()
      const before = session.turn
      const continues = before === null || countsOn(before.turn_seq, turn_seq)
      session.turn = { turn, turn_seq }
      if (turn === 'busy' || (before !== null && before.turn_seq !== turn_seq)) session.reports_turns = true
      const finished: Lease[] = []
      for (const lease of session.leases) {
        if (lease.boundary_turn === null || !continues) {
          lease.boundary_turn = boundaryAfter(session.turn)
          lease.doubtful_turn = null
        } else if (!lease.caught_up) {
          // It drains in this one, or has ended it before it drained: what is heard next will tell.
          if (turn === 'busy') lease.boundary_turn = Math.max(lease.boundary_turn, turn_seq)
        } else if (isPast(lease, session.turn)) {
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

    isNew: (identity, session_id) => knownSession(identity, session_id)?.has_drained !== true,
    notNew(identity, session_id) {
      const session = knownSession(identity, session_id)
      if (session) session.has_drained = true
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
            else if (lease.written && !lease.released && !standing.has(lease.drain_id)) forget(lease)
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

function isPast({ boundary_turn }: Lease, { turn, turn_seq }: Reported): boolean {
  if (boundary_turn === null) return false
  return turn_seq > boundary_turn || (turn_seq === boundary_turn && turn === 'idle')
}

/**
 * The turn whose end (or whose successor) shows that the answer was read. While idle the agent may
 * already stand in a turn that was not reported yet, so the next one is taken.
 */
function boundaryAfter({ turn, turn_seq }: Reported): number {
  return turn === 'busy' ? turn_seq : turn_seq + 1
}

function newLease(drain_id: DrainId, { identity, session_id, turn }: Session): Lease {
  return {
    ...{ drain_id, identity, session_id },
    signal_ids: [],
    boundary_turn: turn === null ? null : boundaryAfter(turn),
    doubtful_turn: null,
    written: false,
    caught_up: false,
    seen: false,
    released: false,
  }
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
