/**
 * MCP's stdio framing, one JSON-RPC message per line. It also reports when an answer has left this process,
 * because only then may a drain be confirmed.
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
import { createBatches, type Batches } from './batches.ts'
import { createLineReader, createLineWriter, type TruncatedLine } from './line-framing.ts'
import { truncatedRequestId } from './truncated-request-id.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { withExactIds } from '../../transports/mcp/exact-ids.ts'
import {
  isInitialize,
  parseFastPathCall,
  readMessages,
  refuseBatch,
  RPC_CODES,
  whyNoBatch,
  type Answer,
  type ReadMessage,
  type ReadText,
  type RefusedMessage,
} from '../../transports/mcp/messages.ts'
import { fastPathCallIn, type FastPathCall } from '../../transports/mcp/fast-path-call.ts'

/**
 * The kind of an answer. Only a result delivers a drain: the SDK replaces results that no client would accept
 * by errors.
 */
export type AnswerKind = 'result' | 'error'

export interface StdioLinesOptions {
  /**
   * After the end of the input, earlier requests are answered for at most this time. Without it the end of
   * the input ends the connection.
   */
  linger?: { clock: Pick<Clock, 'after'>; within_ms: number }
}

/** Requests that get no answer while the client is connected. */
const WITHOUT_ANSWER: readonly string[] = ['subscriptions/listen']

interface WrittenAnswer {
  request_id: string | number
  how: AnswerKind
}

export class StdioLines implements Transport {
  /** The answer to this request is in the client's pipe, and earlier messages of the client were handled. */
  onwritten?: (request_id: string | number, how: AnswerKind) => void
  /** A simple tool call of the client, before the SDK sees it. Returns true if it was accepted. */
  onfastpath?: (call: FastPathCall) => boolean
  /** Any other message of the client, before the SDK sees it. */
  onreceived?: (message: JSONRPCMessage) => void
  /** Returns the answer to a request that no server sees. Without it a bare error is sent. */
  refusal?: (refused: RefusedMessage) => Answer
  /** The client sent an invalid message; `why` is one of a few texts. */
  oninvalid?: (why: string) => void
  /** The client is gone. The SDK uses `onclose` itself. */
  onended?: () => void
  /** Whether the client's input has ended; earlier requests are still answered. */
  half_closed = false
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>

  private readonly input: Readable
  private readonly output: Writable
  private readonly linger: StdioLinesOptions['linger']
  private closed = false
  /** The request that negotiates the revision, and the revision agreed on. */
  private initialize: RequestId | null = null
  private revision: string | null = null
  /** Requests without an answer. */
  private readonly open = new Set<RequestId>()
  private readonly write: (line: string, answers: readonly WrittenAnswer[]) => Promise<void>
  private readonly batches: Batches
  private readonly onData: (text: string) => void

  constructor(input: Readable, output: Writable, { linger }: StdioLinesOptions = {}) {
    this.input = input
    this.output = output
    this.linger = linger
    this.write = createLineWriter<WrittenAnswer>(output, (answers, resolve) => {
      for (const { request_id, how } of answers) this.onwritten?.(request_id, how)
      resolve()
      this.onAnswered(answers.map(({ request_id }) => request_id))
    })
    this.batches = createBatches((answers) =>
      this.write(
        `[${answers.map(({ text }) => text).join()}]`,
        answers.map(({ id, how }) => ({ request_id: id, how })),
      ),
    )
    this.onData = createLineReader({
      length_max: STDIO_DEFAULT_MAX_BUFFER_SIZE,
      onLine: (line) => this.onLine(line),
      onTooLong: () => this.oninvalid?.('message dropped: too long'),
      onTruncated: (line) => this.refuseTooLong(line),
    })
  }

  async start(): Promise<void> {
    const { input, output } = this
    const onError = (error: Error) => {
      this.onerror?.(error)
      this.end()
    }
    // A character may be split between two chunks; the decoder joins it.
    input.setEncoding('utf8')
    input.on('data', this.onData)
    input.on('end', () => this.onInputEnd())
    input.on('close', () => {
      if (!this.half_closed) this.end()
    })
    input.on('error', onError)
    output.on('error', onError)
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.closed) return Promise.reject(new Error('the client is gone'))
    const text = withExactIds(JSON.stringify(message))
    if ('method' in message || message.id === undefined) return this.write(text, [])
    const { id } = message
    const how: AnswerKind = 'result' in message ? 'result' : 'error'
    this.trackRevision(id, message)
    return this.batches.collect(id, { text, id, how }) ?? this.write(text, [{ request_id: id, how }])
  }

  async close(): Promise<void> {
    this.end()
  }

  private onLine(line: string): void {
    if (this.closed || line.trim() === '') return
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch (error) {
      this.refuseInvalidJson(error)
      return
    }
    let read: ReadText
    try {
      const call = parseFastPathCall(line, value)
      if (call !== null) this.open.add(call.id)
      if (call !== null && this.onfastpath?.(call) === true) return
      read = readMessages(line, value)
    } catch (error) {
      this.onerror?.(error as Error)
      return
    }
    if (read.is_batch) this.onBatch(read.messages)
    else for (const one of read.messages) this.handle(one)
  }

  private onBatch(messages: readonly ReadMessage[]): void {
    const why = whyNoBatch(messages, this.revision)
    if (why !== null) {
      for (const refused of refuseBatch(messages, why)) this.refuse(refused)
      return
    }
    const ids = messages.flatMap((read) => (read.kind === 'dropped' ? [] : (idOf(read) ?? [])))
    if (ids.length > 0) this.batches.begin(ids)
    for (const one of messages) this.handle(one)
  }

  private handle(read: ReadMessage): void {
    if (read.kind === 'dropped') {
      this.oninvalid?.(`message dropped: ${read.why}`)
      return
    }
    if (read.kind === 'refused') return this.refuse(read.refused)
    const { message } = read
    this.trackRequest(message)
    const call = fastPathCallIn(message)
    if (call !== null && this.onfastpath?.(call) === true) return
    if (isJSONRPCRequest(message) && isInitialize(message)) this.initialize = message.id
    this.onreceived?.(message)
    this.onmessage?.(message)
    // A cancelled request gets no answer.
    if ('method' in message && message.method === 'notifications/cancelled')
      this.batches.drop(message.params?.['requestId'] as RequestId)
  }

  private refuse(refused: RefusedMessage): void {
    const { id, code, error } = refused
    if (id !== null) this.open.add(id)
    const answer = this.refusal?.(refused) ?? {
      jsonrpc: '2.0',
      id,
      error: { code, message: error.detail },
    }
    this.send(answer as JSONRPCMessage).catch((error: unknown) => this.onerror?.(error as Error))
  }

  private refuseTooLong({ begin, end }: TruncatedLine): void {
    const id = this.closed ? null : truncatedRequestId(begin, end)
    if (id === null) return
    const detail = `The message is longer than ${STDIO_DEFAULT_MAX_BUFFER_SIZE} characters.`
    const error = new TurnbellError('body_too_large', { detail, hint: 'Send a shorter message.' })
    this.refuse({ id, code: RPC_CODES.invalid_request, error, is_tool_call: false })
  }

  /** Its sender may wait for an answer, but the id cannot be read. */
  private refuseInvalidJson(cause: unknown): void {
    this.oninvalid?.('line dropped: not valid JSON')
    const detail = 'The line is not valid JSON.'
    const hint = 'Send one JSON-RPC 2.0 message on each line.'
    const error = new TurnbellError('request_invalid', { detail, hint, cause })
    this.refuse({ id: null, code: RPC_CODES.parse_error, error, is_tool_call: false })
  }

  private trackRequest(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message && !WITHOUT_ANSWER.includes(message.method)) this.open.add(message.id)
    if (message.method === 'notifications/cancelled') this.onAnswered([message.params?.['requestId']])
  }

  private onAnswered(request_ids: readonly unknown[]): void {
    for (const id of request_ids) this.open.delete(id as RequestId)
    if (this.half_closed && this.open.size === 0) this.end()
  }

  /** Records the revision from the server's answer to `initialize`. */
  private trackRevision(id: RequestId, message: JSONRPCMessage): void {
    if (id !== this.initialize || !('result' in message)) return
    this.initialize = null
    const agreed = message.result['protocolVersion']
    this.revision = typeof agreed === 'string' ? agreed : null
  }

  private onInputEnd(): void {
    const { linger } = this
    if (linger === undefined) return this.end()
    // The last line may end without a line break.
    this.onData('\n')
    if (this.open.size === 0) return this.end()
    this.half_closed = true
    linger.clock.after(linger.within_ms, () => this.end())
  }

  private end(): void {
    if (this.closed) return
    this.closed = true
    this.input.off('data', this.onData)
    this.input.pause()
    this.onclose?.()
    this.onended?.()
  }
}

function idOf(read: Exclude<ReadMessage, { kind: 'dropped' }>): RequestId | null {
  if (read.kind === 'refused') return read.refused.id
  return isJSONRPCRequest(read.message) ? read.message.id : null
}
