/** Opens the daemon's WebSocket to the hub. */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { FrameSocket } from '../../ports/frame-socket.ts'
import { afterTicks } from '../../ports/pause.ts'

/** Opens a connection; failures are reported as the socket's `error` event. */
export type Dial = (address: string, token: string) => FrameSocket

/**
 * Number of event loop ticks to wait before a pong. Each tick accepts one of the connections that wait at a
 * socket and reads it in the next. The tick of the ping itself does not count, because the order in which the
 * system reports ready sockets is undefined.
 */
const TICKS = LIMITS.socket_clients_max + 2

/**
 * Imports `ws` at the first attempt, when the daemon's own sockets are already listening.
 *
 * A pong is sent only after everything written to this process before the ping has been read, including data
 * on connections not yet accepted: the hub uses the ping to wait for what a shim has reported so far.
 */
export async function webSocketDial(clock: Pick<Clock, 'soon'>): Promise<Dial> {
  const { WebSocket } = await import('ws')
  return (address, token) => {
    const socket = new WebSocket(address, {
      autoPong: false,
      perMessageDeflate: false,
      maxPayload: LIMITS.frame_bytes_max,
      handshakeTimeout: LIMITS.hello_timeout_ms,
      headers: { authorization: `Bearer ${token}` },
    })
    socket.on('ping', (mark: Buffer) =>
      afterTicks(clock, TICKS, () => {
        if (socket.readyState === WebSocket.OPEN) socket.pong(mark)
      }),
    )
    return socket
  }
}
