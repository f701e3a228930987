/**
 * One authenticated WebSocket to the hub at a time. The machine decides when to connect; this file connects,
 * renews the token and detects a silent hub.
 */
import { describeIssues, toProblem, TurnbellError } from '../../contracts/errors/errors.ts'
import { CLOSE, HubFrame, PROTOCOL_VERSION, type ClientFrame } from '../../contracts/frames.ts'
import type { SurfaceKind } from '../../contracts/ids.ts'
import { wireJson } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { DaemonErrorClass } from '../../contracts/metrics.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import { SOCKET, textOf, type FrameSocket } from '../../ports/frame-socket.ts'
import type { HubLink, HubLinkEvents } from '../../ports/hub-link.ts'
import type { Log } from '../../ports/log.ts'
import { webSocketDial, type Dial } from './dial.ts'
import type { TokenSource } from './hub-token.ts'

export interface HubLinkOptions {
  /** The hub's address (`http://HOST:PORT`), read at each attempt because a restarted hub may have moved. */
  url: () => string
  identity: string
  surface: SurfaceKind
  /** Identifies this run of the daemon. */
  session_id: string
  tokens: TokenSource
  /** Opens a WebSocket; only the simulation passes its own. */
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
  const { clock, tokens } = options
  const timers: Timer[] = []
  let socket: FrameSocket | null = null
  let over = false

  function finish(): void {
    over = true
    for (const timer of timers.splice(0)) timer.cancel()
    // `terminate`, because the other side may be gone and will not complete a close handshake.
    socket?.terminate()
  }

  function fail(error_class: DaemonErrorClass, detail: string, code: number | null = null): void {
    if (over) return
    finish()
    events.onDown(error_class, detail, code)
  }

  const session = createSession(options, events, {
    isOver: () => over,
    fail,
    addTimer: (timer) => void timers.push(timer),
  })

  async function open(): Promise<void> {
    const token = await tokens.current()
    if (over) return
    const dial = options.dial ?? (await webSocketDial(clock))
    if (over) return
    const address = `${options.url().replace(/^http/, 'ws')}/ws`
    socket = dial(address, token)
    session.listen(socket)
  }

  open().catch((error: unknown) => {
    const detail = error instanceof TurnbellError ? `${error.code}: ${error.detail}` : String(error)
    // A refusal before the link was open is reported as the error frame that it would have been on the link.
    if (error instanceof TurnbellError && !over) {
      events.onFrame({ ...toProblem(error, options.session_id), type: 'error' })
    }
    fail('ws_connect_failed', detail)
  })

  return {
    send: (frame) => session.isWelcomed() && socket !== null && session.transmit(socket, frame),
    close() {
      if (over) return
      over = true
      for (const timer of timers.splice(0)) timer.cancel()
      if (!session.isWelcomed()) return socket?.terminate()
      socket?.close(1000, 'bye')
      clock.after(LIMITS.link_close_grace_ms, () => socket?.terminate())
    },
  }
}

interface AttemptState {
  isOver(): boolean
  fail(error_class: DaemonErrorClass, detail: string, code?: number | null): void
  /** Adds a timer that is cancelled at the end of the attempt. */
  addTimer(timer: Timer): void
}

/** The frames of one connection: hello, welcome, then all others. */
function createSession(options: HubLinkOptions, events: HubLinkEvents, attempt: AttemptState) {
  const { clock, log, tokens, identity } = options
  let welcomed = false
  /** Last error that the hub sent before it closed; more useful than the close code. */
  let last_error: string | null = null

  const failureClass = () => (welcomed ? 'ws_stream_stalled' : 'ws_connect_failed')

  function transmit(ws: FrameSocket, frame: ClientFrame): boolean {
    if (attempt.isOver() || ws.readyState !== SOCKET.open) return false
    ws.send(JSON.stringify(frame), (error) => {
      if (error != null) attempt.fail('ws_stream_stalled', error.message)
    })
    return true
  }

  function onMessage(text: string | null): void {
    const frame = parseFrame(text)
    if (frame instanceof TurnbellError) {
      // A hub of a newer version may send unknown frames; they are ignored.
      log.warn({ detail: frame.detail }, 'invalid frame dropped')
      return
    }
    if (frame.type === 'error' && frame.id === undefined) last_error = `${frame.code}: ${frame.detail}`
    if (frame.type === 'welcome') {
      if (welcomed) return
      welcomed = true
      attempt.addTimer(keepTokenFresh(options))
      return events.onUp(frame)
    }
    if (concernsAnother(frame, identity)) {
      log.warn({ type: frame.type }, 'frame for another persona dropped')
      return
    }
    // Before the welcome, only an error frame has a meaning.
    if (welcomed || frame.type === 'error') events.onFrame(frame)
  }

  function listen(ws: FrameSocket): void {
    const silence = watchSilence(clock, () =>
      attempt.fail('ws_stream_stalled', `received nothing from the hub for ${LIMITS.link_silence_max_ms} ms`),
    )
    attempt.addTimer(silence.timer)
    const welcome_ms = LIMITS.hello_timeout_ms * 2
    const onLate = () => {
      if (!welcomed) attempt.fail('ws_connect_failed', `no welcome from the hub within ${welcome_ms} ms`)
    }
    attempt.addTimer(clock.after(welcome_ms, onLate))
    ws.on('open', () => {
      const { surface, session_id } = options
      transmit(ws, {
        type: 'hello',
        protocol: PROTOCOL_VERSION,
        kind: 'daemon',
        identity,
        surface,
        session_id,
      })
    })
    ws.on('message', (data, binary) => {
      silence.reset()
      if (!attempt.isOver()) onMessage(binary ? null : textOf(data))
    })
    ws.on('ping', silence.reset)
    ws.on('pong', silence.reset)
    ws.on('unexpected-response', (_, { statusCode = 0 }) => {
      if (statusCode === 401 || statusCode === 403) tokens.forget()
      attempt.fail('ws_connect_failed', `the hub answered ${statusCode} instead of opening the link`)
    })
    ws.on('error', (error) => attempt.fail(failureClass(), error.message))
    ws.on('close', (code, reason) => {
      if (code === CLOSE.unauthorised) tokens.forget()
      const reason_text = last_error ?? reason.toString('utf8')
      const detail = `the hub closed the link: ${code}${reason_text === '' ? '' : ` ${reason_text}`}`
      attempt.fail(failureClass(), detail, code)
    })
  }

  return { listen, transmit, isWelcomed: () => welcomed }
}

/** Renews the token until cancelled, because a valid one is needed when the link breaks. */
function keepTokenFresh({ tokens, clock, log }: HubLinkOptions): Timer {
  let timer: Timer | null = null
  let cancelled = false

  function arm(): void {
    const delay_ms = cancelled ? null : tokens.renewIn()
    if (delay_ms === null) return
    timer = clock.after(Math.max(delay_ms, LIMITS.reconnect_min_ms), () => {
      tokens.current().then(arm, (error: unknown) => {
        log.warn({ detail: String(error) }, 'token renewal failed')
        if (!cancelled) timer = clock.after(LIMITS.reconnect_max_ms, arm)
      })
    })
  }

  arm()
  return {
    cancel() {
      cancelled = true
      timer?.cancel()
    },
  }
}

/** Whether a push is for another persona. All other frames on this link belong to the persona of its token. */
function concernsAnother(frame: HubFrame, identity: string): boolean {
  return frame.type === 'signal.pushed' && frame.to !== identity
}

function parseFrame(text: string | null): HubFrame | TurnbellError {
  if (text === null) return new TurnbellError('frame_invalid', { detail: 'the frame is binary' })
  let value: unknown
  try {
    value = wireJson(text)
  } catch {
    return new TurnbellError('frame_invalid', { detail: 'the frame is not valid JSON' })
  }
  const parsed = HubFrame.safeParse(value)
  return parsed.success
    ? parsed.data
    : new TurnbellError('frame_invalid', { detail: describeIssues(parsed.error) })
}

/**
 * Calls `onSilence` when nothing was received for `link_silence_max_ms`. Both clocks are compared, because
 * the monotonic one stops while the machine sleeps and a link does not survive a long sleep.
 */
function watchSilence(clock: Clock, onSilence: () => void): { timer: Timer; reset: () => void } {
  let monotonic = clock.monotonic()
  let wall = clock.now()
  const timer = clock.every(LIMITS.link_silence_max_ms / 9, () => {
    const silent_ms = Math.max(clock.monotonic() - monotonic, clock.now() - wall)
    if (silent_ms >= LIMITS.link_silence_max_ms) onSilence()
  })
  return {
    timer,
    reset() {
      monotonic = clock.monotonic()
      wall = clock.now()
    },
  }
}
