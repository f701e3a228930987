/**
 * One end of a WebSocket, as much of it as hub and daemon use: text frames in order, until either end or the
 * network closes it. A `WebSocket` of the package `ws` is one.
 */
export interface FrameSocket {
  /** The states of the WebSocket API: 0 connecting, 1 open, 2 closing, 3 closed. */
  readonly readyState: number
  /** Bytes that were sent and have not left this process. */
  readonly bufferedAmount: number
  /** `done` comes once the text has left this process, or with the error that kept it. */
  send(text: string, done?: (error?: Error | null) => void): void
  /** Asks for a `pong` that says the same, behind everything that the other end has sent before it heard of this. */
  ping(data?: string): void
  /** Begins to close; `close` is told once the other end has agreed. */
  close(code?: number, reason?: string): void
  /** Ends it without a word. */
  terminate(): void
  on(event: 'open', listener: (this: FrameSocket) => void): unknown
  on(event: 'ping' | 'pong', listener: (this: FrameSocket, data: Buffer) => void): unknown
  on(event: 'message', listener: (this: FrameSocket, data: FrameData, is_binary: boolean) => void): unknown
  on(event: 'error', listener: (this: FrameSocket, error: Error) => void): unknown
  /** The other end answered with this HTTP status instead of opening it. */
  on(
    event: 'unexpected-response',
    listener: (this: FrameSocket, request: unknown, response: Refusal) => void,
  ): unknown
  on(event: 'close', listener: (this: FrameSocket, code: number, reason: Buffer) => void): unknown
  once(event: 'close', listener: (this: FrameSocket) => void): unknown
}

export function textOf(data: FrameData): string {
  return (data as Buffer).toString('utf8')
}

export const SOCKET = { open: 1, closed: 3 } as const

/** A Buffer, unless `binaryType` says otherwise. */
export type FrameData = Buffer | ArrayBuffer | Buffer[]

interface Refusal {
  statusCode?: number | undefined
}
