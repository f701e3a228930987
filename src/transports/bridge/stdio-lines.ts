/**
 * MCP's stdio framing, one JSON-RPC message a line, that also tells when an answer has left this
 * process: only then may a drain be confirmed.
 */
import type { Readable, Writable } from 'node:stream'
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  serializeMessage,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  type Transport,
} from '@modelcontextprotocol/server'
import { wireJson } from '../../contracts/json.ts'
import { plainCallIn, type PlainCall } from '../mcp/plain-call.ts'

/** Only a result hands anything over: the SDK puts an error in the place of one that it finds no client would take. */
export type Answered = 'result' | 'error'

export interface StdioLines extends Transport {
  /** The answer to this request is in the client's pipe. */
  onwritten?: (request_id: string | number, how: Answered) => void
  /** A plain call of the client, before anybody else has it. True where it is taken. */
  onplain?: (call: PlainCall) => boolean
  /** Any other message of the client, before the SDK has it. */
  onreceived?: (message: JSONRPCMessage) => void
  /** The client is gone. The SDK keeps `onclose` for itself. */
  onended?: () => void
}

/** What waits to be written together. */
interface Batch {
  texts: string[]
  /** The requests that it answers. */
  answers: { request_id: string | number; how: Answered }[]
  written: Promise<void>
}

export function stdioLines(input: Readable, output: Writable): StdioLines {
  /** The beginning of a line whose end has not come yet. */
  let parts: string[] = []
  let length = 0
  let too_long = false
  let closed = false
  let batch: Batch | null = null

  const onData = (text: string) => {
    const [end = '', ...lines] = text.split('\n')
    keep(end)
    for (const begin of lines) {
      const line = parts.join('')
      const whole = !too_long
      parts = []
      length = 0
      too_long = false
      if (whole) onLine(line)
      keep(begin)
    }
  }

  /** What is too long is passed over: a client that pastes a book must not lose its tools. */
  function keep(part: string): void {
    length += part.length
    if (length <= STDIO_DEFAULT_MAX_BUFFER_SIZE) parts.push(part)
    else if (!too_long) {
      too_long = true
      transport.onerror?.(new Error('a message is longer than this transport takes; it is passed over'))
    }
  }

  function onLine(line: string): void {
    if (closed || line.trim() === '') return
    let message: JSONRPCMessage
    try {
      const parsed = wireJson(line)
      const plain = plainCallIn(parsed)
      if (plain !== null && transport.onplain?.(plain) === true) return
      message = parseJSONRPCMessage(parsed)
    } catch (error) {
      transport.onerror?.(error as Error)
      return
    }
    transport.onreceived?.(message)
    transport.onmessage?.(message)
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

  /** What is answered in one turn of the loop leaves in one write: writing costs more than many an answer. */
  function beginBatch(): Batch {
    const texts: string[] = []
    const answers: Batch['answers'] = []
    const written = new Promise<void>((resolve, reject) => {
      // After every promise that settles now.
      process.nextTick(() => {
        batch = null
        output.write(texts.join(''), (error) => {
          if (error) return reject(error)
          for (const { request_id, how } of answers) transport.onwritten?.(request_id, how)
          resolve()
        })
      })
    })
    return { texts, answers, written }
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
      const { texts, answers, written } = (batch ??= beginBatch())
      texts.push(serializeMessage(message))
      if (!('method' in message) && message.id !== undefined) {
        answers.push({ request_id: message.id, how: 'result' in message ? 'result' : 'error' })
      }
      return written
    },
    async close() {
      close()
    },
  }
  return transport
}
