/**
 * The two local sockets as their users see them: JSON-RPC 2.0 in both directions, one message a line.
 * `system/rpc-peer.ts` speaks it over a stream, `system/local-socket.ts` over an owner-only socket.
 */
import type { Json } from '../contracts/ids.ts'

export type RpcParams = { [key: string]: Json }

export interface RpcPeer {
  /**
   * Asks the other side. Rejects with a `TurnbellError`: what the other refused under the code it gave,
   * `timed_out` without an answer in time, `daemon_unreachable` when the connection ends first.
   */
  request(method: string, params: RpcParams, timeout_ms: number): Promise<Json>
  /** Writes what is queued, then ends the connection. Calling it twice is fine. */
  close(): void
}

export interface RpcHandlers {
  /**
   * Called in the order of arrival. A `TurnbellError` that is thrown becomes the error answer, with the
   * problem object as its data; anything else becomes `internal` and goes to `onBug`.
   */
  onRequest(method: string, params: RpcParams): Json | Promise<Json>
  /** Once, whatever ended the connection; never after a call of the peer's own `close`. */
  onClose(): void
  /** A handler broke: for the log. `instance` is what the other side was told. */
  onBug?(error: unknown, instance: string): void
}

export interface RpcListener {
  /** Whether its socket can still be found: false once somebody has removed or replaced it. */
  isThere(): boolean
  /** Ends every connection after its queued answers and takes the socket away. */
  close(): Promise<void>
}

export interface LocalSockets {
  /**
   * Listens for peers of this user on a socket of mode 0600 in a directory of mode 0700. At most
   * `LIMITS.socket_clients_max` at a time; one more is told `limit_reached` and let go.
   *
   * @throws `home_not_permitted` for an unsafe directory, `bind_failed` otherwise.
   */
  listen(
    at: { directory: string; path: string },
    onPeer: (peer: RpcPeer) => RpcHandlers,
  ): Promise<RpcListener>
}
