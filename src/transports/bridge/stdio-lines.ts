/**
 * MCP's stdio framing, one JSON-RPC message a line, that also tells when an answer has left this
 * process: only then may a drain be confirmed.
 */
import type { Readable, Writable } from 'node:stream'
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  type Transport,
} from '@modelcontextprotocol/server'

export interface StdioLines extends Transport {
  /** The answer to this request is in the client's pipe. */
  onwritten?: (request_id: string | number) => void
  /** A message of the client, before the SDK has it. */
  onreceived?: (message: JSONRPCMessage) => void
  /** The client is gone. The SDK keeps `onclose` for itself. */
  onended?: () => void
}

export function stdioLines(input: Readable, output: Writable): StdioLines {
  let rest = ''
  let closed = false

  const onData = (chunk: Buffer | string) => {
    rest += chunk.toString()
    const lines = rest.split('\n')
    rest = lines.pop() as string
    if (rest.length > STDIO_DEFAULT_MAX_BUFFER_SIZE) {
      transport.onerror?.(new Error('a message is longer than this transport takes'))
      return close()
    }
    for (const line of lines) {
      if (line.trim() === '') continue
      let message: JSONRPCMessage
      try {
        message = deserializeMessage(line)
      } catch (error) {
        transport.onerror?.(error as Error)
        continue
      }
      transport.onreceived?.(message)
      transport.onmessage?.(message)
    }
  }
  const onEnd = () => close()
  const onError = (error: Error) => {
    transport.onerror?.(error)
    close()
  }

  function close(): void {
    if (closed) return
    closed = true
    input.off('data', onData)
    input.pause()
    transport.onclose?.()
    transport.onended?.()
  }

  const transport: StdioLines = {
    async start() {
      // A character may be cut between two chunks; the decoder puts it together again.
      input.setEncoding('utf8')
      input.on('data', onData)
      input.on('end', onEnd)
      input.on('close', onEnd)
      input.on('error', onError)
      output.on('error', onError)
    },
    send(message) {
      if (closed) return Promise.reject(new Error('the client is gone'))
      return new Promise((resolve, reject) => {
        output.write(serializeMessage(message), (error) => {
          if (error) return reject(error)
          if (!('method' in message) && message.id !== undefined) transport.onwritten?.(message.id)
          resolve()
        })
      })
    },
    async close() {
      close()
    },
  }
  return transport
}
