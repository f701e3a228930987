/**
 * Response to one POST: plain JSON, or a stream of events if the server sends a message before the answer. The stream ends
 * with the last answer.
 */
import type { ServerResponse } from 'node:http'
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { EVENT_STREAM_HEADERS, eventOf } from './event-stream.ts'
import { withExactIds } from './exact-ids.ts'
import type { Answer } from './messages.ts'

export interface ReplyOptions {
  headers: Record<string, string>
  /** The answers to a batch are a list, even if there is only one. */
  batch: boolean
  /** The client accepts a stream of events. */
  streams: boolean
}

export interface Reply {
  /** Sends a message before the answer. Returns false if the client cannot receive it. */
  notify(message: JSONRPCMessage): boolean
  answer(message: JSONRPCMessage | Answer): void
  /** Ends the response after the last answer. Without an answer, the connection is closed. */
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
    notify(message) {
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
