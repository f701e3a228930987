/** Whether an answer left this process completely: what the lease of a drain stands on. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What waits behind other answers on its connection: one listener a connection, however many requests come together. */
const behind = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls `closed` once the response is closed, by itself or with its connection. One that waits behind another has no
 * socket yet, and Node tells it nothing when the connection goes.
 */
export function whenClosed(response: ServerResponse, closed: () => void): void {
  const { socket } = response.req
  let waiting: Set<() => void> | undefined
  const over = () => {
    response.off('close', over)
    waiting?.delete(over)
    closed()
  }
  response.on('close', over)
  if (response.socket !== null) return
  waiting = behind.get(socket)
  if (waiting === undefined) {
    const all = new Set<() => void>()
    behind.set(socket, (waiting = all))
    socket.once('close', () => {
      for (const one of [...all]) one()
    })
  }
  waiting.add(over)
}

/**
 * `written` once every byte of the answer was handed to the operating system, `broken` when the
 * connection closed before. Settles exactly once, also for a connection that is already gone.
 */
export function answeredBy(response: ServerResponse): Promise<'written' | 'broken'> {
  return new Promise((resolve) => {
    // Kept here: the response lets go of its socket when it finishes, and has none before its turn.
    const socket = response.socket ?? response.req.socket
    if (response.destroyed || response.writableFinished || socket.destroyed) {
      resolve('broken')
      return
    }
    // Node says `finish` also when the last write failed, just before it destroys the socket; only the
    // socket's own state tells the two apart. Without a finish, `close` has the word. Each comes only once.
    response.on('finish', () => resolve(socket.errored === null && !socket.destroyed ? 'written' : 'broken'))
    whenClosed(response, () => resolve('broken'))
  })
}
