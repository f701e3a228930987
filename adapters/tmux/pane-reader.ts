/** Reads the screen of a pane: detects the client in it and updates the tracked turn. */
import { PaneGoneError, type Look, type Pane } from './pane.ts'
import { clientGone, lookFailed, screenRead, type TrackedPane } from './pane-tracker.ts'
import type { Reading } from './reader.ts'
import { isOwnBell, readScreen, type TmuxClient } from './screen.ts'
import type { Tracked } from '../tracked-state.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

/** A look at the pane and its reading. */
export interface ReadScreen {
  look: Look
  reading: Reading
}

export interface PaneReader {
  /**
   * Reads the screen. Returns null if no known client holds the pane. The client is detected again if the program has
   * changed or if `detect_client` is set. Throws the errors of the pane.
   */
  read(detect_client?: boolean): Promise<ReadScreen | null>
  /** Like `read`, and updates the tracked turn. */
  readAndTrack(detect_client?: boolean): Promise<ReadScreen | null>
  /** Reads and tracks after the reading in progress. Never rejects. */
  readNext(detect_client?: boolean): Promise<void>
  /** Resolves when the reading in progress has finished. */
  pendingRead(): Promise<void>
  /** Sets the turn to unknown, because an unread screen may show a turn. */
  handleFailure(error: unknown): void
}

export interface PaneReaderDeps {
  pane: Pane
  tracked: Tracked<TrackedPane>
  clock: Pick<Clock, 'monotonic'>
  log: Log
}

export function paneReader({ pane, tracked, clock, log }: PaneReaderDeps): PaneReader {
  /** The reading in progress. Readings are serialized, because an older one must not overwrite a newer one. */
  let pending_read = Promise.resolve()
  /** The detected client, valid while the pane's program is the same. */
  let detected: { program: string; client: TmuxClient } | null = null
  /** Since when the client has shown no composer; reset when the client is detected again. */
  let no_composer_since: number | null = null
  /** Why no client can be rung, so that it is logged once. */
  let absent_reason: string | null = null
  /** Why the last reading failed, so that it is logged once. */
  let failure_reason: string | null = null

  async function read(detect_client = false): Promise<ReadScreen | null> {
    const look = await pane.look()
    const program = `${look.pane_id} ${look.pane_pid} ${look.command}`
    if (detect_client || detected?.program !== program || lacksComposer()) {
      no_composer_since = null
      const client = await pane.client(look)
      detected = client === null ? null : { program, client }
      if (client !== null) log.info({ client, pane: look.pane_id }, 'client detected in the pane')
    }
    failure_reason = null
    if (detected === null) {
      clientLost(`${look.command} is not a known client`)
      return null
    }
    absent_reason = null
    const reading = readScreen(detected.client, look)
    no_composer_since = reading.draft === null ? (no_composer_since ?? clock.monotonic()) : null
    return { look, reading }
  }

  function lacksComposer(): boolean {
    return no_composer_since !== null && clock.monotonic() - no_composer_since >= LIMITS.tmux_no_composer_ms
  }

  function clientLost(reason: string): void {
    if (reason !== absent_reason) log.warn({}, `no client to ring: ${reason}`)
    absent_reason = reason
    detected = null
    tracked.move(clientGone(tracked.state()))
  }

  async function readAndTrack(detect_client = false): Promise<ReadScreen | null> {
    const seen = await read(detect_client)
    if (seen !== null)
      tracked.move(screenRead(tracked.state(), seen.reading, clock.monotonic(), isOwnBell(seen.reading)))
    return seen
  }

  async function tryRead(detect_client: boolean): Promise<void> {
    try {
      await readAndTrack(detect_client)
    } catch (error) {
      handleFailure(error)
    }
  }

  function handleFailure(error: unknown): void {
    if (error instanceof PaneGoneError) return clientLost(error.message)
    const reason = String(error)
    log[reason === failure_reason ? 'debug' : 'warn']({ err: error }, 'pane could not be read')
    failure_reason = reason
    tracked.move(lookFailed(tracked.state()))
  }

  return {
    read,
    readAndTrack,
    readNext: (detect_client = false) => (pending_read = pending_read.then(() => tryRead(detect_client))),
    pendingRead: () => pending_read,
    handleFailure,
  }
}
