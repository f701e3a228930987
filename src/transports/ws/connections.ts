/**
 * WebSocket links of the hub: sockets, hello, frames and the end of a link.
 *
 * Every message of a client is answered with a frame, an error frame or a close; it can end no link but its own.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { ClientFrame, CLOSE, type ClientFrameOf } from '../../contracts/frames.ts'
import { sizeProblem } from '../../contracts/validation/json.ts'
import { inexactNumber, InexactNumberError } from '../../contracts/validation/json-numbers.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Registrations } from '../../modules/registry/registrations.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Clock } from '../../ports/clock.ts'
import { SOCKET, textOf, type FrameData, type FrameSocket } from '../../ports/frame-socket.ts'
import type { Log } from '../../ports/log.ts'
import type { Quotas } from '../quotas.ts'
import { admit, type HelloDeps } from './hello.ts'
import { handleFrame, type FrameDeps } from './frame-handlers.ts'
import { Link, type Member } from './link.ts'

export interface Connections {
  /** Completes an upgrade whose path, host and origin are checked. Throws `hub_stopping` or `limit_reached`. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, token: string | null): void
  /** Adds an open socket; `token` was sent with its upgrade. Throws `limit_reached`. */
  open(socket: FrameSocket, token: string | null): void
  /** Pings links and terminates silent ones. Called every few seconds. */
  tick(): void
  /** Rejects new links from now on and announces the stop on open ones, whose running calls may finish. */
  announceStop(): void
  /** Closes every link. Resolves once all sockets are closed or terminated. */
  close(): Promise<void>
}

export interface ConnectionDeps extends Omit<HelloDeps, 'registrations'>, Omit<FrameDeps, 'registrations'> {
  registrations: Pick<Registrations, 'join' | 'heartbeat' | 'rows' | 'close'>
  quotas: Quotas
  clock: Clock
  log: Log
  /** Counts an event for the metrics. */
  counted(what: 'frame' | 'frame_malformed' | 'link_accepted' | 'link_refused'): void
}

/** Maximum time for a peer to answer the close frame at shutdown. */
const CLOSE_ANSWER_MS = 1_000

export function createConnections(deps: ConnectionDeps): Connections {
  const { clock, links, quotas, tokens } = deps
  const server = new WebSocketServer({
    noServer: true,
    // Frames are small and clients are near; compression would need memory per link.
    perMessageDeflate: false,
    maxPayload: LIMITS.frame_bytes_max,
    clientTracking: false,
  })
  /** Links without a valid token, oldest first. */
  const unauthenticated = new Set<Link>()
  const intake = createFrameIntake(deps, unauthenticated)
  const attach = createSocketListeners(deps, intake, unauthenticated)
  let is_stopping = false

  /** Reserves a link of the caller's quota; returns null if the token of the upgrade is missing or invalid. */
  const reserve = (token: string | null): (() => void) | null => {
    let holder: Caller
    try {
      holder = tokens.authenticate(token)
    } catch {
      // The hello may still contain a valid token; otherwise the hello is rejected with this error.
      return null
    }
    return quotas.take(holder, 'link')
  }

  const open = (socket: FrameSocket, token: string | null, leave: (() => void) | null) => {
    const link = new Link(socket, clock.monotonic())
    link.leave = leave
    if (leave === null) {
      const [oldest] = unauthenticated
      if (unauthenticated.size >= LIMITS.unproven_links_max) oldest?.socket.terminate()
      unauthenticated.add(link)
    }
    const onTimeout = () => intake.rejectWithoutHello(link, 'no hello came in time')
    link.pending_hello = { token, due: clock.after(LIMITS.hello_timeout_ms, onTimeout) }
    links.add(link)
    attach(link)
  }

  return {
    accept(request, socket, head, token) {
      if (is_stopping) throw new TurnbellError('hub_stopping', { detail: 'The hub accepts no new links.' })
      const leave = reserve(token)
      // Released with the socket until the link takes it over.
      if (leave !== null) socket.once('close', leave)
      server.handleUpgrade(request, socket, head, (client) => open(client, token, leave))
    },
    open: (socket, token) => open(socket, token, reserve(token)),

    tick() {
      const now = clock.monotonic()
      for (const link of links.all()) pingOrTerminate(link, now)
    },

    announceStop() {
      is_stopping = true
      for (const link of links.all()) link.send({ type: 'lifecycle.shutdown', reason: 'stopping' })
    },

    async close() {
      is_stopping = true
      await Promise.all([...links.all()].map((link) => closeLink(link, clock)))
    },
  }
}

interface FrameIntake {
  /** A valid frame arrived. */
  receive(link: Link, frame: ClientFrame): void
  /** An invalid frame arrived: it is answered with an error, and too many in a row close the link. */
  rejectMalformed(link: Link, error: TurnbellError, id?: string | number): void
  /** Closes a link that has not sent a hello; has no effect on any other link. */
  rejectWithoutHello(link: Link, detail: string): void
}

/** Handles the frames of a link: the hello first, then every other frame. */
function createFrameIntake(deps: ConnectionDeps, unauthenticated: Set<Link>): FrameIntake {
  const { registrations, quotas, tokens } = deps

  const handle = (link: Link & { member: Member }, frame: ClientFrame) => {
    const id = 'id' in frame ? frame.id : undefined
    try {
      // A call of an agent counts as a heartbeat. A daemon must send heartbeats.
      if (link.member.kind === 'agent' && frame.type !== 'ping' && link.member.ticket !== null) {
        registrations.heartbeat(link.member.ticket)
      }
      const done = handleFrame(deps, link, frame)
      if (done) done.catch((error: unknown) => refuse(deps, link, error, id))
    } catch (error) {
      refuse(deps, link, error, id)
    }
  }

  const rejectWithoutHello = (link: Link, detail: string) => {
    if (link.pending_hello === null) return
    deps.counted('link_refused')
    refuse(deps, link, new TurnbellError('frame_invalid', { detail, hint: 'Send hello first, within 5 s.' }))
    link.end(CLOSE.unauthorised, 'hello expected')
  }

  const join = async (link: Link, hello: ClientFrameOf<'hello'>, token: string | null): Promise<void> => {
    if (link.leave === null) {
      link.leave = quotas.take(tokens.authenticate(hello.token ?? token), 'link')
      unauthenticated.delete(link)
    }
    await admit(deps, link, hello, token)
  }
  const onJoined = (link: Link) => {
    deps.counted('link_accepted')
    const waiting = link.early ?? []
    link.early = null
    for (const next of waiting) if (isProven(link)) handle(link, next)
  }
  const onRefused = (link: Link, error: unknown) => {
    deps.counted('link_refused')
    refuse(deps, link, error)
    link.end(isWrapped(error) ? CLOSE.stale : CLOSE.unauthorised, codeOf(error))
  }

  return {
    receive(link, frame) {
      const { pending_hello: pending } = link
      if (pending !== null) {
        if (frame.type !== 'hello') return rejectWithoutHello(link, `${frame.type} came before hello`)
        link.pending_hello = null
        link.early = []
        pending.due.cancel()
        join(link, frame, pending.token).then(
          () => onJoined(link),
          (error: unknown) => onRefused(link, error),
        )
      } else if (link.early === null) {
        if (isProven(link)) handle(link, frame)
      } else if (link.early.push(frame) > LIMITS.early_frames_max) {
        link.end(CLOSE.overloaded, 'frames before welcome')
      }
    },
    rejectMalformed(link, error, id) {
      deps.counted('frame_malformed')
      link.malformed_in_a_row += 1
      refuse(deps, link, error, id)
      if (link.malformed_in_a_row >= LIMITS.malformed_frames_max) {
        link.end(CLOSE.malformed, 'too many malformed frames')
      }
    },
    rejectWithoutHello,
  }
}

/** Answers with an error frame. The link stays open. */
function refuse({ ids, log }: ConnectionDeps, link: Link, error: unknown, id?: string | number): void {
  const instance = ids.next()
  if (!(error instanceof TurnbellError)) {
    const member = link.member === null ? {} : about(link.member)
    log.error({ err: error, instance, ...member }, 'frame handler failed')
  }
  link.fail(error, instance, id)
}

/**
 * Returns a function that connects a link to the events of its socket. All sockets share the listeners, which receive the
 * socket as `this`: closures per socket would need more memory than the rest of an idle link.
 */
function createSocketListeners(
  deps: ConnectionDeps,
  intake: FrameIntake,
  unauthenticated: Set<Link>,
): (link: Link) => void {
  const { clock, log, links, channels, registrations } = deps
  const linkOf = new WeakMap<FrameSocket, Link>()
  const onMessage = function (this: FrameSocket, data: FrameData, is_binary: boolean) {
    const link = linkOf.get(this)
    if (!link?.open) return
    link.last_heard_at = clock.monotonic()
    deps.counted('frame')
    const parsed = parseFrame(data, is_binary)
    if ('frame' in parsed) {
      link.malformed_in_a_row = 0
      intake.receive(link, parsed.frame)
    } else intake.rejectMalformed(link, parsed.error, parsed.id)
  }
  const onPing = function (this: FrameSocket) {
    const link = linkOf.get(this)
    if (link) link.last_heard_at = clock.monotonic()
  }
  const onPong = function (this: FrameSocket, data: Buffer) {
    const link = linkOf.get(this)
    if (!link) return
    link.last_heard_at = clock.monotonic()
    // Keep-alive pings have no payload.
    if (data.length > 0) link.onPong(Number(data.toString('latin1')))
  }
  // After an oversize frame or a framing error, `ws` closes the link with the matching code.
  const onError = (err: Error) => log.debug({ err: err.message }, 'link failed')
  const onClose = function (this: FrameSocket) {
    const link = linkOf.get(this)
    if (!link) return
    link.pending_hello?.due.cancel()
    link.leave?.()
    unauthenticated.delete(link)
    link.over()
    const ticket = link.member?.ticket ?? null
    channels.forget(link)
    links.remove(link)
    if (ticket !== null) registrations.close(ticket)
  }
  return (link) => {
    const { socket } = link
    linkOf.set(socket, link)
    socket.on('message', onMessage)
    socket.on('pong', onPong)
    socket.on('ping', onPing)
    socket.on('error', onError)
    socket.on('close', onClose)
  }
}

function pingOrTerminate(link: Link, now: number): void {
  // A peer that sends frames and answers no ping would block every caller that waits for its pong.
  const silent_since = Math.min(link.last_heard_at, link.waited_since ?? now)
  if (now - silent_since > LIMITS.ws_silence_max_ms) {
    // Without a close frame, because the peer does not answer.
    link.socket.terminate()
  } else if (now - link.pinged_at >= LIMITS.ws_ping_interval_ms) {
    link.pinged_at = now
    if (link.open) link.socket.ping()
  }
}

/** Resolves once the socket is closed; terminates it if the peer does not answer the close frame. */
function closeLink(link: Link, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    if (link.socket.readyState === SOCKET.closed) return resolve()
    const cut = clock.after(CLOSE_ANSWER_MS, () => link.socket.terminate())
    link.socket.once('close', () => {
      cut.cancel()
      resolve()
    })
    link.end(CLOSE.going_away, 'the hub is stopping')
  })
}

function isProven(link: Link): link is Link & { member: Member } {
  return link.member !== null
}

type Parsed = { frame: ClientFrame } | { error: TurnbellError; id?: string | number }

function parseFrame(data: FrameData, is_binary: boolean): Parsed {
  if (is_binary) return { error: invalid('binary frame; frames must be text') }
  const text = textOf(data)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { error: invalid('the text is not JSON') }
  }
  const too_large = sizeProblem(value)
  if (too_large !== null) return { error: invalid(`frame rejected: ${too_large}`) }
  const inexact = inexactNumber(text)
  if (inexact !== null) {
    const detail = new InexactNumberError(inexact).below(['params'])
    return withId(new TurnbellError('params_invalid', { detail }), value)
  }
  const parsed = ClientFrame.safeParse(value)
  if (parsed.success) return { frame: parsed.data }
  return withId(invalid(describeParams(ClientFrame, value, parsed.error, 'frame')), value)
}

function withId(error: TurnbellError, value: unknown): Parsed {
  const id = idOf(value)
  return id === undefined ? { error } : { error, id }
}

/** Returns the id of an invalid frame, so that the client can match the error to its request. */
function idOf(value: unknown): string | number | undefined {
  if (typeof value !== 'object' || value === null || !('id' in value)) return undefined
  const { id } = value
  if (typeof id === 'number' && Number.isSafeInteger(id)) return id
  return typeof id === 'string' && id.length > 0 && id.length <= 64 ? id : undefined
}

function invalid(detail: string): TurnbellError {
  return new TurnbellError('frame_invalid', { detail })
}

function isWrapped(error: unknown): boolean {
  return error instanceof TurnbellError && error.code === 'persona_wrapped'
}

function codeOf(error: unknown): string {
  return error instanceof TurnbellError ? error.code : 'internal'
}

function about(member: Member) {
  return { identity: member.identity, kind: member.kind, client_id: member.client_id }
}
