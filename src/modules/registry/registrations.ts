/**
 * Who is there now: the runtime registry, in memory, rebuilt by whoever joins after a restart.
 *
 * One row per (identity, surface, kind). Every join takes a new epoch, and a holder whose epoch is not
 * the row's has lost it: whatever it still says is ignored. Rows of daemons and rows of agents never
 * touch each other, with one exception: an agent that holds no link of its own is known through what
 * its daemon reports of the surface, and that makes, refreshes and ends a row for it. An agent without
 * either, which only calls, has a row once it registers, and as long as it goes on calling.
 */
import { TurnbellError } from '../../contracts/errors.ts'
import {
  ANONYMOUS_SESSION_PREFIX,
  type Identity,
  type SessionId,
  type SurfaceKind,
} from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { AgentNotes, LeaveReason, Registration, SurfaceFacts } from '../../contracts/registry.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'

/** Why a holder loses its row. `refresh`: the same session came again on another link. */
export type LossReason = 'preempt' | 'refresh' | 'expire' | 'wrap' | 'remove'

/** The link behind a row. Told after the row is gone, so whatever it does finds the registry settled. */
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

/** What a holder shows to speak for its row. */
export type Ticket = Pick<Registration, 'identity' | 'surface' | 'kind' | 'epoch'>

/** What is remembered of a persona whose rows are gone: why nobody can be rung for it. */
export interface LastSeen {
  surface: SurfaceKind
  last_heartbeat_at: string
  /** Null for a persona that only ever had agents. */
  daemon_left: LeaveReason | null
  expired: boolean
}

/** One run of an agent, by who it is and what it calls itself. */
export type AgentSession = Pick<Registration, 'identity' | 'session_id'>

export interface Registrations {
  join(request: JoinRequest): Ticket
  /** False for a ticket that lost its row. */
  heartbeat(ticket: Ticket, facts?: SurfaceFacts): boolean
  /**
   * An agent says by a call that it is there, and what about. The rows of its session take the notes; where
   * it has none, one is made, and another session that only called loses its own. Throws `binding_stale`
   * where one stands that somebody else vouches for.
   */
  register(agent: AgentSession, notes: AgentNotes): Registration
  /** The same as a sign of life: it takes no row from anybody. Throws `binding_stale`. */
  report(agent: AgentSession, notes: AgentNotes): Registration
  /** The session called. Only a row that nobody else vouches for now is refreshed by it. */
  seen(agent: AgentSession): void
  /** The session says that it is over: its row that lives on calls leaves. False where it has none. */
  ended(agent: AgentSession): boolean
  /** The link closed. A ticket that lost its row changes nothing. */
  close(ticket: Ticket): void
  /** Every row of the persona leaves with reason `wrap`; the holders hear which of the two it was. */
  end(identity: Identity, why: 'wrap' | 'remove'): void
  /** Rows without a sign of life leave with reason `expire`. */
  sweep(): void
  rows(identity?: Identity): Registration[]
  /** Heard of within `registration_expire_ms`; a row may be found before the sweep finds it. */
  isFresh(row: Registration): boolean
  /** Does the agent hold a link of its own, or is it known through its daemon. */
  hasLink(row: Registration): boolean
  lastSeen(identity: Identity): LastSeen | null
}

interface Row {
  registration: Registration
  heard_at: number
  /** Who vouches for it: a link of its own, a daemon that sees its surface, or nothing but its calls. */
  source: 'link' | 'daemon' | 'call'
  /** Null without a link. */
  holder: Holder | null
  /** Its daemon said that the session may return: what happened to it meanwhile is not known. */
  is_awaited?: boolean
}

/** Where an agent is found that only calls. */
const SURFACE_OF_CALLERS: SurfaceKind = 'mcp'

export function createRegistrations(needs: { clock: Clock; events: RegistryEvents }): Registrations {
  const { clock, events } = needs
  /** Never changed in place. Mostly one row, of a daemon, for which a map would take more than the row. */
  const personas = new Map<Identity, readonly Row[]>()
  const history = new Map<Identity, LastSeen>()
  let last_epoch = 0

  const rowsFor = (identity: Identity) => personas.get(identity) ?? []
  const isAt = ({ registration }: Row, { kind, surface }: Pick<Registration, 'surface' | 'kind'>) =>
    registration.kind === kind && registration.surface === surface
  const find = (at: Pick<Registration, 'identity' | 'surface' | 'kind'>) =>
    rowsFor(at.identity).find((row) => isAt(row, at))
  const held = (ticket: Ticket) => {
    const row = find(ticket)
    return row?.registration.epoch === ticket.epoch ? row : undefined
  }
  const all = () => [...personas.values()].flat()

  const put = (
    at: Omit<JoinRequest, 'holder'>,
    how: Pick<Row, 'source' | 'holder'>,
    { facts, notes, joined_at }: Partial<Registration> = {},
  ): Registration => {
    const now = timestamp(clock)
    // Grows with every join, also across restarts, as long as the clock does not step far back.
    last_epoch = Math.max(last_epoch + 1, clock.now())
    const registration: Registration = {
      identity: at.identity,
      surface: at.surface,
      kind: at.kind,
      session_id: at.session_id,
      epoch: last_epoch,
      connected: true,
      joined_at: joined_at ?? now,
      last_heartbeat_at: now,
      ...(facts === undefined ? {} : { facts }),
      ...(notes === undefined ? {} : { notes }),
    }
    const row: Row = { registration, heard_at: clock.monotonic(), ...how }
    const rows = rowsFor(at.identity)
    const place = rows.findIndex((other) => isAt(other, at))
    personas.set(at.identity, place === -1 ? [...rows, row] : rows.with(place, row))
    return registration
  }

  const remember = ({ registration, holder }: Row, reason: LeaveReason) => {
    // An agent without a link of its own says nothing about who could be rung.
    if (holder === null) return
    const before = history.get(registration.identity)
    history.delete(registration.identity)
    history.set(registration.identity, {
      surface: registration.surface,
      last_heartbeat_at: registration.last_heartbeat_at,
      daemon_left: registration.kind === 'daemon' ? reason : (before?.daemon_left ?? null),
      expired: reason === 'expire',
    })
    if (history.size > LIMITS.personas_max) {
      const [oldest] = history.keys()
      if (oldest !== undefined) history.delete(oldest)
    }
  }

  /** Takes the row away and tells everybody; the holder last, because it may close its link at once. */
  const leave = (row: Row, reason: LeaveReason, loss: LossReason | null) => {
    const { registration } = row
    const rest = rowsFor(registration.identity).filter((other) => !isAt(other, registration))
    if (rest.length > 0) personas.set(registration.identity, rest)
    else personas.delete(registration.identity)
    remember(row, reason)
    // The agent behind it may live on; only nobody can be rung for it until a daemon is back.
    if (registration.kind === 'daemon') disconnectAgentOf(registration)
    registration.connected = false
    events.left(registration, reason)
    if (loss !== null) row.holder?.lose(loss)
  }

  const disconnectAgentOf = ({ identity, surface }: Registration) => {
    const agent = find({ identity, surface, kind: 'agent' })
    if (agent?.source === 'daemon') agent.registration.connected = false
  }

  /** What a daemon says of its surface. An agent with a link of its own speaks for itself. */
  const learnAgent = (daemon: Registration, facts: SurfaceFacts) => {
    const { identity, surface } = daemon
    const agent = find({ identity, surface, kind: 'agent' })
    if (agent?.source === 'link') return
    const { session_id } = facts
    if (!facts.attached || session_id === null) {
      const returns = agent?.registration.session_id === facts.returning_session_id
      if (agent?.source === 'daemon' && returns) {
        agent.registration.connected = false
        agent.is_awaited = true
        return
      }
      if (agent?.source === 'daemon') leave(agent, 'close', null)
      return
    }
    if (agent?.registration.session_id === session_id && goesOn(agent, facts)) {
      refresh(agent, facts)
      agent.registration.connected = true
      agent.is_awaited = false
      return
    }
    if (agent) leave(agent, 'preempt', null)
    const seen = { source: 'daemon', holder: null } as const
    events.joined(put({ identity, surface, kind: 'agent', session_id }, seen, { facts }))
  }

  const refresh = (row: Row, facts: SurfaceFacts | undefined) => {
    row.heard_at = clock.monotonic()
    row.registration.last_heartbeat_at = timestamp(clock)
    if (facts !== undefined) row.registration.facts = facts
  }

  const rowsOf = ({ identity, session_id }: AgentSession) =>
    rowsFor(identity).filter(({ registration: row }) => row.kind === 'agent' && row.session_id === session_id)

  /** Who names no session speaks for the one that is there, if somebody vouches for it. */
  const onlySession = ({ identity, session_id }: AgentSession): Row[] => {
    if (!session_id.startsWith(ANONYMOUS_SESSION_PREFIX)) return []
    const agents = rowsFor(identity).filter(
      ({ registration: { kind }, source }) => kind === 'agent' && source !== 'call',
    )
    return agents.length === 1 ? agents : []
  }

  const told = (agent: AgentSession, notes: AgentNotes, may_preempt: boolean): Registration => {
    const mine = rowsOf(agent)
    const own = mine.length > 0 ? mine : onlySession(agent)
    for (const row of own) {
      refresh(row, undefined)
      row.registration.notes = { ...row.registration.notes, ...notes }
    }
    if (own[0] !== undefined) return { ...own[0].registration }
    const at = { identity: agent.identity, surface: SURFACE_OF_CALLERS, kind: 'agent' } as const
    const other = find(at)
    if (other !== undefined && !(may_preempt && other.source === 'call')) throw taken(other.registration)
    if (other !== undefined) leave(other, 'preempt', null)
    const { session_id } = agent
    const registration = put({ ...at, session_id }, { source: 'call', holder: null }, { notes })
    events.joined(registration)
    return { ...registration }
  }

  const isSilent = (row: Row) => {
    // Its daemon is away: the surface may be fine, and its session with all it has drained. And who only
    // calls may be busy with something long: what it has drained stands for as long, too.
    const bound = livesOnCalls(row) ? LIMITS.lease_ms : LIMITS.registration_expire_ms
    return clock.monotonic() - row.heard_at > bound
  }

  return {
    join(request) {
      const before = find(request)
      const how = { source: 'link', holder: request.holder } as const
      if (before === undefined) {
        const registration = put(request, how)
        events.joined(registration)
        return registration
      }
      if (before.registration.session_id !== request.session_id) {
        leave(before, 'preempt', 'preempt')
        const registration = put(request, how)
        events.joined(registration)
        return registration
      }
      const registration = put(request, how, before.registration)
      events.joined(registration)
      before.holder?.lose('refresh')
      return registration
    },

    heartbeat(ticket, facts) {
      const row = held(ticket)
      if (row === undefined) return false
      refresh(row, facts)
      if (facts !== undefined && row.registration.kind === 'daemon') learnAgent(row.registration, facts)
      return true
    },

    register: (agent, notes) => told(agent, notes, true),
    report: (agent, notes) => told(agent, notes, false),
    seen(agent) {
      for (const row of rowsOf(agent)) if (livesOnCalls(row)) refresh(row, undefined)
    },

    ended(agent) {
      const row = rowsOf(agent).find(({ source }) => source === 'call')
      if (row) leave(row, 'close', null)
      return row !== undefined
    },

    close(ticket) {
      const row = held(ticket)
      if (row) leave(row, 'close', null)
    },

    end(identity, why) {
      for (const row of rowsFor(identity)) leave(row, 'wrap', why)
      history.delete(identity)
    },

    sweep() {
      // Daemons first: an agent whose daemon has gone silent is not silent itself.
      const rows = all()
      for (const row of [...rows.filter(isDaemon), ...rows.filter((other) => !isDaemon(other))]) {
        // An earlier step of this sweep may have ended it.
        if (find(row.registration) === row && isSilent(row)) leave(row, 'expire', 'expire')
      }
    },

    rows: (identity) =>
      (identity === undefined ? all() : rowsFor(identity)).map((row) => ({ ...row.registration })),
    isFresh(registration) {
      const row = held(registration)
      return row !== undefined && registration.connected && !isSilent(row)
    },
    hasLink: (registration) => held(registration)?.source === 'link',
    lastSeen: (identity) => history.get(identity) ?? null,
  }
}

const isDaemon = ({ registration }: Row) => registration.kind === 'daemon'

/** Whether the session is still the one that runs: in a new process it has lost the turn in which it drained. */
function goesOn(
  { registration: { facts: before }, is_awaited }: Row,
  { instance_id }: SurfaceFacts,
): boolean {
  if (before?.instance_id !== undefined && instance_id !== undefined)
    return before.instance_id === instance_id
  return is_awaited !== true
}

/** Nobody vouches for it but its own calls: it never had a daemon, or that is away. */
function livesOnCalls({ source, registration }: Row): boolean {
  return source === 'call' || (source === 'daemon' && !registration.connected)
}

function taken({ identity, session_id }: Registration): TurnbellError {
  return new TurnbellError('binding_stale', {
    detail: `The session ${session_id} stands for ${identity} there.`,
    hint: 'Register again if you are the one that should; one with a link of its own has to leave first.',
  })
}
