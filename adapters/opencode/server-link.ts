/**
 * Keeps the surface on the persona's own server: starts the server, connects, and does both again, for ever,
 * whenever it ended. Nothing runs before somebody wants it.
 */
import type { OpencodeSurface } from './opencode-surface.ts'
import type { Asked } from './protocol.ts'
import {
  OpencodeError,
  OpencodeVersionError,
  type OpencodeHandlers,
  type OwnedServer,
  type Place,
} from './server.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface ServerLinkDeps {
  surface: OpencodeSurface
  /** Makes sure that the server runs. */
  ensure: () => Promise<'started' | 'lives'>
  /** Connects to it. Rejects where it does not answer yet. */
  connect: (handlers: OpencodeHandlers) => Promise<OwnedServer>
  /** The session that the surface goes on with, if it has none. */
  sessionOn: (server: OwnedServer) => Promise<Place | null>
  /** The surface hears everything that happens on the server from now on. */
  attached: () => void
  /** The server asks a person something. */
  asked: (asked: Asked, server: OwnedServer) => void
  /** Takes what the server prints. */
  output: string
  clock: Pick<Clock, 'after' | 'monotonic'>
  log: Log
}

export interface ServerLink {
  /** Once or more often: from now on. */
  begin(): void
  close(): void
}

export function serverLink(deps: ServerLinkDeps): ServerLink {
  const { surface, clock, log } = deps
  let dial_ms: number = LIMITS.opencode_dial_ms
  let begun = false
  let closed = false
  let retry: Timer | null = null
  let stable: Timer | null = null
  let has_run = false
  /** When it was sought first since it last answered. */
  let sought_since: number | null = null
  /** Every reason is worth one line, until the server has been stable. */
  const told = new Set<string>()

  async function attend(): Promise<void> {
    let link: OwnedServer | null = null
    let gone = false
    try {
      sought_since ??= clock.monotonic()
      const found = await deps.ensure()
      if (has_run && found === 'started')
        log.warn({ output: deps.output }, 'the opencode server has ended and is started again')
      has_run = true
      link = await deps.connect({
        onEvent: (event) => surface.told(event),
        onAsked: (asked) => link !== null && deps.asked(asked, link),
        onClose() {
          gone = true
          stable?.cancel()
          log.info({}, 'the opencode server is heard no more')
          surface.disconnected()
          again()
        },
      })
      const session = await deps.sessionOn(link)
      // By then the next may be there, and is not to be taken for it.
      if (gone) return
      await surface.connected(link, session)
      if (gone) return
      sought_since = null
      dial_ms = Math.min(dial_ms, LIMITS.shim_reconnect_max_ms)
      stable = clock.after(LIMITS.shim_stable_ms, () => {
        dial_ms = LIMITS.opencode_dial_ms
        told.clear()
      })
      deps.attached()
      log.info({}, 'attached to the opencode server')
    } catch (error) {
      if (error instanceof OpencodeVersionError || error instanceof TurnbellError) {
        log.error({ err: error }, error.message)
        dial_ms = LIMITS.shim_restart_max_ms
      } else tell(error)
      // A link that was made says by itself when it is gone.
      if (link === null) again()
      else link.close()
    }
  }

  function tell(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    // A server that was just started answers nothing for some seconds.
    const sought_ms = clock.monotonic() - (sought_since ?? clock.monotonic())
    const silent = error instanceof OpencodeError && error.status === null
    const expected = silent && sought_ms < LIMITS.process_start_ms
    if (expected || told.has(reason)) return log.debug({ err: error }, 'no opencode server yet')
    told.add(reason)
    log.warn({ err: error, output: deps.output }, 'the opencode server cannot be used; it is tried again')
  }

  /** Whether a server that ended is started again then is for `ensure` to say. */
  function again(): void {
    if (closed) return
    retry = clock.after(dial_ms, () => void attend())
    dial_ms = Math.min(dial_ms * 2, Math.max(dial_ms, LIMITS.shim_reconnect_max_ms))
  }

  return {
    begin() {
      if (begun || closed) return
      begun = true
      void attend()
    },
    close() {
      closed = true
      retry?.cancel()
      stable?.cancel()
    },
  }
}
