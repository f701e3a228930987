/** The connection to one app-server: asked for once, or kept for ever. */
import type { AppServer } from './app-server.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
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
  let lasting = false
  let closed = false
  let dial_ms: number = LIMITS.codex_dial_ms

  async function attempt(): Promise<void> {
    try {
      const server = await dial(() => {
        if (connected !== server) return
        connected = null
        onClosed()
        if (lasting) again()
      })
      if (closed) return server.close()
      connected = server
      dial_ms = LIMITS.codex_dial_ms
      onConnected(server)
    } catch (error) {
      log.debug({ err: error }, 'no app-server yet')
      if (lasting) again()
    }
  }

  function again(): void {
    if (closed) return
    clock.after(dial_ms, () => void once())
    dial_ms = Math.min(dial_ms * 2, LIMITS.shim_reconnect_max_ms)
  }

  function once(): Promise<void> {
    if (connected !== null || closed) return Promise.resolve()
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
      connected?.close()
    },
  }
}
