/**
 * Registrations of running agents and daemons. They are in memory only and are rebuilt by clients that join after a
 * restart.
 *
 * There is one row for each identity, surface and kind. Every join gets a new epoch; a holder with another epoch than
 * its row has lost the row and is ignored. Rows of daemons and of agents are independent, with one exception: an agent
 * without a link of its own is known through its daemon's reports of the surface, which create, refresh and end its row.
 * An agent without link and daemon, which only calls, has a row from its registration until its calls stop.
 */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { ANONYMOUS_SESSION_PREFIX, type Identity, type SurfaceKind } from '../../contracts/ids.ts'
import type { AgentNotes, Registration, SurfaceFacts } from '../../contracts/registry.ts'
import type { Clock } from '../../ports/clock.ts'
import {
  createRows,
  livesOnCalls,
  type JoinRequest,
  type LastSeen,
  type RegistryEvents,
  type Row,
  type Rows,
  type Ticket,
} from './registration-rows.ts'

/** One session of an agent. */
export type AgentSession = Pick<Registration, 'identity' | 'session_id'>

export interface Registrations extends CallingAgents {
  join(request: JoinRequest): Ticket
  /** False for a ticket that lost its row. */
  heartbeat(ticket: Ticket, facts?: SurfaceFacts): boolean
  /** Called when a link closed. Has no effect for a ticket that lost its row. */
  close(ticket: Ticket): void
  /** Removes every row of the persona with reason `wrap`; the holders are notified with `why`. */
  end(identity: Identity, why: 'wrap' | 'remove'): void
  /** Removes rows without a sign of life with reason `expire`. */
  sweep(): void
  rows(identity?: Identity): Registration[]
  /** Returns whether the row had a sign of life within `registration_expire_ms`; a stale row may await its sweep. */
  isFresh(row: Registration): boolean
  /** Returns whether the agent has a link of its own; otherwise it is known through its daemon. */
  hasLink(row: Registration): boolean
  lastSeen(identity: Identity): LastSeen | null
}

/** Registrations of agents by their calls. */
export interface CallingAgents {
  /**
   * Stores notes of an agent that calls in the rows of its session. Without such a row creates one, which replaces the
   * row of another session that only calls. Throws `binding_stale` if another session has a link or a daemon.
   */
  register(agent: AgentSession, notes: AgentNotes): Registration
  /** As `register`, but replaces no other session. Throws `binding_stale`. */
  report(agent: AgentSession, notes: AgentNotes): Registration
  /** Refreshes the session's rows that live on its calls. */
  seen(agent: AgentSession): void
  /** Removes the session's row that lives on its calls. Returns false if there is none. */
  ended(agent: AgentSession): boolean
}

/** Surface of agents that only call. */
const SURFACE_OF_CALLERS: SurfaceKind = 'mcp'

export function createRegistrations(deps: { clock: Clock; events: RegistryEvents }): Registrations {
  const { events } = deps
  const rows = createRows(deps)
  return {
    ...createCallingAgents(rows, events),

    join(request) {
      const before = rows.find(request)
      const origin = { source: 'link', holder: request.holder } as const
      if (before === undefined || before.registration.session_id !== request.session_id) {
        if (before !== undefined) rows.leave(before, 'preempt', 'preempt')
        const registration = rows.put(request, origin)
        events.joined(registration)
        return registration
      }
      const registration = rows.put(request, origin, before.registration)
      events.joined(registration)
      before.holder?.lose('refresh')
      return registration
    },

    heartbeat(ticket, facts) {
      const row = rows.held(ticket)
      if (row === undefined) return false
      rows.refresh(row, facts)
      if (facts !== undefined && isDaemon(row)) updateAgent(rows, events, row.registration, facts)
      return true
    },

    close(ticket) {
      const row = rows.held(ticket)
      if (row) rows.leave(row, 'close', null)
    },

    end(identity, why) {
      for (const row of rows.of(identity)) rows.leave(row, 'wrap', why)
      rows.forget(identity)
    },

    sweep() {
      // Daemons first: when its daemon expires, an agent gets the longer bound of agents that only call.
      const all = rows.all()
      for (const row of [...all.filter(isDaemon), ...all.filter((other) => !isDaemon(other))]) {
        // An earlier step of this sweep may have removed it.
        if (rows.find(row.registration) === row && rows.isSilent(row)) rows.leave(row, 'expire', 'expire')
      }
    },

    rows: (identity) =>
      (identity === undefined ? rows.all() : rows.of(identity)).map((row) => ({ ...row.registration })),
    isFresh(registration) {
      const row = rows.held(registration)
      return row !== undefined && registration.connected && !rows.isSilent(row)
    },
    hasLink: (registration) => rows.held(registration)?.source === 'link',
    lastSeen: rows.lastSeen,
  }
}

/** Updates the row of an agent by its daemon's report of the surface, unless the agent has a link of its own. */
function updateAgent(rows: Rows, events: RegistryEvents, daemon: Registration, facts: SurfaceFacts): void {
  const { identity, surface } = daemon
  const agent = rows.find({ identity, surface, kind: 'agent' })
  if (agent?.source === 'link') return
  const { session_id } = facts
  if (!facts.attached || session_id === null) {
    if (agent?.source !== 'daemon') return
    if (agent.registration.session_id !== facts.returning_session_id) {
      rows.leave(agent, 'close', null)
      return
    }
    agent.registration.connected = false
    agent.is_awaited = true
    return
  }
  if (agent?.registration.session_id === session_id && isSameProcess(agent, facts)) {
    rows.refresh(agent, facts)
    agent.registration.connected = true
    agent.is_awaited = false
    return
  }
  if (agent) rows.leave(agent, 'preempt', null)
  const origin = { source: 'daemon', holder: null } as const
  events.joined(rows.put({ identity, surface, kind: 'agent', session_id }, origin, { facts }))
}

/** Returns whether the session still runs in the same process; a new process has lost the turn in which it drained. */
function isSameProcess(
  { registration: { facts: before }, is_awaited }: Row,
  { instance_id }: SurfaceFacts,
): boolean {
  if (before?.instance_id !== undefined && instance_id !== undefined)
    return before.instance_id === instance_id
  return is_awaited !== true
}

function createCallingAgents(rows: Rows, events: RegistryEvents): CallingAgents {
  const note = (agent: AgentSession, notes: AgentNotes, may_preempt: boolean): Registration => {
    const own = rowsOfSession(rows, agent)
    const matching = own.length > 0 ? own : rowOfOnlySession(rows, agent)
    for (const row of matching) {
      rows.refresh(row)
      row.registration.notes = { ...row.registration.notes, ...notes }
    }
    if (matching[0] !== undefined) return { ...matching[0].registration }
    const at = { identity: agent.identity, surface: SURFACE_OF_CALLERS, kind: 'agent' } as const
    const other = rows.find(at)
    if (other !== undefined && !(may_preempt && other.source === 'call')) throw taken(other.registration)
    if (other !== undefined) rows.leave(other, 'preempt', null)
    const { session_id } = agent
    const registration = rows.put({ ...at, session_id }, { source: 'call', holder: null }, { notes })
    events.joined(registration)
    return { ...registration }
  }
  return {
    register: (agent, notes) => note(agent, notes, true),
    report: (agent, notes) => note(agent, notes, false),
    seen(agent) {
      for (const row of rowsOfSession(rows, agent)) if (livesOnCalls(row)) rows.refresh(row)
    },
    ended(agent) {
      const row = rowsOfSession(rows, agent).find(({ source }) => source === 'call')
      if (row) rows.leave(row, 'close', null)
      return row !== undefined
    },
  }
}

function rowsOfSession(rows: Rows, { identity, session_id }: AgentSession): Row[] {
  return rows.of(identity).filter((row) => isAgent(row) && row.registration.session_id === session_id)
}

/** Returns the only agent with a link or a daemon, if the caller names no session of its own. */
function rowOfOnlySession(rows: Rows, { identity, session_id }: AgentSession): Row[] {
  if (!session_id.startsWith(ANONYMOUS_SESSION_PREFIX)) return []
  const agents = rows.of(identity).filter((row) => isAgent(row) && row.source !== 'call')
  return agents.length === 1 ? agents : []
}

const isDaemon = ({ registration }: Row) => registration.kind === 'daemon'
const isAgent = ({ registration }: Row) => registration.kind === 'agent'

function taken({ identity, session_id }: Registration): TurnbellError {
  return new TurnbellError('binding_stale', {
    detail: `Session ${session_id} is registered for ${identity} already.`,
    hint: 'Register again if this session should act for the persona; a session with a link must leave first.',
  })
}
