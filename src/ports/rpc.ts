/**
 * JSON-RPC 2.0 over the two local sockets, in both directions, one message per line. Implemented by
 * `system/ipc/json-rpc-peer.ts` over a stream and `system/ipc/unix-socket.ts` over an owner-only socket.
 */
import type { Json } from '../contracts/ids.ts'

export type RpcParams = { [key: string]: Json }

export interface RpcPeer {
  /**
   * Sends a request to the peer. Rejects with a `TurnbellError`: the peer's error with its code, `timed_out` without a
   * response in time, or `daemon_unreachable` if the connection ends first.
   */
  request(method: string, params: RpcParams, timeout_ms: number): Promise<Json>
  /** Writes queued messages, then ends the connection. May be called twice. */
  close(): void
}

export interface RpcHandlers {
  /**
   * Called in the order of arrival. A thrown `TurnbellError` becomes the error response with the problem object as its data;
   * any other error becomes `internal` and is passed to `onBug`.
   */
  onRequest(method: string, params: RpcParams): Json | Promise<Json>
  /** Called once when the connection ends for any reason except a call of this peer's `close`. */
  onClose(): void
  /** Called when a handler throws an unexpected error. `instance` is the id in the error response. */
  onBug?(error: unknown, instance: string): void
}

export interface RpcListener {
  /** Returns whether the socket's path still refers to it; false if the file was removed or replaced. */
  isThere(): boolean
  /** Accepts no more connections and removes the socket; open connections stay open. May be called twice. */
  stopAccepting(): void
  /** Ends every connection after its queued responses and removes the socket. */
  close(): Promise<void>
}

export interface LocalSockets {
  /**
   * Listens for peers of this user on a socket of mode 0600 in a directory of mode 0700. At most
   * `LIMITS.socket_clients_max` at a time; another one gets `limit_reached` and is disconnected.
   *
   * @throws `home_not_permitted` for an unsafe directory, `bind_failed` otherwise.
   */
  listen(
    at: { directory: string; path: string },
    onPeer: (peer: RpcPeer) => RpcHandlers,
  ): Promise<RpcListener>
}
