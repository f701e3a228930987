/**
 * The inbox socket of a Claude Code session: newline-delimited JSON, an auth line and then the message.
 *
 * A message from a child process of the session is accepted in every permission mode, wakes an idle session within
 * half a second and does not disturb a half-typed draft. Messages are never acknowledged. A text equal to an
 * earlier one is dropped without an error, so every doorbell's text is unique. Source:
 * code.claude.com/docs/en/cross-session-messaging; wire format as observed with version 2.1.329.
 */
import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { DeliveryPath } from '../../src/ports/delivery-path.ts'

export interface InboxOptions {
  /** CLAUDE_CODE_MESSAGING_SOCKET; absent in clients that are too old. */
  socket: string | undefined
  /** CLAUDE_CODE_MESSAGING_TOKEN. */
  token: string | undefined
  clock: Pick<Clock, 'after'>
  log: Log
}

export function sessionInbox({ socket, token, clock, log }: InboxOptions): DeliveryPath {
  /** The connection of the last text. The client closes it after reading everything. */
  let last: net.Socket | null = null
  return {
    name: 'inbox',
    unread: () => last !== null,
    post(content) {
      if (socket === undefined) return Promise.resolve('unavailable')
      const lines = [
        ...(token === undefined ? [] : [{ type: 'auth', token }]),
        { type: 'user', msgV: 1, msg_id: randomUUID(), priority: 'next', message: { role: 'user', content } },
      ]
      return new Promise((resolve) => {
        const connection = net.connect(socket)
        let connected = false
        const timeout = clock.after(LIMITS.inbox_answer_ms, () => {
          connection.destroy()
          resolve('failed')
        })
        connection.once('close', () => {
          timeout.cancel()
          if (last === connection) last = null
        })
        connection.once('connect', () => {
          connected = true
          // A suspended client never closes its connection; at most one such connection is kept.
          last?.destroy()
          last = connection
          connection.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), () => {
            timeout.cancel()
            resolve('sent')
          })
        })
        connection.on('error', (error) => {
          log.warn({ err: error }, 'inbox write failed')
          resolve(connected ? 'failed' : 'unavailable')
        })
        connection.resume()
      })
    },
  }
}
