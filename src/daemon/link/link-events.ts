/** Handles what the link to the hub reports: its state, and the frames that arrive over it. */
import type { MachineState } from '../../contracts/control.ts'
import { CLOSE, type HubFrame } from '../../contracts/frames.ts'
import type { HubLinkEvents } from '../../ports/hub-link.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids, Random } from '../../ports/random.ts'
import type { Heartbeat } from '../heartbeat.ts'
import type { UntimedEvent } from '../mailbox.ts'
import { inProgressIn, queueEventOf } from '../queue/queue-events.ts'

export type StopReason =
  | { kind: 'requested' }
  /** The persona was wrapped or removed. */
  | { kind: 'lifecycle'; detail: string }
  /** Another daemon of this persona took over the registration. */
  | { kind: 'replaced'; detail: string }

export interface LinkEventsOptions {
  post: (event: UntimedEvent) => void
  heartbeat: Heartbeat
  ids: Ids
  random: Random
  log: Log
  requestStop: (why: StopReason) => void
}

export interface LinkEvents extends HubLinkEvents {
  /** Last number of signals in progress that the hub reported. */
  inProgressCount(): number
}

export function createLinkEvents(options: LinkEventsOptions): LinkEvents {
  const { post, heartbeat, ids, random, log, requestStop } = options
  let in_progress_count = 0

  function onLifecycle(reason: string): void {
    log.info({ reason }, 'hub announced a shutdown')
    // A hub also announces its own stop; then the daemon waits for the next hub.
    if (reason === 'wrap' || reason === 'remove') requestStop({ kind: 'lifecycle', detail: reason })
  }

  function onError({ id, code, detail }: Extract<HubFrame, { type: 'error' }>): void {
    log.warn({ code, detail }, 'hub sent an error')
    if (code === 'persona_wrapped') return requestStop({ kind: 'lifecycle', detail })
    if (id !== undefined) {
      post({ type: 'PEEK_REFUSED', peek_id: String(id), detail: `${code}: ${detail}`, random: random.next() })
    }
  }

  return {
    inProgressCount: () => in_progress_count,
    onUp(welcome) {
      log.info({ client_id: welcome.client_id }, 'connected to the hub')
      // Sent before the list is requested, because the list depends on the current session.
      heartbeat.start(welcome.heartbeat_interval_ms)
      post({ type: 'LINK_UP' })
    },
    onDown(error_class, detail, code) {
      heartbeat.stop()
      if (code === CLOSE.stale) return requestStop({ kind: 'replaced', detail })
      post({ type: 'LINK_LOST', error_class, detail, random: random.next() })
    },
    onFrame(frame) {
      in_progress_count = inProgressIn(frame) ?? in_progress_count
      switch (frame.type) {
        case 'pong':
          return heartbeat.accepted()
        case 'lifecycle.shutdown':
          return onLifecycle(frame.reason)
        case 'error':
          return onError(frame)
        default: {
          const event = queueEventOf(frame, ids)
          if (event !== null) post(event)
        }
      }
    },
  }
}

export type WatchHub = (onReady: () => void) => { close(): void }

/** Watches for the hub on this machine only while the link is down. */
export function createHubWatch(watchHub: WatchHub | null, onReady: () => void) {
  let watch: { close(): void } | null = null
  let closed = false
  return {
    follow(state: MachineState): void {
      if (state !== 'DISCONNECTED') {
        watch?.close()
        watch = null
      } else if (watch === null && !closed && watchHub !== null) {
        watch = watchHub(onReady)
      }
    },
    close(): void {
      closed = true
      watch?.close()
    },
  }
}
