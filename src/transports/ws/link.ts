/** One WebSocket link of a client. */
import { harmless } from '../../kernel/gate.ts'
import { toProblem } from '../../contracts/errors/errors.ts'
import { CLOSE, type ClientFrame, type HubFrame } from '../../contracts/frames.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Timer } from '../../ports/clock.ts'
import { SOCKET, type FrameSocket } from '../../ports/frame-socket.ts'
import type { Ticket } from '../../modules/registry/registration-rows.ts'

/** Identity of a link after its hello. */
export interface Member {
  client_id: string
  kind: 'agent' | 'daemon' | 'observer'
  identity: Identity
  session_id: SessionId
  /** Caller of its calls; an operator's link may act as any persona. */
  caller: Caller
  /** Null for observers, which have no registration. */
  ticket: Ticket | null
}

/** State before the hello: the token of the upgrade, and the timeout. */
export interface PendingHello {
  token: string | null
  due: Timer
}

/** Memoizes the text of a frame for several links; links of agents get a sanitized one. */
export function frameText(frame: HubFrame): (link: Pick<Link, 'member'>) => string {
  let stored: string | null = null
  let shown: string | null = null
  return ({ member }) =>
    member?.kind === 'agent'
      ? (shown ??= JSON.stringify(harmless(frame)))
      : (stored ??= JSON.stringify(frame))
}

/** A class instead of closures, because a hub may have thousands of idle links. Its rules are in `connections.ts`. */
export class Link {
  readonly socket: FrameSocket
  /** Null after the hello. */
  pending_hello: PendingHello | null = null
  /** Releases the link from the quota of its caller; null until a valid token was presented. */
  leave: (() => void) | null = null
  /** Frames that arrived while the hello is handled; null otherwise. */
  early: ClientFrame[] | null = null
  member: Member | null = null
  channels: Set<string> | null = null
  /** Callers of `flushInbound` by mark; null until the first one. */
  ping_waiters: Map<number, { at: number; resolve: (all: boolean) => void }> | null = null
  private marks = 0
  malformed_in_a_row = 0
  calls_underway = 0
  last_heard_at: number
  pinged_at: number

  constructor(socket: FrameSocket, now: number) {
    this.socket = socket
    this.last_heard_at = now
    this.pinged_at = now
  }

  get open(): boolean {
    return this.socket.readyState === SOCKET.open
  }

  /** Returns false if the link is closed. */
  send(frame: HubFrame): boolean {
    return this.sendText(frameText(frame)(this))
  }

  /** Sends the text of a frame; see `frameText`. */
  sendText(text: string, done?: (error?: Error | null) => void): boolean {
    if (!this.open) {
      done?.(new Error('the link is closed'))
      return false
    }
    this.socket.send(text, done)
    if (this.socket.bufferedAmount > LIMITS.ws_backlog_bytes_max) {
      this.end(CLOSE.overloaded, 'the client reads too slowly')
      return false
    }
    return true
  }

  /**
   * Resolves with true once every message that the peer sent before this ping has been read; with false if the link ends.
   * `at` is the current monotonic time in milliseconds.
   */
  flushInbound(at: number): Promise<boolean> {
    const mark = ++this.marks
    return new Promise((resolve) => {
      this.ping_waiters ??= new Map()
      this.ping_waiters.set(mark, { at, resolve })
      this.socket.ping(String(mark))
    })
  }

  /** Time of the oldest unanswered `flushInbound`, in monotonic milliseconds; null if there is none. */
  get waited_since(): number | null {
    for (const { at } of this.ping_waiters?.values() ?? []) return at
    return null
  }

  /**
   * Resolves `flushInbound` for this mark and older ones. A peer may also send unsolicited pongs with any payload
   * (RFC 6455, 5.5.3); they are ignored.
   */
  onPong(mark: number): void {
    if (!this.ping_waiters?.has(mark)) return
    for (const [older, { resolve }] of this.ping_waiters) {
      if (older > mark) break
      this.ping_waiters.delete(older)
      resolve(true)
    }
  }

  /** The link has ended: resolves every `flushInbound` with false. */
  over(): void {
    for (const { resolve } of this.ping_waiters?.values() ?? []) resolve(false)
    this.ping_waiters = null
  }

  /** Sends an error frame; the link stays open. */
  fail(error: unknown, instance: string, id?: string | number): void {
    this.send({ ...toProblem(error, instance), type: 'error', ...(id === undefined ? {} : { id }) })
  }

  /** Sends a close frame. If the peer does not answer, `ws` terminates the socket after a timeout. */
  end(code: number, reason: string): void {
    if (this.socket.readyState === SOCKET.open) this.socket.close(code, reason)
    if (code === CLOSE.overloaded) this.socket.terminate()
  }
}
