/** The daemon's end of a real WebSocket. */
import { LIMITS } from '../contracts/limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { FrameSocket } from '../ports/frame-socket.ts'

/** Opens one; what goes wrong is told as the socket's `error`. */
export type Dial = (address: string, token: string) => FrameSocket

/**
 * Of the connections that wait at a socket one is accepted in each turn of the loop, and read in the next. The turn of the
 * ping counts for none: in which order a system names what is ready, nobody knows.
 */
const TURNS = LIMITS.socket_clients_max + 2

/**
 * Loaded with the first attempt, when the daemon already answers its own socket.
 *
 * A ping is answered once whatever had been written to this process before is read, also over connections that had not
 * been accepted yet: the hub asks by it for what a shim has said so far.
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
      afterTurns(clock, TURNS, () => {
        if (socket.readyState === WebSocket.OPEN) socket.pong(mark)
      }),
    )
    return socket
  }
}

function afterTurns(clock: Pick<Clock, 'soon'>, turns: number, call: () => void): void {
  if (turns === 0) return call()
  clock.soon(() => afterTurns(clock, turns - 1, call))
}
