/**
 * The inbox socket of a Claude Code session: newline-delimited JSON, an auth line and then the message.
 *
 * A message from a child of the session is taken in every permission mode, wakes an idle session within
 * half a second and leaves a half-typed draft alone. What is written is never acknowledged, and a text
 * equal to an earlier one is dropped in silence, which is why every doorbell's text is unique. Source:
 * code.claude.com/docs/en/cross-session-messaging, the wire format as observed with version 2.1.329.
 */
import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Way } from '../../src/ports/way.ts'

export interface InboxOptions {
  /** CLAUDE_CODE_MESSAGING_SOCKET; absent in a client too old to have one. */
  socket: string | undefined
  /** CLAUDE_CODE_MESSAGING_TOKEN. */
  token: string | undefined
  clock: Pick<Clock, 'after'>
  log: Log
}

export function sessionInbox({ socket, token, clock, log }: InboxOptions): Way {
  /** The connection of the last text. The client closes it once it has read everything. */
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
          // A client that stands still never closes it; at most one such connection is kept.
          last?.destroy()
          last = connection
          connection.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), () => {
            timeout.cancel()
            resolve('sent')
          })
        })
        connection.on('error', (error) => {
          log.warn({ err: error }, 'the inbox took no bell')
          resolve(connected ? 'failed' : 'unavailable')
        })
        connection.resume()
      })
    },
  }
}
