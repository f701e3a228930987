/**
 * What one POST is answered with: plain JSON, unless the server has something to say before the answer.
 * From then on it is a stream of events, which ends with the last answer.
 */
import type { ServerResponse } from 'node:http'
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { EVENT_STREAM_HEADERS, eventOf } from './event-stream.ts'
import { withExactIds } from './exact-ids.ts'
import type { Answer } from './messages.ts'

export interface ReplyOptions {
  headers: Record<string, string>
  /** The answers to a batch are a list, also where there is only one. */
  batch: boolean
  /** The client reads a stream of events. */
  streams: boolean
}

export interface Reply {
  /** What comes before an answer. False where nobody will read it. */
  say(message: JSONRPCMessage): boolean
  answer(message: JSONRPCMessage | Answer): void
  /** There will be no more. Without any answer the connection is closed. */
  end(): void
}

export function createReply(response: ServerResponse, { headers, batch, streams }: ReplyOptions): Reply {
  const answers: (JSONRPCMessage | Answer)[] = []
  let streaming = false

  const stream = () => {
    streaming = true
    response.writeHead(200, { ...headers, ...EVENT_STREAM_HEADERS })
    for (const message of answers) response.write(eventOf(message))
  }
  return {
    say(message) {
      if (!streams || response.destroyed) return false
      if (!streaming) stream()
      response.write(eventOf(message))
      return true
    },
    answer(message) {
      answers.push(message)
      if (streaming && !response.destroyed) response.write(eventOf(message))
    },
    end() {
      if (response.destroyed) return
      if (answers.length === 0) response.destroy()
      else if (streaming) response.end()
      else {
        const body = withExactIds(JSON.stringify(batch ? answers : answers[0]))
        response.writeHead(200, {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        })
        response.end(body)
      }
    },
  }
}
