/**
 * Keeps the surface on the persona's own server: starts the server, connects, and does both again, for ever,
 * whenever it ended. Nothing runs before somebody wants it.
 */
import type { OpencodeSurface } from './opencode-surface.ts'
import type { Asked } from './protocol.ts'
import { OpencodeVersionError, type OpencodeHandlers, type OwnedServer, type Place } from './server.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface ServerLinkDeps {
  surface: OpencodeSurface
  /** Makes sure that the server runs, and connects to it. Rejects where it does not answer yet. */
  connect: (handlers: OpencodeHandlers) => Promise<OwnedServer>
  /** The session that the surface goes on with, if it has none. */
  sessionOn: (server: OwnedServer) => Promise<Place | null>
  /** The surface hears everything that happens on the server from now on. */
  attached: () => void
  /** The server asks a person something. */
  asked: (asked: Asked, server: OwnedServer) => void
  clock: Pick<Clock, 'after'>
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

  async function attend(): Promise<void> {
    let link: OwnedServer | null = null
    try {
      link = await deps.connect({
        onEvent: (event) => surface.told(event),
        onAsked: (asked) => link !== null && deps.asked(asked, link),
        onClose() {
          surface.disconnected()
          again()
        },
      })
      await surface.connected(link, await deps.sessionOn(link))
      dial_ms = LIMITS.opencode_dial_ms
      deps.attached()
      log.info({}, 'attached to the opencode server')
    } catch (error) {
      if (error instanceof OpencodeVersionError || error instanceof TurnbellError) {
        log.error({ err: error }, error.message)
        dial_ms = LIMITS.shim_restart_max_ms
      } else log.debug({ err: error }, 'no opencode server yet')
      // A link that was made says by itself when it is gone.
      if (link === null) again()
      else link.close()
    }
  }

  /** A server that ended is started again, ever more slowly while it keeps ending. */
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
    },
  }
}
