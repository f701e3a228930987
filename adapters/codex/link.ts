/** The connection to one app-server: asked for once, or kept for ever. */
import type { AppServer } from './app-server.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface Link {
  /** Dials where nothing is connected. Resolves when that succeeded or failed. */
  once(): Promise<void>
  /** From now on dials again whenever the connection is lost, ever more slowly while nobody listens. */
  forever(): void
  close(): void
}

export interface LinkDeps {
  dial: (onClose: () => void) => Promise<AppServer>
  onConnected: (server: AppServer) => void
  onClosed: () => void
  clock: Pick<Clock, 'after'>
  log: Log
}

export function lastingLink({ dial, onConnected, onClosed, clock, log }: LinkDeps): Link {
  let connected: AppServer | null = null
  let dialling: Promise<void> | null = null
  let retry: Timer | null = null
  let lasting = false
  let closed = false
  let dial_ms: number = LIMITS.codex_dial_ms
  /** Reasons that were said since it was last connected. */
  const said = new Set<string>()

  async function attempt(): Promise<void> {
    const dialled: { server: AppServer | null; gone: boolean } = { server: null, gone: false }
    try {
      const server = await dial(() => {
        dialled.gone = true
        // Before it is known, its end is a dial that failed.
        if (dialled.server === null || connected !== dialled.server) return
        connected = null
        onClosed()
        if (lasting) again()
      })
      if (closed) return server.close()
      if (dialled.gone) throw new Error('the app-server went away before it was used')
      dialled.server = connected = server
      dial_ms = LIMITS.codex_dial_ms
      said.clear()
      onConnected(server)
    } catch (error) {
      explain(error)
      if (lasting) again()
    }
  }

  /** One that was started a moment ago does not listen yet, and a shared one need not be there at all. */
  function explain(error: unknown): void {
    const reason = String(error)
    const early = dial_ms < LIMITS.shim_reconnect_max_ms
    if (!lasting || early || said.has(reason)) return log.debug({ err: error }, 'no app-server yet')
    said.add(reason)
    log.warn({ err: error }, 'no app-server yet; it is tried again and again')
  }

  function again(): void {
    if (closed || retry !== null) return
    retry = clock.after(dial_ms, () => void once())
    dial_ms = Math.min(dial_ms * 2, LIMITS.shim_reconnect_max_ms)
  }

  function giveUpWaiting(): void {
    retry?.cancel()
    retry = null
  }

  function once(): Promise<void> {
    if (connected !== null || closed) return Promise.resolve()
    // Whoever asks dials now: the try that was due is this one.
    giveUpWaiting()
    dialling ??= attempt().finally(() => (dialling = null))
    return dialling
  }

  return {
    once,
    forever() {
      if (lasting) return
      lasting = true
      // An attempt that is under way goes on by itself.
      if (dialling === null) void once()
    },
    close() {
      closed = true
      giveUpWaiting()
      connected?.close()
    },
  }
}
