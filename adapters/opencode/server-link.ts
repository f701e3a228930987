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
  /** Ends the one that was started. */
  stop: () => void
  /** Connects to it. Rejects where it does not answer yet. */
  connect: (handlers: OpencodeHandlers) => Promise<OwnedServer>
  /** The session that the surface goes on with, where it has none or is connected anew. */
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
  /** Once or more often: from now on, and at once where it waits. */
  begin(): void
  /** The surface has no session any more: it is to go on with the one that `sessionOn` says. */
  unbound(): void
  close(): void
}

export function serverLink(deps: ServerLinkDeps): ServerLink {
  const { surface, clock, log } = deps
  let dial_ms: number = LIMITS.opencode_dial_ms
  let begun = false
  let closed = false
  let retry: Timer | null = null
  let stable: Timer | null = null
  /** Connected to, and the surface with it. */
  let current: OwnedServer | null = null
  /** Where it is being asked for a session to go on with. */
  let seeking: OwnedServer | null = null
  /** That it is heard could not be told. */
  let untold = false
  let has_run = false
  /** By this process. In one that was there before, somebody may be at work. */
  let started_here = false
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
      started_here ||= found === 'started'
      link = await deps.connect({
        onEvent: (event) => surface.told(event),
        onAsked: (asked) => link !== null && deps.asked(asked, link),
        onClose() {
          gone = true
          current = null
          stable?.cancel()
          log.info({}, 'the opencode server is heard no more')
          surface.disconnected()
          again()
        },
      })
      const session = await deps.sessionOn(link)
      // By then the next may be there, and is not to be taken for it.
      if (gone) return
      current = link
      await surface.connected(link, session)
      if (gone) return
      sought_since = null
      dial_ms = Math.min(dial_ms, LIMITS.shim_reconnect_max_ms)
      stable = clock.after(LIMITS.shim_stable_ms, () => {
        dial_ms = LIMITS.opencode_dial_ms
        told.clear()
      })
      tellAttached()
      log.info({}, 'attached to the opencode server')
    } catch (error) {
      if (error instanceof OpencodeVersionError || error instanceof TurnbellError) {
        log.error({ err: error }, error.message)
        dial_ms = LIMITS.shim_restart_max_ms
        if (error instanceof OpencodeVersionError) replace()
      } else {
        dial_ms = Math.min(dial_ms, LIMITS.shim_reconnect_max_ms)
        tell(error)
      }
      // A link that was made says by itself when it is gone.
      if (link === null) again()
      else link.close()
    }
  }

  /** One that cannot be used is not kept: the next may be of the version that is installed by then. */
  function replace(): void {
    if (!started_here) return
    has_run = false
    deps.stop()
  }

  /** What is heard matters more than that it is known to be; that is told to whoever asks next. */
  function tellAttached(): void {
    try {
      deps.attached()
      untold = false
    } catch (error) {
      untold = true
      log.warn({ err: error }, 'that the server is heard was not written down')
    }
  }

  async function seek(link: OwnedServer): Promise<void> {
    seeking = link
    const bound = await goOn(link).catch((error: unknown) => {
      tell(error)
      return false
    })
    if (seeking === link) seeking = null
    // Connecting anew tries that again, ever more slowly.
    if (current === link && !bound) link.close()
  }

  /** False where there is a session to go on with, and it was not bound. */
  async function goOn(link: OwnedServer): Promise<boolean> {
    const session = await deps.sessionOn(link)
    if (current !== link || session === null) return true
    await surface.joined(session)
    return (await surface.status()).session_id !== null
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
    retry = clock.after(dial_ms, () => {
      retry = null
      void attend()
    })
    dial_ms = Math.min(dial_ms * 2, Math.max(dial_ms, LIMITS.shim_reconnect_max_ms))
  }

  return {
    begin() {
      if (closed) return
      if (untold && current !== null) tellAttached()
      if (begun && retry === null) return
      retry?.cancel()
      retry = null
      begun = true
      void attend()
    },
    unbound() {
      if (current !== null && seeking !== current) void seek(current)
    },
    close() {
      closed = true
      retry?.cancel()
      stable?.cancel()
    },
  }
}
