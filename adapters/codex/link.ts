/** The connection to one app-server: dialled once, or kept open with redials. */
import type { AppServer } from './app-server.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface Link {
  /** Dials if not connected. Resolves when the attempt has succeeded or failed. */
  connectOnce(): Promise<void>
  /** From now on redials whenever the connection is lost, with backoff while no server listens. */
  keepConnected(): void
  close(): void
}

export interface LinkDeps {
  dial: (onClose: () => void) => Promise<AppServer>
  onConnected: (server: AppServer) => void
  onClosed: () => void
  clock: Pick<Clock, 'after'>
  log: Log
}

export function createLink({ dial, onConnected, onClosed, clock, log }: LinkDeps): Link {
  let connected: AppServer | null = null
  let dialling: Promise<void> | null = null
  let redial_timer: Timer | null = null
  let keeps_connecting = false
  let closed = false
  let dial_ms: number = LIMITS.codex_dial_ms
  /** Failures logged after the last successful connection. */
  const logged_reasons = new Set<string>()

  async function attempt(): Promise<void> {
    const dialled: { server: AppServer | null; gone: boolean } = { server: null, gone: false }
    try {
      const server = await dial(() => {
        dialled.gone = true
        // A connection that closes before it is used counts as a failed attempt.
        if (dialled.server === null || connected !== dialled.server) return
        connected = null
        onClosed()
        if (keeps_connecting) redialLater()
      })
      if (closed) return server.close()
      if (dialled.gone) throw new Error('the app-server closed the connection before it was used')
      dialled.server = connected = server
      dial_ms = LIMITS.codex_dial_ms
      logged_reasons.clear()
      onConnected(server)
    } catch (error) {
      logFailure(error)
      if (keeps_connecting) redialLater()
    }
  }

  /** Logs a failed attempt. Early ones are expected: a new server does not listen yet, and a shared one may not exist. */
  function logFailure(error: unknown): void {
    const reason = String(error)
    const early = dial_ms < LIMITS.shim_reconnect_max_ms
    if (!keeps_connecting || early || logged_reasons.has(reason))
      return log.debug({ err: error }, 'app-server not reachable')
    logged_reasons.add(reason)
    log.warn({ err: error }, 'app-server not reachable; retrying')
  }

  function redialLater(): void {
    if (closed || redial_timer !== null) return
    redial_timer = clock.after(dial_ms, () => void once())
    dial_ms = Math.min(dial_ms * 2, LIMITS.shim_reconnect_max_ms)
  }

  function cancelRedial(): void {
    redial_timer?.cancel()
    redial_timer = null
  }

  function once(): Promise<void> {
    if (connected !== null || closed) return Promise.resolve()
    // This attempt replaces the scheduled one.
    cancelRedial()
    dialling ??= attempt().finally(() => (dialling = null))
    return dialling
  }

  return {
    connectOnce: once,
    keepConnected() {
      if (keeps_connecting) return
      keeps_connecting = true
      // An attempt in progress redials by itself.
      if (dialling === null) void once()
    },
    close() {
      closed = true
      cancelRedial()
      connected?.close()
    },
  }
}
