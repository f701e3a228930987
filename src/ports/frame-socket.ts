/**
 * The part of a WebSocket that hub and daemon use: text frames in order, until either end or the network closes
 * it. A `WebSocket` of the package `ws` implements it.
 */
export interface FrameSocket {
  /** The states of the WebSocket API: 0 connecting, 1 open, 2 closing, 3 closed. */
  readonly readyState: number
  /** Bytes queued in this process. */
  readonly bufferedAmount: number
  /** Sends text. `done` is called when the text has left this process, or with an error. */
  send(text: string, done?: (error?: Error | null) => void): void
  /** Sends a ping. Its `pong` with the same data arrives after everything that the peer sent before it. */
  ping(data?: string): void
  /** Starts the closing handshake; `close` is emitted when the peer has answered. */
  close(code?: number, reason?: string): void
  /** Ends the connection without a closing handshake. */
  terminate(): void
  /** Stops reading until `resume`; buffered messages may still be emitted. Absent if the socket does not read ahead. */
  pause?(): void
  resume?(): void
  on(event: 'open', listener: (this: FrameSocket) => void): unknown
  on(event: 'ping' | 'pong', listener: (this: FrameSocket, data: Buffer) => void): unknown
  on(event: 'message', listener: (this: FrameSocket, data: FrameData, is_binary: boolean) => void): unknown
  on(event: 'error', listener: (this: FrameSocket, error: Error) => void): unknown
  /** The server rejected the upgrade with this HTTP status. */
  on(
    event: 'unexpected-response',
    listener: (this: FrameSocket, request: unknown, response: HttpRejection) => void,
  ): unknown
  on(event: 'close', listener: (this: FrameSocket, code: number, reason: Buffer) => void): unknown
  once(event: 'close', listener: (this: FrameSocket) => void): unknown
}

export function textOf(data: FrameData): string {
  return (data as Buffer).toString('utf8')
}

export const SOCKET = { open: 1, closed: 3 } as const

/** A Buffer by default; depends on `binaryType`. */
export type FrameData = Buffer | ArrayBuffer | Buffer[]

interface HttpRejection {
  statusCode?: number | undefined
}
