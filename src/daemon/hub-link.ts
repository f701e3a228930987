/**
 * One authenticated WebSocket to the hub, an attempt at a time. When to try again is the machine's
 * decision; this only knows how, and notices when the other end has fallen silent.
 */
import { describeIssues, toProblem, TurnbellError } from '../contracts/errors.ts'
import { CLOSE, HubFrame, PROTOCOL_VERSION, type ClientFrame } from '../contracts/frames.ts'
import type { SurfaceKind } from '../contracts/ids.ts'
import { wireJson } from '../contracts/json.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { DaemonErrorClass } from '../contracts/metrics.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import { SOCKET, textOf, type FrameSocket } from '../ports/frame-socket.ts'
import type { HubLink, HubLinkEvents } from '../ports/hub-link.ts'
import type { Log } from '../ports/log.ts'
import { webSocketDial, type Dial } from './dial.ts'
import type { TokenSource } from './hub-token.ts'

export interface HubLinkOptions {
  /** The hub's address (`http://HOST:PORT`), read anew at each attempt: a restarted hub may have moved. */
  url: () => string
  identity: string
  surface: SurfaceKind
  /** Names this run of the daemon. */
  session_id: string
  tokens: TokenSource
  /** Begins to open a WebSocket; only a simulation brings its own. */
  dial?: Dial | undefined
  clock: Clock
  log: Log
}

export function createHubLink(options: HubLinkOptions): HubLink {
  let current: Attempt | null = null
  return {
    connect(events) {
      current?.close()
      current = openAttempt(options, events)
    },
    send: (frame) => current?.send(frame) ?? false,
    close() {
      current?.close()
      current = null
    },
  }
}

interface Attempt {
  send(frame: ClientFrame): boolean
  close(): void
}

function openAttempt(options: HubLinkOptions, events: HubLinkEvents): Attempt {
  const { clock, log, tokens, identity } = options
  const timers: Timer[] = []
  let socket: FrameSocket | null = null
  let welcomed = false
  let over = false
  /** What the hub said last before it closed: a better reason than a close code. */
  let refusal: string | null = null

  function finish(): void {
    over = true
    for (const timer of timers.splice(0)) timer.cancel()
    // `terminate`: the other side may be gone, and nobody waits for its goodbye.
    socket?.terminate()
  }

  function fail(error_class: DaemonErrorClass, detail: string, code: number | null = null): void {
    if (over) return
    finish()
    events.onDown(error_class, detail, code)
  }

  async function open(): Promise<void> {
    const token = await tokens.current()
    if (over) return
    const dial = options.dial ?? (await webSocketDial(clock))
    if (over) return
    const address = `${options.url().replace(/^http/, 'ws')}/ws`
    socket = dial(address, token)
    listen(socket)
  }

  function listen(ws: FrameSocket): void {
    const silence = watchSilence(clock, () =>
      fail('ws_stream_stalled', `nothing from the hub for ${LIMITS.link_silence_max_ms} ms`),
    )
    timers.push(silence.timer)
    timers.push(
      clock.after(LIMITS.hello_timeout_ms * 2, () => {
        if (!welcomed) fail('ws_connect_failed', 'the hub did not welcome us in time')
      }),
    )
    ws.on('open', () => {
      const { surface, session_id } = options
      transmit({ type: 'hello', protocol: PROTOCOL_VERSION, kind: 'daemon', identity, surface, session_id })
    })
    ws.on('message', (data, binary) => {
      silence.heard()
      if (!over) onMessage(binary ? null : textOf(data))
    })
    ws.on('ping', silence.heard)
    ws.on('pong', silence.heard)
    ws.on('unexpected-response', (_, { statusCode = 0 }) => {
      if (statusCode === 401 || statusCode === 403) tokens.forget()
      fail('ws_connect_failed', `the hub answered ${statusCode} instead of opening the link`)
    })
    ws.on('error', (error) => fail(welcomed ? 'ws_stream_stalled' : 'ws_connect_failed', error.message))
    ws.on('close', (code, reason) => {
      if (code === CLOSE.unauthorised) tokens.forget()
      const said = refusal ?? reason.toString('utf8')
      const detail = `the hub closed the link: ${code}${said === '' ? '' : ` ${said}`}`
      fail(welcomed ? 'ws_stream_stalled' : 'ws_connect_failed', detail, code)
    })
  }

  function onMessage(text: string | null): void {
    const frame = parseFrame(text)
    if (frame instanceof TurnbellError) {
      // A hub of another version may say more than we know; what we do not understand is not for us.
      log.warn({ detail: frame.detail }, 'dropped a frame that could not be understood')
      return
    }
    if (frame.type === 'error' && frame.id === undefined) refusal = `${frame.code}: ${frame.detail}`
    if (frame.type === 'welcome') {
      if (welcomed) return
      welcomed = true
      armRenewal()
      return events.onUp(frame)
    }
    if (concernsAnother(frame, identity)) {
      log.warn({ type: frame.type }, 'dropped a frame for another persona')
      return
    }
    // Before the welcome only its refusal means anything.
    if (welcomed || frame.type === 'error') events.onFrame(frame)
  }

  /** A link lives longer than a token: a fresh one must be at hand when it breaks. */
  function armRenewal(): void {
    const delay_ms = tokens.renewIn()
    if (delay_ms === null) return
    timers.push(
      clock.after(Math.max(delay_ms, LIMITS.reconnect_min_ms), () => {
        tokens.current().then(armUnlessOver, (error: unknown) => {
          log.warn({ detail: String(error) }, 'the token could not be renewed')
          timers.push(clock.after(LIMITS.reconnect_max_ms, armUnlessOver))
        })
      }),
    )
  }

  function armUnlessOver(): void {
    if (!over) armRenewal()
  }

  function transmit(frame: ClientFrame): boolean {
    if (over || socket?.readyState !== SOCKET.open) return false
    socket.send(JSON.stringify(frame), (error) => {
      if (error != null) fail('ws_stream_stalled', error.message)
    })
    return true
  }

  open().catch((error: unknown) => {
    const detail = error instanceof TurnbellError ? `${error.code}: ${error.detail}` : String(error)
    // Refused before the link was there: told as the error frame it would have been on the link.
    if (error instanceof TurnbellError && !over) {
      events.onFrame({ ...toProblem(error, options.session_id), type: 'error' })
    }
    fail('ws_connect_failed', detail)
  })

  return {
    send: (frame) => welcomed && transmit(frame),
    close() {
      if (over) return
      over = true
      for (const timer of timers.splice(0)) timer.cancel()
      if (!welcomed) return socket?.terminate()
      socket?.close(1000, 'bye')
      clock.after(LIMITS.link_close_grace_ms, () => socket?.terminate())
    },
  }
}

/** Pushes name their persona; everything else on this link is ours by its token. */
function concernsAnother(frame: HubFrame, identity: string): boolean {
  return frame.type === 'signal.pushed' && frame.to !== identity
}

function parseFrame(text: string | null): HubFrame | TurnbellError {
  if (text === null) return new TurnbellError('frame_invalid', { detail: 'a binary frame' })
  let value: unknown
  try {
    value = wireJson(text)
  } catch {
    return new TurnbellError('frame_invalid', { detail: 'a frame that is not JSON' })
  }
  const parsed = HubFrame.safeParse(value)
  return parsed.success
    ? parsed.data
    : new TurnbellError('frame_invalid', { detail: describeIssues(parsed.error) })
}

/**
 * Calls once when nothing was heard for `link_silence_max_ms`. Both clocks are asked: the monotonic one
 * stands still while the machine sleeps, and the link of a machine that slept for minutes is dead.
 */
function watchSilence(clock: Clock, onSilence: () => void): { timer: Timer; heard: () => void } {
  let monotonic = clock.monotonic()
  let wall = clock.now()
  const timer = clock.every(LIMITS.link_silence_max_ms / 9, () => {
    const silent_ms = Math.max(clock.monotonic() - monotonic, clock.now() - wall)
    if (silent_ms >= LIMITS.link_silence_max_ms) onSilence()
  })
  return {
    timer,
    heard() {
      monotonic = clock.monotonic()
      wall = clock.now()
    },
  }
}
