/**
 * Keeps the surface connected to the persona's own server: starts the server and connects, and does both again whenever
 * it ends. No server runs before it is requested.
 */
import type { OpencodeSurface } from './opencode-surface.ts'
import type { UserRequest } from './protocol.ts'
import {
  OpencodeError,
  OpencodeVersionError,
  type OpencodeHandlers,
  type OwnedServer,
  type SessionRef,
} from './server.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface ServerLinkDeps {
  surface: OpencodeSurface
  /** Ensures that the server runs. */
  ensure: () => Promise<'started' | 'lives'>
  /** Stops the server. */
  stop: () => void
  /** Connects to the server. Rejects if it does not answer yet. */
  connect: (handlers: OpencodeHandlers) => Promise<OwnedServer>
  /** Returns the session to bind after a connect, or if none is bound. */
  chooseSession: (server: OwnedServer) => Promise<SessionRef | null>
  /** Called when the surface receives the server's events. */
  onAttached: () => void
  /** Called for a request of a session to a person. */
  onRequest: (request: UserRequest, server: OwnedServer) => void
  /** File with the server's output, for log messages. */
  output: string
  clock: Pick<Clock, 'after' | 'monotonic'>
  log: Log
}

export interface ServerLink {
  /** Starts connecting; if a redial is scheduled, dials at once. May be called repeatedly. */
  start(): void
  /** The surface has no session any more: binds the one that `chooseSession` returns. */
  unbound(): void
  close(): void
}

export function serverLink(deps: ServerLinkDeps): ServerLink {
  const { surface, clock, log } = deps
  const server_run = serverRun(deps)
  const failures = failureLog(deps)
  const attached_mark = attachedMark(deps)
  const redial = redialTimer(clock, () => void connect())
  let started = false
  let stable_timer: Timer | null = null
  /** The server to which the surface is connected. */
  let current: OwnedServer | null = null
  const bindAnother = sessionRebinding(deps, failures, () => current)

  async function connect(): Promise<void> {
    let link: OwnedServer | null = null
    let gone = false
    try {
      failures.connecting()
      await server_run.ensure()
      link = await deps.connect({
        onEvent: (event) => surface.handleEvent(event),
        onRequest: (request) => link !== null && deps.onRequest(request, link),
        onClose() {
          gone = true
          onLost()
        },
      })
      const session = await deps.chooseSession(link)
      // The connection was lost; the next one may exist already.
      if (gone) return
      current = link
      await surface.connected(link, session)
      if (!gone) onConnected()
    } catch (error) {
      handleFailure(error, { redial, server_run, failures, log })
      // An open link redials in `onClose`.
      if (link === null) redial.later()
      else link.close()
    }
  }

  function onConnected(): void {
    failures.connected()
    redial.limit()
    stable_timer = clock.after(LIMITS.shim_stable_ms, () => {
      redial.reset()
      failures.forget()
    })
    attached_mark.write()
    log.info({}, 'attached to opencode server')
  }

  function onLost(): void {
    current = null
    stable_timer?.cancel()
    log.info({}, 'opencode server connection lost')
    surface.disconnected()
    redial.later()
  }

  return {
    start() {
      if (redial.isClosed()) return
      if (current !== null) attached_mark.retry()
      if (started && !redial.isScheduled()) return
      redial.cancel()
      started = true
      void connect()
    },
    unbound: bindAnother,
    close() {
      redial.close()
      stable_timer?.cancel()
    },
  }
}

interface FailureDeps {
  redial: RedialTimer
  server_run: ServerRun
  failures: FailureLog
  log: Log
}

/** Logs a failure to connect and adjusts the delay of the next attempt. */
function handleFailure(error: unknown, { redial, server_run, failures, log }: FailureDeps): void {
  if (error instanceof OpencodeVersionError || error instanceof TurnbellError) {
    log.error({ err: error }, error.message)
    redial.slowDown()
    if (error instanceof OpencodeVersionError) server_run.stopUnusable()
  } else {
    redial.limit()
    failures.log(error)
  }
}

/** Returns a function that binds another session, because the surface has none. */
function sessionRebinding(
  { surface, chooseSession }: ServerLinkDeps,
  failures: FailureLog,
  current: () => OwnedServer | null,
): () => void {
  /** The server on which a session is being bound. */
  let binding: OwnedServer | null = null

  async function bindOn(link: OwnedServer): Promise<void> {
    binding = link
    const bound = await bindChosen(link).catch((error: unknown) => {
      failures.log(error)
      return false
    })
    if (binding === link) binding = null
    // Reconnecting tries again, with backoff.
    if (current() === link && !bound) link.close()
  }

  /** Returns false if there is a session and it could not be bound. */
  async function bindChosen(link: OwnedServer): Promise<boolean> {
    const session = await chooseSession(link)
    if (current() !== link || session === null) return true
    await surface.personJoined(session)
    return (await surface.status()).session_id !== null
  }

  return () => {
    const link = current()
    if (link !== null && binding !== link) void bindOn(link)
  }
}

type ServerRun = ReturnType<typeof serverRun>

/** The runs of the server's process. */
function serverRun({ ensure, stop, output, log }: ServerLinkDeps) {
  let has_run = false
  /** The server was started by this process. An earlier one may be in use. */
  let started_here = false
  return {
    async ensure(): Promise<void> {
      const found = await ensure()
      if (has_run && found === 'started') log.warn({ output }, 'opencode server exited and was restarted')
      has_run = true
      started_here ||= found === 'started'
    },
    /** Stops an unusable server, because the next start may use a newly installed version. */
    stopUnusable(): void {
      if (!started_here) return
      has_run = false
      stop()
    },
  }
}

type FailureLog = ReturnType<typeof failureLog>

/** Logs failures to connect; each is logged once until the server has been stable. */
function failureLog({ output, clock, log }: ServerLinkDeps) {
  const logged_reasons = new Set<string>()
  /** When connecting began after the last successful connection. */
  let connecting_since: number | null = null
  return {
    connecting: () => void (connecting_since ??= clock.monotonic()),
    connected: () => void (connecting_since = null),
    forget: () => logged_reasons.clear(),
    log(error: unknown): void {
      const reason = error instanceof Error ? error.message : String(error)
      // A new server does not answer for some seconds.
      const connecting_ms = clock.monotonic() - (connecting_since ?? clock.monotonic())
      const silent = error instanceof OpencodeError && error.status === null
      const expected = silent && connecting_ms < LIMITS.process_start_ms
      if (expected || logged_reasons.has(reason))
        return log.debug({ err: error }, 'opencode server not reachable')
      logged_reasons.add(reason)
      log.warn({ err: error, output }, 'opencode server cannot be used; retrying')
    },
  }
}

/** Records attached servers. A failure is only logged and retried at the next start: the connection itself works. */
function attachedMark({ onAttached, log }: ServerLinkDeps) {
  /** `onAttached` has failed. */
  let pending = false
  function write(): void {
    try {
      onAttached()
      pending = false
    } catch (error) {
      pending = true
      log.warn({ err: error }, 'attached server could not be recorded')
    }
  }
  return {
    write,
    retry(): void {
      if (pending) write()
    },
  }
}

type RedialTimer = ReturnType<typeof redialTimer>

/** Redials with backoff. `serverRun` decides whether an exited server is restarted. */
function redialTimer(clock: Pick<Clock, 'after'>, dial: () => void) {
  let delay_ms: number = LIMITS.opencode_dial_ms
  let timer: Timer | null = null
  let closed = false
  function cancel(): void {
    timer?.cancel()
    timer = null
  }
  return {
    later(): void {
      if (closed) return
      timer = clock.after(delay_ms, () => {
        timer = null
        dial()
      })
      delay_ms = Math.min(delay_ms * 2, Math.max(delay_ms, LIMITS.shim_reconnect_max_ms))
    },
    isScheduled: () => timer !== null,
    isClosed: () => closed,
    cancel,
    /** Ends the longer delay of an unusable server. */
    limit: () => void (delay_ms = Math.min(delay_ms, LIMITS.shim_reconnect_max_ms)),
    /** Uses the longer delay of an unusable server. */
    slowDown: () => void (delay_ms = LIMITS.shim_restart_max_ms),
    reset: () => void (delay_ms = LIMITS.opencode_dial_ms),
    close(): void {
      closed = true
      cancel()
    },
  }
}
