/** Whether an answer left this process completely: what the lease of a drain stands on. */
import type { ServerResponse } from 'node:http'

/**
 * `written` once every byte of the answer was handed to the operating system, `broken` when the
 * connection closed before. Settles exactly once, also for a connection that is already gone.
 */
export function answeredBy(response: ServerResponse): Promise<'written' | 'broken'> {
  return new Promise((resolve) => {
    if (response.destroyed || response.socket?.destroyed === true) {
      resolve('broken')
      return
    }
    // `close` follows `finish` on a good answer; whichever comes first has the word.
    response.once('finish', () => resolve(response.socket?.destroyed === true ? 'broken' : 'written'))
    response.once('close', () => resolve('broken'))
  })
}
