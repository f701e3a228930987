/**
 * MCP's stdio framing, one JSON-RPC message a line, that also tells when an answer has left this
 * process: only then may a drain be confirmed.
 */
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '../../ports/clock.ts'
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  type Transport,
} from '@modelcontextprotocol/server'
import { createBatches } from './batches.ts'
import { idAtAnEnd } from './id-at-an-end.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { withExactIds } from '../mcp/exact-ids.ts'
import {
  isInitialize,
  plainCallOf,
  readMessages,
  refuseBatch,
  RPC_CODES,
  whyNoBatch,
  type Answer,
  type ReadMessage,
  type ReadText,
  type RefusedMessage,
} from '../mcp/messages.ts'
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
  /** The answer to a request that no server sees. Without it the answer is a bare error. */
  refusal?: (refused: RefusedMessage) => Answer
  /** Something of the client is no message that could be served; `why` is one of a few texts. */
  onpassedover?: (why: string) => void
  /** The client is gone. The SDK keeps `onclose` for itself. */
  onended?: () => void
  /** The client's input has ended; what it asked before is still answered. */
  readonly half_closed: boolean
}

export interface StdioLinesOptions {
  /**
   * After the end of the input, answers what was asked before, for at most this time. Without it the end of the input is
   * the end of the client.
   */
  linger?: { clock: Pick<Clock, 'after'>; within_ms: number }
}

/** Requests that have no answer while the client is there. */
const LASTING: readonly string[] = ['subscriptions/listen']

/** What waits to be written together. */
interface Write {
  texts: string[]
  /** The requests that it answers. */
  answers: { request_id: string | number; how: Answered }[]
  written: Promise<void>
}

/** Enough of a line that is too long to find its id at either end. */
const END_LENGTH = 1_024

export function stdioLines(
  input: Readable,
  output: Writable,
  { linger }: StdioLinesOptions = {},
): StdioLines {
  /** The beginning of a line whose end has not come yet. */
  let parts: string[] = []
  let length = 0
  let too_long: { begin: string; end: string } | null = null
  let closed = false
  let write: Write | null = null
  /** The request that negotiates the revision, and what was agreed on. */
  let initialize: RequestId | null = null
  let revision: string | null = null
  const batches = createBatches((answers) => {
    const line = `[${answers.map(({ text }) => text).join()}]`
    return put(
      line,
      answers.map(({ id, how }) => ({ request_id: id, how })),
    )
  })
  let half_closed = false
  /** Requests without an answer. */
  const open = new Set<RequestId>()

  const onData = (text: string) => {
    const [end = '', ...lines] = text.split('\n')
    keep(end)
    for (const begin of lines) {
      const line = parts.join('')
      const passed_over = too_long
      parts = []
      length = 0
      too_long = null
      if (passed_over === null) onLine(line)
      else refuseTooLong(passed_over)
      keep(begin)
    }
  }

  /** A line that is too long is not kept: a client that pastes a book must not lose its tools. */
  function keep(part: string): void {
    length += part.length
    if (length <= STDIO_DEFAULT_MAX_BUFFER_SIZE) parts.push(part)
    else if (too_long === null) {
      const whole = parts.join('') + part
      too_long = { begin: whole.slice(0, END_LENGTH), end: whole.slice(-END_LENGTH) }
      parts = []
      transport.onpassedover?.('a message was longer than this transport takes')
    } else too_long.end = (too_long.end + part.slice(-END_LENGTH)).slice(-END_LENGTH)
  }

  function refuseTooLong({ begin, end }: { begin: string; end: string }): void {
    const id = closed ? null : idAtAnEnd(begin, end)
    if (id === null) return
    const detail = `The message is longer than ${STDIO_DEFAULT_MAX_BUFFER_SIZE} characters.`
    const error = new TurnbellError('body_too_large', { detail, hint: 'Send less in one message.' })
    refuse({ id, code: RPC_CODES.invalid_request, error, is_tool_call: false })
  }

  function onLine(line: string): void {
    if (closed || line.trim() === '') return
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch (error) {
      refuseUnreadable(error)
      return
    }
    let read: ReadText
    try {
      const plain = plainCallOf(line, value)
      if (plain !== null) open.add(plain.id)
      if (plain !== null && transport.onplain?.(plain) === true) return
      read = readMessages(line, value)
    } catch (error) {
      transport.onerror?.(error as Error)
      return
    }
    if (read.is_batch) onBatch(read.messages)
    else for (const one of read.messages) take(one)
  }

  /** Whoever wrote it may wait for an answer; no id can be read out of it. */
  function refuseUnreadable(cause: unknown): void {
    transport.onpassedover?.('a line was not JSON')
    const detail = 'The line is not valid JSON.'
    const hint = 'Send one JSON-RPC 2.0 message on each line.'
    const error = new TurnbellError('request_invalid', { detail, hint, cause })
    refuse({ id: null, code: RPC_CODES.parse_error, error, is_tool_call: false })
  }

  function onBatch(messages: readonly ReadMessage[]): void {
    const why = whyNoBatch(messages, revision)
    if (why !== null) {
      for (const refused of refuseBatch(messages, why)) refuse(refused)
      return
    }
    const ids = messages.flatMap((read) => (read.kind === 'dropped' ? [] : (idOf(read) ?? [])))
    if (ids.length > 0) batches.begin(ids)
    for (const one of messages) take(one)
  }

  function take(read: ReadMessage): void {
    if (read.kind === 'dropped') {
      transport.onpassedover?.(`a message was dropped: ${read.why}`)
      return
    }
    if (read.kind === 'refused') return refuse(read.refused)
    const { message } = read
    noteRequest(message)
    const plain = plainCallIn(message)
    if (plain !== null && transport.onplain?.(plain) === true) return
    if (isJSONRPCRequest(message) && isInitialize(message)) initialize = message.id
    transport.onreceived?.(message)
    transport.onmessage?.(message)
    // A request that its client gives up has no answer.
    if ('method' in message && message.method === 'notifications/cancelled')
      batches.drop(message.params?.['requestId'] as RequestId)
  }

  function refuse(refused: RefusedMessage): void {
    const { id, code, error } = refused
    if (id !== null) open.add(id)
    const answer = transport.refusal?.(refused) ?? {
      ...{ jsonrpc: '2.0', id },
      error: { code, message: error.detail },
    }
    transport.send(answer as JSONRPCMessage).catch((error: unknown) => transport.onerror?.(error as Error))
  }

  function noteRequest(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message && !LASTING.includes(message.method)) open.add(message.id)
    if (message.method === 'notifications/cancelled') answered([message.params?.['requestId']])
  }

  function answered(request_ids: readonly unknown[]): void {
    for (const id of request_ids) open.delete(id as RequestId)
    if (half_closed && open.size === 0) close()
  }

  function onInputEnd(): void {
    if (linger === undefined) return close()
    // A last line needs no line break.
    onData('\n')
    if (open.size === 0) return close()
    half_closed = true
    linger.clock.after(linger.within_ms, close)
  }

  const onEnd = () => {
    if (!half_closed) close()
  }
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
  function beginWrite(): Write {
    const texts: string[] = []
    const answers: Write['answers'] = []
    const written = new Promise<void>((resolve, reject) => {
      // After every promise that settles now.
      process.nextTick(() => {
        write = null
        output.write(texts.join(''), (error) => {
          if (error) return reject(error)
          for (const { request_id, how } of answers) transport.onwritten?.(request_id, how)
          resolve()
          answered(answers.map(({ request_id }) => request_id))
        })
      })
    })
    return { texts, answers, written }
  }

  function put(line: string, answered: Write['answers']): Promise<void> {
    const { texts, answers, written } = (write ??= beginWrite())
    texts.push(`${line}\n`)
    answers.push(...answered)
    return written
  }

  /** The revision that the server answers initialize with is the one both sides go by. */
  function noteRevision(id: RequestId, message: JSONRPCMessage): void {
    if (id !== initialize || !('result' in message)) return
    initialize = null
    const agreed = message.result['protocolVersion']
    revision = typeof agreed === 'string' ? agreed : null
  }

  const transport: StdioLines = {
    get half_closed() {
      return half_closed
    },
    async start() {
      // A character may be cut between two chunks; the decoder puts it together again.
      input.setEncoding('utf8')
      input.on('data', onData)
      input.on('end', onInputEnd)
      input.on('close', onEnd)
      input.on('error', onError)
      output.on('error', onError)
    },
    send(message) {
      if (closed) return Promise.reject(new Error('the client is gone'))
      const text = withExactIds(JSON.stringify(message))
      if ('method' in message || message.id === undefined) return put(text, [])
      const { id } = message
      const how: Answered = 'result' in message ? 'result' : 'error'
      noteRevision(id, message)
      return batches.keep(id, { text, id, how }) ?? put(text, [{ request_id: id, how }])
    },
    async close() {
      close()
    },
  }
  return transport
}

function idOf(read: Exclude<ReadMessage, { kind: 'dropped' }>): RequestId | null {
  if (read.kind === 'refused') return read.refused.id
  return isJSONRPCRequest(read.message) ? read.message.id : null
}
