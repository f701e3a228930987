/**
 * A change in the store becomes a push to whoever is joined for that persona, and a fact in the event
 * stream. Only ids and metadata leave here: what a signal says is drained, never pushed.
 */
import type { HubFrame, SignalsGone } from '../contracts/frames.ts'
import type { Identity, Json, RegistrationKind, SessionId, SignalId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { LeaveReason, Persona, Registration, SurfaceFacts } from '../contracts/registry.ts'
import type { RegistryEvents, Registrations } from '../modules/registry/registrations.ts'
import type { SignalEvents } from '../modules/signals/events.ts'
import type { SignalService } from '../modules/signals/service.ts'
import { timestamp, type Clock } from '../ports/clock.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Ids } from '../ports/random.ts'
import type { SignalStore } from '../ports/signal-store.ts'
import type { Channels } from './channels.ts'
import type { Link, Member } from './link.ts'
import type { Links } from './links.ts'

export interface PushNeeds {
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
   * A daemon shows its surface; `hear` tells the registry of it. What is addressed to the session that is there now was
   * pushed to it alone, and is to be rung for from here on. Answers what `hear` does.
   */
  surfaceShown(link: Link & { member: Member }, facts: SurfaceFacts, hear: () => boolean): boolean
  registry: RegistryEvents
  personaChanged(persona: Persona): void
}

export function createPush(needs: PushNeeds): Push {
  const { links, channels, events, clock, ids } = needs

  const note = (type: string, agent_id: Identity, data: Record<string, Json>) =>
    void events.append({ type, agent_id, data })

  /** The frame is made for each link: what waits depends on which session its surface has. */
  const toPersona = (
    identity: Identity,
    frameFor: (
      pending_count: number,
      session_id: SessionId | undefined,
      kind: RegistrationKind,
    ) => HubFrame | null,
  ): { daemons: number } => {
    let daemons = 0
    for (const link of links.of(identity)) {
      const session_id = surfaceSession(needs.registrations, link.member)
      const { kind } = link.member
      const frame = frameFor(needs.signals.pendingCount(identity, session_id), session_id, kind)
      if (frame !== null && link.send(frame) && kind === 'daemon') daemons += 1
    }
    return { daemons }
  }

  const inProgress = (to: Identity) => ({ in_progress_count: needs.signals.inProgressCount(to) })

  const drainedBy = (session_id: SessionId, to: Identity, signal_ids: SignalId[]) => {
    const drain = { signal_ids, session_id, ...inProgress(to) }
    toPersona(to, (pending_count) => ({ type: 'signal.drained', ...drain, pending_count }))
  }

  const eventFor = (to: Identity, event: string) =>
    ({ type: 'event', id: ids.next(), channel: `agents/${to}`, event, timestamp: timestamp(clock) }) as const

  /** No other frame follows a confirmation or a completion of signals that were drained. */
  const progressed = (to: Identity) => {
    const frame = { ...eventFor(to, 'signal.in_progress'), data: inProgress(to) }
    toPersona(to, (_count, _session, kind) => (kind === 'daemon' ? frame : null))
  }

  const returned = (to: Identity, signal_ids: SignalId[]) => {
    const back = { signal_ids, ...inProgress(to) }
    toPersona(to, (pending_count) => ({ type: 'signal.released', ...back, pending_count }))
  }

  /** They left the queue and nobody drained them: no bell is answered, whoever rings only counts anew. */
  const gone = (to: Identity, event: SignalsGone['event'], signal_ids: readonly SignalId[]) => {
    if (signal_ids.length === 0) return
    const told = eventFor(to, event)
    toPersona(to, (pending_count, _session, kind) =>
      kind === 'daemon' ? { ...told, data: { signal_ids: [...signal_ids], pending_count } } : null,
    )
  }

  const signals: SignalEvents = {
    pushed({ signal_id, seq, to, from, intent, priority, to_session, pending_count: total }) {
      const push = { signal_id, seq, to, from, intent, priority }
      const progress = inProgress(to)
      const { daemons } = toPersona(to, (pending_count, session_id) => {
        const for_another = to_session !== undefined && session_id !== undefined && session_id !== to_session
        return for_another ? null : { type: 'signal.pushed', ...push, pending_count, ...progress }
      })
      if (daemons > 0) needs.store.mark([signal_id], 'pushed_at', timestamp(clock))
      note('signal.pushed', to, { ...push, pending_count: total })
    },
    repeated({ to, ...signal }) {
      note('signal.repeated', to, signal)
    },
    drained({ to, signal_ids, session_id, drain_id, pending_count: total }) {
      drainedBy(session_id, to, signal_ids)
      note('signal.drained', to, { signal_ids, session_id, drain_id, pending_count: total })
    },
    confirmed({ to, drain_id, signal_ids, waited, pending_count: total }) {
      // They had gone back, and their session had them after all: a bell for them may be out, and nobody has drained.
      gone(to, 'signal.confirmed', waited)
      progressed(to)
      note('signal.confirmed', to, { drain_id, signal_ids, pending_count: total })
    },
    released({ to, signal_ids, cause, pending_count: total }) {
      returned(to, signal_ids)
      note('signal.released', to, { signal_ids, cause, pending_count: total })
    },
    freed({ to, signal_ids, session_id, pending_count: total }) {
      returned(to, signal_ids)
      note('signal.freed', to, { signal_ids, session_id, pending_count: total })
    },
    replayed({ to, signal_ids, pending_count: total }) {
      returned(to, signal_ids)
      note('signal.replayed', to, { signal_ids, pending_count: total })
    },
    completed({ to, signal_ids, waited, session_id, by, pending_count: total }) {
      // Handled without a drain: for whoever rings, the same as drained by that session.
      if (waited.length > 0 && by === 'agent') drainedBy(session_id, to, waited)
      if (by === 'operator') gone(to, 'signal.completed', waited)
      progressed(to)
      note('signal.completed', to, { signal_ids, by, pending_count: total })
    },
    expired({ to, ...expiry }) {
      gone(to, 'signal.expired', expiry.signal_ids)
      note('signal.expired', to, expiry)
    },
    cancelled({ to, ...cancel }) {
      gone(to, 'signal.cancelled', cancel.signal_ids)
      note('signal.cancelled', to, cancel)
    },
    // No frame: what dies was drained before, and waits no longer.
    dead({ to, ...death }) {
      note('signal.dead', to, death)
    },
    replyRefused({ reply_to, ...refusal }) {
      note('signal.reply_refused', reply_to, refusal)
    },
    rung({ to, stage, ...bell }) {
      note(`doorbell.${stage}`, to, bell)
    },
  }

  const surfaceShown: Push['surfaceShown'] = (link, facts, hear) => {
    const { member } = link
    const { identity: to } = member
    const before = surfaceSession(needs.registrations, member)
    // Who rang for nobody in particular was told of everything.
    if (before === undefined || before === sessionIn(facts)) return hear()
    const told = new Set(needs.signals.peek(to, Infinity, before).signals.map(({ signal_id }) => signal_id))
    if (!hear()) return false
    const now = needs.signals.peek(to, Infinity, sessionIn(facts))
    const { signals: waiting, total: pending_count, in_progress_count } = now
    // The count says how many they are; nobody looks at more.
    const rest = waiting.filter(({ signal_id }) => !told.has(signal_id)).slice(0, LIMITS.peek_limit_max)
    for (const { signal_id, seq, from, intent, priority } of rest)
      link.send({
        ...{ type: 'signal.pushed', signal_id, seq, to, from, intent, priority },
        ...{ pending_count, in_progress_count },
      })
    const signal_ids = rest.map(({ signal_id }) => signal_id)
    if (signal_ids.length > 0) needs.store.mark(signal_ids, 'pushed_at', timestamp(clock))
    return true
  }

  const tellPeers = (frame: HubFrame, row: Registration) => {
    const text = JSON.stringify(frame)
    const told = new Set([
      ...links.of(row.identity),
      ...channels.subscribers('global'),
      ...channels.subscribers(`agents/${row.identity}`),
      ...channels.subscribers(`sessions/${row.session_id}`),
    ])
    for (const link of told) link.sendText(text)
  }
  const peerOf = ({ identity, surface, kind, session_id }: Registration) => ({
    ...{ identity, surface, kind, session_id },
  })

  const registry: RegistryEvents = {
    joined(row) {
      tellPeers({ type: 'peer.joined', ...peerOf(row) }, row)
      note('peer.joined', row.identity, peerOf(row))
    },
    left(row: Registration, reason: LeaveReason) {
      tellPeers({ type: 'peer.left', ...peerOf(row), reason }, row)
      note('peer.left', row.identity, { ...peerOf(row), reason })
    },
  }

  return {
    signals,
    surfaceShown,
    registry,
    personaChanged: ({ identity, state, surface }) => note(`persona.${state}`, identity, { surface }),
  }
}

/**
 * Whose signals a daemon rings for: those its surface's session can drain. Undefined: nobody's in particular, and so
 * everything that waits.
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

/** A surface that cannot name its session, as a terminal, may have any. */
function sessionIn({ attached, session_id }: SurfaceFacts): SessionId | undefined {
  return attached ? (session_id ?? undefined) : undefined
}
