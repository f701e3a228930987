/** The rows of the runtime registry, and the last one of each persona that has none. */
import type { Identity, SessionId, SurfaceKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { LeaveReason, Registration, SurfaceFacts } from '../../contracts/registry.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import { defined } from '../lib/defined.ts'

/** Why a holder loses its row. `refresh`: the same session joined again on another link. */
export type LossReason = 'preempt' | 'refresh' | 'expire' | 'wrap' | 'remove'

/** The link of a row. Called after the row was removed, so the registry is consistent during the call. */
export interface Holder {
  lose(why: LossReason): void
}

export interface RegistryEvents {
  joined(row: Registration): void
  left(row: Registration, reason: LeaveReason): void
}

export interface JoinRequest {
  identity: Identity
  surface: SurfaceKind
  kind: 'agent' | 'daemon'
  session_id: SessionId
  holder: Holder
}

/** Proves which row a holder owns. */
export type Ticket = Pick<Registration, 'identity' | 'surface' | 'kind' | 'epoch'>

/** The last registration of a persona without rows: the reason why no doorbell can be sent. */
export interface LastSeen {
  surface: SurfaceKind
  last_heartbeat_at: string
  /** Null for a persona that only had agents. */
  daemon_left: LeaveReason | null
  expired: boolean
}

export interface Row {
  registration: Registration
  /** Monotonic milliseconds of the last sign of life. */
  seen_at: number
  /** How the row is known to be alive: by a link of its own, by its daemon's reports, or only by its calls. */
  source: 'link' | 'daemon' | 'call'
  /** Null without a link. */
  holder: Holder | null
  /** The daemon reported that the session may return; whether it survived is unknown until then. */
  is_awaited?: boolean
}

export interface Rows {
  of(identity: Identity): readonly Row[]
  all(): Row[]
  find(at: Pick<Registration, 'identity' | 'surface' | 'kind'>): Row | undefined
  /** Undefined for a ticket that lost its row. */
  held(ticket: Ticket): Row | undefined
  /** Adds a row, or replaces the one with the same identity, surface and kind. */
  put(
    at: Omit<JoinRequest, 'holder'>,
    origin: Pick<Row, 'source' | 'holder'>,
    kept?: Partial<Registration>,
  ): Registration
  /** Removes a row and notifies the events and the holder; the holder last, because it may close its link. */
  leave(row: Row, reason: LeaveReason, loss: LossReason | null): void
  refresh(row: Row, facts?: SurfaceFacts): void
  isSilent(row: Row): boolean
  lastSeen: (identity: Identity) => LastSeen | null
  forget: (identity: Identity) => void
}

export function createRows({ clock, events }: { clock: Clock; events: RegistryEvents }): Rows {
  /** Arrays are never modified. Most personas have one row, for which an array is smaller than a map. */
  const personas = new Map<Identity, readonly Row[]>()
  const history = createHistory()
  let last_epoch = 0

  const rows: Rows = {
    of: (identity) => personas.get(identity) ?? [],
    all: () => [...personas.values()].flat(),
    find: (at) => rows.of(at.identity).find((row) => isAt(row, at)),
    held(ticket) {
      const row = rows.find(ticket)
      return row?.registration.epoch === ticket.epoch ? row : undefined
    },
    put({ identity, surface, kind, session_id }, origin, { facts, notes, joined_at } = {}) {
      const now = timestamp(clock)
      // Grows with every join, also across restarts unless the clock was set far back.
      last_epoch = Math.max(last_epoch + 1, clock.now())
      const registration: Registration = {
        identity,
        surface,
        kind,
        session_id,
        epoch: last_epoch,
        connected: true,
        joined_at: joined_at ?? now,
        last_heartbeat_at: now,
        ...defined({ facts, notes }),
      }
      const row: Row = { registration, seen_at: clock.monotonic(), ...origin }
      const present = rows.of(identity)
      const place = present.findIndex((other) => isAt(other, registration))
      personas.set(identity, place === -1 ? [...present, row] : present.with(place, row))
      return registration
    },
    leave(row, reason, loss) {
      const { registration } = row
      const rest = rows.of(registration.identity).filter((other) => !isAt(other, registration))
      if (rest.length > 0) personas.set(registration.identity, rest)
      else personas.delete(registration.identity)
      history.add(row, reason)
      if (registration.kind === 'daemon') disconnectAgent(rows, registration)
      registration.connected = false
      events.left(registration, reason)
      if (loss !== null) row.holder?.lose(loss)
    },
    refresh(row, facts) {
      row.seen_at = clock.monotonic()
      row.registration.last_heartbeat_at = timestamp(clock)
      if (facts !== undefined) row.registration.facts = facts
    },
    isSilent(row) {
      // Without its daemon the surface and its session may be fine, and an agent that only calls may be busy. Both
      // keep what they drained for `lease_ms`.
      const bound = livesOnCalls(row) ? LIMITS.lease_ms : LIMITS.registration_expire_ms
      return clock.monotonic() - row.seen_at > bound
    },
    lastSeen: history.get,
    forget: history.delete,
  }
  return rows
}

/** An agent known only through its daemon may live on, but cannot be rung until a daemon is back. */
function disconnectAgent(rows: Rows, { identity, surface }: Registration): void {
  const agent = rows.find({ identity, surface, kind: 'agent' })
  if (agent?.source === 'daemon') agent.registration.connected = false
}

function createHistory() {
  const history = new Map<Identity, LastSeen>()
  return {
    get: (identity: Identity): LastSeen | null => history.get(identity) ?? null,
    delete: (identity: Identity) => void history.delete(identity),
    add({ registration, holder }: Row, reason: LeaveReason) {
      // A row without a link does not matter for doorbells.
      if (holder === null) return
      const before = history.get(registration.identity)
      history.delete(registration.identity)
      history.set(registration.identity, {
        surface: registration.surface,
        last_heartbeat_at: registration.last_heartbeat_at,
        daemon_left: registration.kind === 'daemon' ? reason : (before?.daemon_left ?? null),
        expired: reason === 'expire',
      })
      if (history.size <= LIMITS.personas_max) return
      const [oldest] = history.keys()
      if (oldest !== undefined) history.delete(oldest)
    },
  }
}

function isAt({ registration }: Row, { kind, surface }: Pick<Registration, 'surface' | 'kind'>): boolean {
  return registration.kind === kind && registration.surface === surface
}

/** Returns whether only its own calls show that the agent is alive: it has no daemon, or its daemon is away. */
export function livesOnCalls({ source, registration }: Row): boolean {
  return source === 'call' || (source === 'daemon' && !registration.connected)
}
