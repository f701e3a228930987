/** Whether an answer left this process completely: what the lease of a drain stands on. */
import type { ServerResponse } from 'node:http'

/**
 * `written` once every byte of the answer was handed to the operating system, `broken` when the
 * connection closed before. Settles exactly once, also for a connection that is already gone.
 */
export function answeredBy(response: ServerResponse): Promise<'written' | 'broken'> {
  return new Promise((resolve) => {
    // Kept here: the response lets go of its socket when it finishes.
    const { socket } = response
    if (response.destroyed || socket === null || socket.destroyed) {
      resolve('broken')
      return
    }
    // Node says `finish` also when the last write failed, just before it destroys the socket; only the
    // socket's own state tells the two apart. Without a finish, `close` has the word. Each comes only once.
    response.on('finish', () => resolve(socket.errored === null && !socket.destroyed ? 'written' : 'broken'))
    response.on('close', () => resolve('broken'))
  })
}
