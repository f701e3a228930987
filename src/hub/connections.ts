/**
 * The WebSocket side of the hub: sockets, hello, frames, and when a link ends.
 *
 * Whatever a client sends is answered with a frame, an error frame or a close; nothing it sends can end
 * more than its own link.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { describeParams } from '../contracts/describe.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { ClientFrame, CLOSE } from '../contracts/frames.ts'
import { wireJson } from '../contracts/json.ts'
import { inexactNumber, InexactNumberError } from '../contracts/json-numbers.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Registrations } from '../modules/registry/registrations.ts'
import type { Clock } from '../ports/clock.ts'
import { SOCKET, textOf, type FrameData, type FrameSocket } from '../ports/frame-socket.ts'
import type { Log } from '../ports/log.ts'
import { admit, type AdmissionNeeds } from './admission.ts'
import { handleFrame, type FrameNeeds } from './frame-handlers.ts'
import { Link, type Member, type Stranger } from './link.ts'

export interface Connections {
  /** Completes an upgrade whose path, host and origin were found good. Throws `hub_stopping` or `limit_reached`. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, token: string | null): void
  /** A socket that is open; `token` came with its upgrade. */
  open(socket: FrameSocket, token: string | null): void
  /** Pings, and ends links that are silent. Called every few seconds. */
  tick(): void
  /** No new links; those that are there hear that the hub stops, and may finish what runs. */
  announceStop(): void
  /** Ends every link. Resolves once the sockets are gone, or cut off after a moment. */
  close(): Promise<void>
}

export interface ConnectionNeeds
  extends Omit<AdmissionNeeds, 'registrations'>, Omit<FrameNeeds, 'registrations'> {
  registrations: Pick<Registrations, 'join' | 'heartbeat' | 'rows' | 'close'>
  clock: Clock
  log: Log
  /** Counts for the metrics. */
  counted(what: 'frame' | 'frame_malformed' | 'link_accepted' | 'link_refused'): void
}

/** How long a peer may take to answer a close at the end. */
const CLOSE_ANSWER_MS = 1_000

export function createConnections(needs: ConnectionNeeds): Connections {
  const { clock, log, links, channels, registrations, ids } = needs
  const server = new WebSocketServer({
    noServer: true,
    // Frames are small and the peers near: compression would cost memory for every link.
    perMessageDeflate: false,
    maxPayload: LIMITS.frame_bytes_max,
    clientTracking: false,
  })
  let stopping = false

  const refuse = (link: Link, error: unknown, id?: string | number) => {
    const instance = ids.next()
    if (!(error instanceof TurnbellError)) {
      log.error(
        { err: error, instance, ...(link.member === null ? {} : about(link.member)) },
        'a frame broke',
      )
    }
    link.fail(error, instance, id)
  }

  const malformed = (link: Link, error: TurnbellError, id?: string | number) => {
    needs.counted('frame_malformed')
    link.malformed_in_a_row += 1
    refuse(link, error, id)
    if (link.malformed_in_a_row >= LIMITS.malformed_frames_max) {
      link.end(CLOSE.malformed, 'too many malformed frames')
    }
  }

  const handle = (link: Link & { member: Member }, frame: ClientFrame) => {
    const id = 'id' in frame ? frame.id : undefined
    try {
      // An agent that calls is there, whether or not it sends heartbeats. A daemon's life is its heartbeat.
      if (link.member.kind === 'agent' && frame.type !== 'ping' && link.member.ticket !== null) {
        registrations.heartbeat(link.member.ticket)
      }
      const done = handleFrame(needs, link, frame)
      if (done) done.catch((error: unknown) => refuse(link, error, id))
    } catch (error) {
      refuse(link, error, id)
    }
  }

  const unproven = (link: Link, detail: string) => {
    needs.counted('link_refused')
    refuse(link, new TurnbellError('frame_invalid', { detail, hint: 'Say hello first, within 5 s.' }))
    link.end(CLOSE.unauthorised, 'hello expected')
  }

  const first = (link: Link, frame: ClientFrame, { token, due }: Stranger) => {
    if (frame.type !== 'hello') return unproven(link, `${frame.type} came before hello`)
    link.stranger = null
    link.early = []
    due.cancel()
    admit(needs, link, frame, token).then(
      () => {
        needs.counted('link_accepted')
        const waiting = link.early ?? []
        link.early = null
        for (const next of waiting) if (isProven(link)) handle(link, next)
      },
      (error: unknown) => {
        needs.counted('link_refused')
        refuse(link, error)
        link.end(isWrapped(error) ? CLOSE.stale : CLOSE.unauthorised, codeOf(error))
      },
    )
  }

  const onFrame = (link: Link, frame: ClientFrame) => {
    if (link.stranger !== null) return first(link, frame, link.stranger)
    if (link.early === null) {
      if (isProven(link)) handle(link, frame)
    } else if (link.early.push(frame) > LIMITS.calls_underway_max) {
      link.end(CLOSE.overloaded, 'frames before welcome')
    }
  }

  // Shared by all sockets and told theirs by `this`: closures of its own would cost an idle link more
  // than everything else the hub knows of it.
  const linkOf = new WeakMap<FrameSocket, Link>()
  const onMessage = function (this: FrameSocket, data: FrameData, is_binary: boolean) {
    const link = linkOf.get(this)
    if (!link?.open) return
    link.heard_at = clock.monotonic()
    needs.counted('frame')
    const parsed = parseFrame(data, is_binary)
    if ('frame' in parsed) {
      link.malformed_in_a_row = 0
      onFrame(link, parsed.frame)
    } else malformed(link, parsed.error, parsed.id)
  }
  const onHeard = function (this: FrameSocket) {
    const link = linkOf.get(this)
    if (link) link.heard_at = clock.monotonic()
  }
  const onPong = function (this: FrameSocket, data: Buffer) {
    const link = linkOf.get(this)
    if (!link) return
    link.heard_at = clock.monotonic()
    // The pings that only look who is there say nothing.
    if (data.length > 0) link.reached(Number(data.toString('latin1')))
  }
  // Oversize frames and broken framing: `ws` closes the link itself, with the code that fits.
  const onError = (err: Error) => log.debug({ err: err.message }, 'a link broke')
  const onClose = function (this: FrameSocket) {
    const link = linkOf.get(this)
    if (!link) return
    link.stranger?.due.cancel()
    link.over()
    const ticket = link.member?.ticket ?? null
    channels.forget(link)
    links.remove(link)
    if (ticket !== null) registrations.close(ticket)
  }

  const open = (socket: FrameSocket, token: string | null) => {
    const link = new Link(socket, clock.monotonic())
    link.stranger = {
      token,
      due: clock.after(LIMITS.hello_timeout_ms, () => {
        if (link.stranger !== null) unproven(link, 'no hello came in time')
      }),
    }
    linkOf.set(socket, link)
    links.add(link)
    socket.on('message', onMessage)
    socket.on('pong', onPong)
    socket.on('ping', onHeard)
    socket.on('error', onError)
    socket.on('close', onClose)
  }

  return {
    accept(request, socket, head, token) {
      if (stopping) throw new TurnbellError('hub_stopping', { detail: 'It takes no new links.' })
      if (links.unproven() >= LIMITS.unproven_links_max) {
        throw new TurnbellError('limit_reached', {
          detail: `${LIMITS.unproven_links_max} links are open that have not said hello.`,
          hint: 'Say hello at once after connecting, and connect again with growing pauses.',
        })
      }
      server.handleUpgrade(request, socket, head, (client) => open(client, token))
    },
    open,

    tick() {
      const now = clock.monotonic()
      for (const link of links.all()) {
        // Who speaks and answers no ping would hold up whatever waits for one.
        const silent_since = Math.min(link.heard_at, link.waited_since ?? now)
        if (now - silent_since > LIMITS.ws_silence_max_ms) {
          // Nobody there to answer a close.
          link.socket.terminate()
        } else if (now - link.pinged_at >= LIMITS.ws_ping_interval_ms) {
          link.pinged_at = now
          if (link.open) link.socket.ping()
        }
      }
    },

    announceStop() {
      stopping = true
      for (const link of links.all()) link.send({ type: 'lifecycle.shutdown', reason: 'stopping' })
    },

    async close() {
      stopping = true
      const closing = [...links.all()].map(
        (link) =>
          new Promise<void>((resolve) => {
            if (link.socket.readyState === SOCKET.closed) return resolve()
            const cut = clock.after(CLOSE_ANSWER_MS, () => link.socket.terminate())
            link.socket.once('close', () => {
              cut.cancel()
              resolve()
            })
            link.end(CLOSE.going_away, 'the hub is stopping')
          }),
      )
      await Promise.all(closing)
    },
  }
}

function isProven(link: Link): link is Link & { member: Member } {
  return link.member !== null
}

type Parsed = { frame: ClientFrame } | { error: TurnbellError; id?: string | number }

function parseFrame(data: FrameData, is_binary: boolean): Parsed {
  if (is_binary) return { error: invalid('frames are text, this one is binary') }
  const text = textOf(data)
  let value: unknown
  try {
    value = wireJson(text)
  } catch {
    return { error: invalid('the text is not JSON') }
  }
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

/** Told back where there is one, so that the client knows which of its requests was not understood. */
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
