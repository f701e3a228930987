/** Handlers for the frames of an admitted client, by type. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { ClientFrame, ClientFrameOf } from '../../contracts/frames.ts'
import type { Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { DispatchOutcome } from '../../kernel/define.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import type { Leave } from '../../kernel/fair-queue.ts'
import type { Registrations } from '../../modules/registry/registrations.ts'
import type { SignalService } from '../../modules/signals/types.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Channels } from './channels.ts'
import type { Redelivery } from './redelivery.ts'
import type { MetricsSet } from '../../contracts/metrics.ts'
import { createFrameAnswer } from './frame-answer.ts'
import type { Link, Member } from './link.ts'
import { surfaceSession, type Push } from './push.ts'

export interface FrameDeps {
  dispatch: Kernel['dispatch']
  queue: Kernel['queue']
  signals: Pick<SignalService, 'peek' | 'turnReported' | 'sessionSeen' | 'doorbellReported'>
  registrations: Pick<Registrations, 'heartbeat' | 'rows'>
  push: Pick<Push, 'surfaceShown'>
  channels: Channels
  critical: Redelivery
  daemon_metrics: {
    /** Records a heartbeat with metrics. */
    reported(identity: Identity, set: MetricsSet): void
    /** Records a heartbeat without metrics. */
    heard(identity: Identity): void
  }
  ids: Ids
  clock: Pick<Clock, 'monotonic'>
  /** Running calls; a stopping hub waits for them. */
  underway: Set<Promise<unknown>>
  /** New calls are rejected; running ones may finish. */
  isStopping(): boolean
}

type Answered = Extract<DispatchOutcome, { ok: true }>
type Proven = Link & { member: Member }
type Handlers = {
  [T in ClientFrame['type']]: (
    needs: FrameDeps,
    link: Proven,
    frame: ClientFrameOf<T>,
  ) => void | Promise<void>
}

/** Throws or rejects if the frame is refused. */
export function handleFrame(needs: FrameDeps, link: Proven, frame: ClientFrame): void | Promise<void> {
  const handle = HANDLERS[frame.type] as (
    needs: FrameDeps,
    link: Proven,
    frame: ClientFrame,
  ) => void | Promise<void>
  return handle(needs, link, frame)
}

const HANDLERS: Handlers = {
  hello() {
    throw new TurnbellError('frame_invalid', { detail: 'This link has already sent hello.' })
  },

  async heartbeat(needs, link, { surface, metrics, seq }) {
    const { registrations, push, signals, daemon_metrics, channels } = needs
    const { member } = link
    const { ticket } = member
    // An observer has no registration; its heartbeat only shows that the socket is alive.
    if (ticket === null) return
    const update = () => registrations.heartbeat(ticket, surface)
    const shows_surface = member.kind === 'daemon' && surface !== undefined
    if (!(shows_surface ? push.surfaceShown(link, surface, update) : update())) return
    if (metrics !== undefined && member.kind === 'daemon') daemon_metrics.reported(member.identity, metrics)
    else if (member.kind === 'daemon') daemon_metrics.heard(member.identity)
    channels.announce([`agents/${member.identity}`], 'agent.heartbeat', { kind: member.kind, seq })
    const shown = surface?.attached ? surface : null
    // The link of an agent shows that its session is alive. A session that a daemon reports is alive only if attached.
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

  'pending.peek'({ signals, registrations, queue }, link, { id, limit }) {
    const { member } = link
    const answer = (leave: Leave) => {
      try {
        const session_id = surfaceSession(registrations, member)
        link.send({
          ...{ type: 'pending', id },
          ...signals.peek(member.identity, limit ?? LIMITS.peek_limit_max, session_id),
        })
      } finally {
        leave()
      }
    }
    const entered = queue.enter(member.caller, 'look')
    return entered instanceof Promise ? entered.then(answer) : answer(entered)
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
      throw new TurnbellError('hub_stopping', { detail: 'The hub accepts no new calls.' })
    }
    if (link.calls_underway >= LIMITS.calls_underway_max) {
      throw new TurnbellError('limit_reached', {
        detail: `A link may have at most ${LIMITS.calls_underway_max} running calls.`,
      })
    }
    link.calls_underway += 1
    if (link.calls_underway === LIMITS.calls_underway_paused) link.socket.pause?.()
    const answered = call(needs, link, frame)
    needs.underway.add(answered)
    const ended = () => {
      if (link.calls_underway === LIMITS.calls_underway_paused) link.socket.resume?.()
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

/** Runs an action and answers with its output. The outcome of the answer decides about the lease of a drain. */
async function call(
  needs: FrameDeps,
  link: Proven,
  { id, facade, action, params, context, narrowing }: ClientFrameOf<'call'>,
): Promise<void> {
  const answer = createFrameAnswer(link, () => needs.clock.monotonic())
  const { caller, identity } = link.member
  const outcome = await needs.dispatch({
    facade,
    action,
    params: params ?? {},
    caller,
    // Calls over the operator's link are made by the agent that the call names, or by the operator.
    context: caller.kind === 'operator' ? context : { agent_id: identity, ...context },
    narrowing,
    answer,
    for_model: link.member.kind === 'agent',
  })
  if (!outcome.ok) {
    answer.left('broken')
    link.send({ ...outcome.problem, type: 'error', id })
    return
  }
  const text = resultText(id, outcome)
  if (text === null) {
    answer.left('broken')
    throw new TurnbellError('limit_reached', {
      detail: `The answer is larger than a frame of ${LIMITS.frame_bytes_max} bytes.`,
      hint: 'Request fewer entries with `limit`.',
    })
  }
  link.sendText(text, (error) => answer.left(error ? 'broken' : 'written'))
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
