/** What the hub does for each frame of an admitted client. */
import { TurnbellError } from '../contracts/errors.ts'
import type { ClientFrame, ClientFrameOf } from '../contracts/frames.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { DispatchOutcome } from '../kernel/define.ts'
import type { Kernel } from '../kernel/dispatch.ts'
import type { Registrations } from '../modules/registry/registrations.ts'
import type { SignalService } from '../modules/signals/service.ts'
import type { Ids } from '../ports/random.ts'
import type { Channels } from './channels.ts'
import type { CriticalEvents } from './critical-events.ts'
import type { DaemonReports } from './daemon-reports.ts'
import type { Link, Member } from './link.ts'
import { surfaceSession, type Push } from './push.ts'

export interface FrameNeeds {
  dispatch: Kernel['dispatch']
  signals: Pick<SignalService, 'peek' | 'turnReported' | 'sessionSeen' | 'doorbellReported'>
  registrations: Pick<Registrations, 'heartbeat' | 'rows'>
  push: Pick<Push, 'surfaceShown'>
  channels: Channels
  critical: CriticalEvents
  reports: DaemonReports
  ids: Ids
  /** Calls that are not answered yet; the hub waits for them when it stops. */
  underway: Set<Promise<unknown>>
  /** No new calls any more; those that run may end. */
  isStopping(): boolean
}

type Answered = Extract<DispatchOutcome, { ok: true }>
type Proven = Link & { member: Member }
type Handlers = {
  [T in ClientFrame['type']]: (
    needs: FrameNeeds,
    link: Proven,
    frame: ClientFrameOf<T>,
  ) => void | Promise<void>
}

/** Throws, or rejects with, what refuses the frame. */
export function handleFrame(needs: FrameNeeds, link: Proven, frame: ClientFrame): void | Promise<void> {
  const handle = HANDLERS[frame.type] as (
    needs: FrameNeeds,
    link: Proven,
    frame: ClientFrame,
  ) => void | Promise<void>
  return handle(needs, link, frame)
}

const HANDLERS: Handlers = {
  hello() {
    throw new TurnbellError('frame_invalid', { detail: 'This link has said hello already.' })
  },

  async heartbeat(needs, link, { surface, metrics, seq }) {
    const { registrations, push, signals, reports, channels } = needs
    const { member } = link
    const { ticket } = member
    // An observer holds no row; what it sends only shows that its socket lives.
    if (ticket === null) return
    const hear = () => registrations.heartbeat(ticket, surface)
    const shows_surface = member.kind === 'daemon' && surface !== undefined
    if (!(shows_surface ? push.surfaceShown(link, surface, hear) : hear())) return
    if (metrics !== undefined && member.kind === 'daemon') reports.reported(member.identity, metrics)
    else if (member.kind === 'daemon') reports.heard(member.identity)
    channels.announce([`agents/${member.identity}`], 'agent.heartbeat', { kind: member.kind, seq })
    const shown = surface?.attached ? surface : null
    // An agent's link is its sign of life, whatever it says of itself; a session that a daemon names is there only if attached.
    const session_id = member.kind === 'agent' ? member.session_id : (shown?.session_id ?? null)
    if (session_id === null) return
    signals.sessionSeen(member.identity, session_id)
    if (shown === null) return
    await signals.turnReported(member.identity, session_id, shown.turn, shown.turn_seq)
  },

  async doorbell({ signals }, { member }, { signal_id, doorbell_id, stage }) {
    if (member.kind !== 'daemon') throw forbidden(member, 'report doorbells')
    await signals.doorbellReported(member.identity, { signal_id, doorbell_id, stage })
  },

  'pending.peek'({ signals, registrations }, link, { id, limit }) {
    const { member } = link
    const listing = signals.peek(
      member.identity,
      limit ?? LIMITS.peek_limit_max,
      surfaceSession(registrations, member),
    )
    link.send({ type: 'pending', id, ...listing })
  },

  subscribe({ channels }, link, { id, channel }) {
    channels.subscribe(link, channel)
    link.send({ type: 'result', id, channel, subscribed: true })
  },

  unsubscribe({ channels }, link, { id, channel }) {
    channels.unsubscribe(link, channel)
    link.send({ type: 'result', id, channel, subscribed: false })
  },

  publish({ channels }, link, { id, channel, event, data }) {
    const bytes = Buffer.byteLength(JSON.stringify(data))
    if (bytes > LIMITS.payload_bytes_max) {
      throw new TurnbellError('payload_too_large', {
        detail: `The event's data has ${bytes} bytes; it may have ${LIMITS.payload_bytes_max}.`,
      })
    }
    const message_id = channels.publish(link, channel, event, data)
    link.send({ type: 'result', id, message_id })
  },

  ack({ critical }, link, { message_id }) {
    critical.ack(link, message_id)
  },

  call(needs, link, frame) {
    if (needs.isStopping()) {
      throw new TurnbellError('hub_stopping', { detail: 'The hub takes no new calls.' })
    }
    if (link.calls_underway >= LIMITS.calls_underway_max) {
      throw new TurnbellError('limit_reached', {
        detail: `A link has at most ${LIMITS.calls_underway_max} calls underway.`,
      })
    }
    link.calls_underway += 1
    const answered = call(needs, link, frame)
    needs.underway.add(answered)
    const ended = () => {
      link.calls_underway -= 1
      needs.underway.delete(answered)
    }
    answered.then(ended, ended)
    return answered
  },

  ping(_, link) {
    link.send({ type: 'pong' })
  },
}

/** Runs any action and answers with its output; the lease of a drain learns whether the answer left. */
async function call(
  needs: FrameNeeds,
  link: Proven,
  { id, facade, action, params, context, narrowing }: ClientFrameOf<'call'>,
): Promise<void> {
  let settle: (how: 'written' | 'broken') => void = () => undefined
  const answered = new Promise<'written' | 'broken'>((resolve) => (settle = resolve))
  const { caller, identity } = link.member
  const outcome = await needs.dispatch({
    facade,
    action,
    params: params ?? {},
    caller,
    // The operator's link is nobody's: what is put over it is by whoever the call names, or by the operator.
    context: caller.kind === 'operator' ? context : { agent_id: identity, ...context },
    narrowing,
    answered,
  })
  if (!outcome.ok) {
    settle('broken')
    link.send({ ...outcome.problem, type: 'error', id })
    return
  }
  const text = resultText(id, outcome)
  if (text === null) {
    settle('broken')
    throw new TurnbellError('limit_reached', {
      detail: `The answer is larger than a frame of ${LIMITS.frame_bytes_max} bytes.`,
      hint: 'Ask for less at once with `limit`.',
    })
  }
  // The callback comes once the bytes are handed to the kernel; a link that breaks before takes the lease back.
  link.sendText(text, (error) => settle(error ? 'broken' : 'written'))
}

function resultText(id: string | number, { result, deprecated, note }: Answered): string | null {
  const more = { ...(deprecated && { deprecated }), ...(note === undefined ? {} : { note }) }
  const text = JSON.stringify({ type: 'result', id, result, ...more })
  return Buffer.byteLength(text) > LIMITS.frame_bytes_max ? null : text
}

function forbidden(member: Member, verb: string): TurnbellError {
  return new TurnbellError('kind_forbidden', {
    detail: `The ${member.kind} of ${member.identity} may not ${verb}.`,
  })
}
