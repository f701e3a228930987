/** A daemon's connection to its hub: one authenticated stream of frames. */
import type { ClientFrame, HubFrame } from '../contracts/frames.ts'
import type { DaemonErrorClass } from '../contracts/metrics.ts'

export interface HubLinkEvents {
  /** The hub has sent its welcome; frames may be sent. */
  onUp(welcome: Extract<HubFrame, { type: 'welcome' }>): void
  /** Every other frame, in order. */
  onFrame(frame: HubFrame): void
  /** Called once per `connect` when the link ends for any reason. `code` is the WebSocket close code, if there was one. */
  onDown(error_class: DaemonErrorClass, detail: string, code: number | null): void
}

export interface HubLink {
  /** Starts one attempt: gets or renews the token, connects, sends hello. Ends in onUp or onDown. */
  connect(events: HubLinkEvents): void
  /** Returns false if the link is not up; the frame is dropped, and the next reconcile makes up for it. */
  send(frame: ClientFrame): boolean
  /** Ends the link or the attempt without calling onDown. */
  close(): void
}
