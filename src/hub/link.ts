/** One WebSocket client: what it is, and how frames reach it. */
import { toProblem } from '../contracts/errors.ts'
import { CLOSE, type ClientFrame, type HubFrame } from '../contracts/frames.ts'
import type { Identity, SessionId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Caller } from '../contracts/token.ts'
import type { Timer } from '../ports/clock.ts'
import { SOCKET, type FrameSocket } from '../ports/frame-socket.ts'
import type { Ticket } from '../modules/registry/registrations.ts'

/** What a link is once its hello was accepted. */
export interface Member {
  client_id: string
  kind: 'agent' | 'daemon' | 'observer'
  identity: Identity
  session_id: SessionId
  /** As whom its calls are made; an operator's link may act as any persona. */
  caller: Caller
  /** Null for observers, which hold no row. */
  ticket: Ticket | null
}

/** Before its hello: the token that came with the upgrade, and when patience ends. */
export interface Stranger {
  token: string | null
  due: Timer
}

/**
 * A class, not closures: a hub holds thousands of idle links, and what each of them costs counts.
 * Nothing here decides; see `connections.ts`.
 */
export class Link {
  readonly socket: FrameSocket
  /** Null once it has said hello. */
  stranger: Stranger | null = null
  /** Frames that came while the hello was being looked at; null otherwise. */
  early: ClientFrame[] | null = null
  member: Member | null = null
  channels: Set<string> | null = null
  /** Who waits for what the peer has sent by now; null as long as nobody ever did. */
  behind: Map<number, { at: number; resolve: (all: boolean) => void }> | null = null
  private marks = 0
  malformed_in_a_row = 0
  calls_underway = 0
  heard_at: number
  pinged_at: number

  constructor(socket: FrameSocket, now: number) {
    this.socket = socket
    this.heard_at = now
    this.pinged_at = now
  }

  get open(): boolean {
    return this.socket.readyState === SOCKET.open
  }

  /** False where the link is not open any more. */
  send(frame: HubFrame): boolean {
    return this.sendText(JSON.stringify(frame))
  }

  /** For a frame that many get: made once. */
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
   * Resolves once everything is here that the peer had sent before it could hear of this; with false if the link ends.
   * `at` is now, in monotonic milliseconds.
   */
  caughtUp(at: number): Promise<boolean> {
    const mark = ++this.marks
    return new Promise((resolve) => {
      this.behind ??= new Map()
      this.behind.set(mark, { at, resolve })
      this.socket.ping(String(mark))
    })
  }

  /** Since when somebody waits for a pong; null where nobody does. */
  get waited_since(): number | null {
    for (const { at } of this.behind?.values() ?? []) return at
    return null
  }

  /**
   * Its pong came: whoever waited for this mark, or an older one, need not any more. A peer may send pongs of its own
   * accord, with whatever in them (RFC 6455, 5.5.3); they say nothing of what came before.
   */
  reached(mark: number): void {
    if (!this.behind?.has(mark)) return
    for (const [older, { resolve }] of this.behind) {
      if (older > mark) break
      this.behind.delete(older)
      resolve(true)
    }
  }

  /** Nothing comes over it any more. */
  over(): void {
    for (const { resolve } of this.behind?.values() ?? []) resolve(false)
    this.behind = null
  }

  /** Tells what went wrong and leaves the link open. Answers the instance for the log. */
  fail(error: unknown, instance: string, id?: string | number): void {
    this.send({ ...toProblem(error, instance), type: 'error', ...(id === undefined ? {} : { id }) })
  }

  /** The peer may answer the close; one that does not is cut off by `ws` after its own timeout. */
  end(code: number, reason: string): void {
    if (this.socket.readyState === SOCKET.open) this.socket.close(code, reason)
    if (code === CLOSE.overloaded) this.socket.terminate()
  }
}
