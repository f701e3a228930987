/** What a daemon needs of its hub: one authenticated stream of frames. */
import type { ClientFrame, HubFrame } from '../contracts/frames.ts'
import type { DaemonErrorClass } from '../contracts/metrics.ts'

export interface HubLinkEvents {
  /** The hub has welcomed us; frames may be sent. */
  onUp(welcome: Extract<HubFrame, { type: 'welcome' }>): void
  /** Every other frame, in order. */
  onFrame(frame: HubFrame): void
  /** Once per `connect`, whatever ended the link. `code` is the WebSocket close code, if there was one. */
  onDown(error_class: DaemonErrorClass, detail: string, code: number | null): void
}

export interface HubLink {
  /** Starts one attempt: gets or renews the token, connects, says hello. Ends in onUp or onDown. */
  connect(events: HubLinkEvents): void
  /** False when the link is not up; the frame is then dropped, the reconcile repairs it. */
  send(frame: ClientFrame): boolean
  /** Ends the link or the attempt; onDown does not fire for it. */
  close(): void
}
