/**
 * Pushes each change of a queue to the links of its persona and records it in the event stream. A push contains ids and
 * metadata only; the content of a signal is drained, never pushed.
 */
import type { HubFrame, SignalsGone } from '../../contracts/frames.ts'
import type { Identity, Json, RegistrationKind, SessionId, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { LeaveReason, Persona, Registration, SurfaceFacts } from '../../contracts/registry.ts'
import type { RegistryEvents } from '../../modules/registry/registration-rows.ts'
import type { Registrations } from '../../modules/registry/registrations.ts'
import type { SignalEvents } from '../../modules/signals/types.ts'
import type { SignalService } from '../../modules/signals/types.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import type { Ids } from '../../ports/random.ts'
import type { SignalStore } from '../../ports/signal-store.ts'
import type { Channels } from './channels.ts'
import { frameText, type Link, type Member } from './link.ts'
import type { Links } from './links.ts'

export interface PushDeps {
  links: Links
  channels: Channels
  events: EventLog
  store: Pick<SignalStore, 'mark'>
  registrations: Pick<Registrations, 'rows'>
  signals: Pick<SignalService, 'peek' | 'pendingCount' | 'inProgressCount'>
  clock: Clock
  ids: Ids
}

export interface Push {
  signals: SignalEvents
  /**
   * A daemon reports its surface; `update` stores that in the registry. Signals for the session that is attached now may
   * not have been pushed to this daemon yet; they are pushed here. Returns the result of `update`.
   */
  surfaceShown(link: Link & { member: Member }, facts: SurfaceFacts, update: () => boolean): boolean
  registry: RegistryEvents
  personaChanged(persona: Persona): void
}

export function createPush(deps: PushDeps): Push {
  const { events } = deps
  const record: Recorder = (type, agent_id, data) => void events.append({ type, agent_id, data })
  return {
    signals: signalEvents(deps, createQueueFrames(deps), record),
    surfaceShown: (link, facts, update) => pushAfterSessionChange(deps, link, facts, update),
    registry: registryEvents(deps, record),
    personaChanged: ({ identity, state, surface }) => record(`persona.${state}`, identity, { surface }),
  }
}

/** Appends an event to the event stream. */
type Recorder = (type: string, agent_id: Identity, data: Record<string, Json>) => void

type FrameFor = (
  pending_count: number,
  session_id: SessionId | undefined,
  kind: RegistrationKind,
) => HubFrame | null

type QueueFrames = ReturnType<typeof createQueueFrames>

/** Frames to the agents and daemons of a persona about changes of its queue. */
function createQueueFrames({ links, registrations, signals, clock, ids }: PushDeps) {
  /** Builds the frame per link, because the pending count depends on the session of the link's surface. */
  const toPersona = (identity: Identity, frameFor: FrameFor): { daemons: number } => {
    let daemons = 0
    for (const link of links.of(identity)) {
      const session_id = surfaceSession(registrations, link.member)
      const { kind } = link.member
      const frame = frameFor(signals.pendingCount(identity, session_id), session_id, kind)
      if (frame !== null && link.send(frame) && kind === 'daemon') daemons += 1
    }
    return { daemons }
  }

  const inProgress = (to: Identity) => ({ in_progress_count: signals.inProgressCount(to) })

  const eventFor = (to: Identity, event: string) =>
    ({ type: 'event', id: ids.next(), channel: `agents/${to}`, event, timestamp: timestamp(clock) }) as const

  return {
    toPersona,
    inProgress,

    drainedBy: (session_id: SessionId, to: Identity, signal_ids: SignalId[]): void => {
      const drain = { signal_ids, session_id, ...inProgress(to) }
      toPersona(to, (pending_count) => ({ type: 'signal.drained', ...drain, pending_count }))
    },

    /** After a confirmation or completion of drained signals, which have no other frame. */
    progressed: (to: Identity): void => {
      const frame = { ...eventFor(to, 'signal.in_progress'), data: inProgress(to) }
      toPersona(to, (_count, _session, kind) => (kind === 'daemon' ? frame : null))
    },

    returned: (to: Identity, signal_ids: SignalId[]): void => {
      const released = { signal_ids, ...inProgress(to) }
      toPersona(to, (pending_count) => ({ type: 'signal.released', ...released, pending_count }))
    },

    /** Signals left the queue without a drain: no doorbell was answered, daemons only update their count. */
    gone: (to: Identity, event: SignalsGone['event'], signal_ids: readonly SignalId[]): void => {
      if (signal_ids.length === 0) return
      const frame = eventFor(to, event)
      toPersona(to, (pending_count, _session, kind) =>
        kind === 'daemon' ? { ...frame, data: { signal_ids: [...signal_ids], pending_count } } : null,
      )
    },
  }
}

function signalEvents(deps: PushDeps, frames: QueueFrames, record: Recorder): SignalEvents {
  const { toPersona, inProgress, drainedBy, progressed, returned, gone } = frames
  return {
    pushed({ signal_id, seq, to, from, intent, priority, to_session, pending_count: total }) {
      const push = { signal_id, seq, to, from, intent, priority }
      const progress = inProgress(to)
      const { daemons } = toPersona(to, (pending_count, session_id) => {
        const for_another = to_session !== undefined && session_id !== undefined && session_id !== to_session
        return for_another ? null : { type: 'signal.pushed', ...push, pending_count, ...progress }
      })
      if (daemons > 0) deps.store.mark([signal_id], 'pushed_at', timestamp(deps.clock))
      record('signal.pushed', to, { ...push, pending_count: total })
    },
    repeated({ to, ...signal }) {
      record('signal.repeated', to, signal)
    },
    drained({ to, signal_ids, session_id, drain_id, pending_count: total }) {
      drainedBy(session_id, to, signal_ids)
      record('signal.drained', to, { signal_ids, session_id, drain_id, pending_count: total })
    },
    confirmed({ to, drain_id, signal_ids, waited, pending_count: total }) {
      // `waited` had been released before the late confirmation: a doorbell for them may be outstanding without a drain.
      gone(to, 'signal.confirmed', waited)
      progressed(to)
      record('signal.confirmed', to, { drain_id, signal_ids, pending_count: total })
    },
    released({ to, signal_ids, cause, pending_count: total }) {
      returned(to, signal_ids)
      record('signal.released', to, { signal_ids, cause, pending_count: total })
    },
    freed({ to, signal_ids, session_id, pending_count: total }) {
      returned(to, signal_ids)
      record('signal.freed', to, { signal_ids, session_id, pending_count: total })
    },
    replayed({ to, signal_ids, pending_count: total }) {
      returned(to, signal_ids)
      record('signal.replayed', to, { signal_ids, pending_count: total })
    },
    completed({ to, signal_ids, waited, session_id, by, pending_count: total }) {
      // Completed without a drain: for daemons the same as a drain by that session.
      if (waited.length > 0 && by === 'agent') drainedBy(session_id, to, waited)
      if (by === 'operator') gone(to, 'signal.completed', waited)
      progressed(to)
      record('signal.completed', to, { signal_ids, by, pending_count: total })
    },
    expired({ to, ...expiry }) {
      gone(to, 'signal.expired', expiry.signal_ids)
      record('signal.expired', to, expiry)
    },
    cancelled({ to, ...cancel }) {
      gone(to, 'signal.cancelled', cancel.signal_ids)
      record('signal.cancelled', to, cancel)
    },
    // Without a frame: a dead signal was drained before and is not pending.
    dead({ to, ...death }) {
      record('signal.dead', to, death)
    },
    replyRefused({ reply_to, ...refusal }) {
      record('signal.reply_refused', reply_to, refusal)
    },
    rung({ to, stage, ...bell }) {
      record(`doorbell.${stage}`, to, bell)
    },
  }
}

/** Updates the surface of a daemon, then pushes the pending signals of the new session that were not pushed before. */
function pushAfterSessionChange(
  { store, registrations, signals, clock }: PushDeps,
  link: Link & { member: Member },
  facts: SurfaceFacts,
  update: () => boolean,
): boolean {
  const { member } = link
  const { identity: to } = member
  const before = surfaceSession(registrations, member)
  // Without a session, the daemon received all signals of the persona.
  if (before === undefined || before === sessionIn(facts)) return update()
  const pushed = new Set(signals.peek(to, Infinity, before).signals.map(({ signal_id }) => signal_id))
  if (!update()) return false
  const now = signals.peek(to, Infinity, sessionIn(facts))
  const { signals: pending, total: pending_count, in_progress_count } = now
  // `pending_count` includes the signals beyond the limit.
  const rest = pending.filter(({ signal_id }) => !pushed.has(signal_id)).slice(0, LIMITS.peek_limit_max)
  for (const { signal_id, seq, from, intent, priority } of rest)
    link.send({
      ...{ type: 'signal.pushed', signal_id, seq, to, from, intent, priority },
      ...{ pending_count, in_progress_count },
    })
  const signal_ids = rest.map(({ signal_id }) => signal_id)
  if (signal_ids.length > 0) store.mark(signal_ids, 'pushed_at', timestamp(clock))
  return true
}

function registryEvents({ links, channels }: PushDeps, record: Recorder): RegistryEvents {
  const announce = (frame: HubFrame, row: Registration) => {
    const textFor = frameText(frame)
    const receivers = new Set([
      ...links.of(row.identity),
      ...channels.subscribers('global'),
      ...channels.subscribers(`agents/${row.identity}`),
      ...channels.subscribers(`sessions/${row.session_id}`),
    ])
    for (const link of receivers) link.sendText(textFor(link))
  }
  const peerOf = ({ identity, surface, kind, session_id }: Registration) => ({
    ...{ identity, surface, kind, session_id },
  })
  return {
    joined(row) {
      announce({ type: 'peer.joined', ...peerOf(row) }, row)
      record('peer.joined', row.identity, peerOf(row))
    },
    left(row: Registration, reason: LeaveReason) {
      announce({ type: 'peer.left', ...peerOf(row), reason }, row)
      record('peer.left', row.identity, { ...peerOf(row), reason })
    },
  }
}

/**
 * Returns the session whose signals a daemon rings for: the session of its surface, or `undefined` for all signals of the
 * persona.
 */
export function surfaceSession(
  registrations: Pick<Registrations, 'rows'>,
  member: Member,
): SessionId | undefined {
  if (member.kind === 'observer') return undefined
  if (member.kind === 'agent') return member.session_id
  const row = registrations
    .rows(member.identity)
    .find(({ kind, epoch }) => kind === 'daemon' && epoch === member.ticket?.epoch)
  return row?.facts && sessionIn(row.facts)
}

/** Returns `undefined` (any session) for a surface that cannot name its session, for example a terminal. */
function sessionIn({ attached, session_id }: SurfaceFacts): SessionId | undefined {
  return attached ? (session_id ?? undefined) : undefined
}
