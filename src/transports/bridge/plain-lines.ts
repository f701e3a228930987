/**
 * Plain tool calls of a client on stdio, answered past the SDK's server. Taken once the SDK has handed over
 * such a call of this connection, in the same era and with the same envelope: then the two have agreed on
 * everything that a call depends on.
 */
import {
  SERVER_INFO_META_KEY,
  type CallToolResult,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server'
import type { ToolCall } from './tool-calls.ts'
import { createEnvelopes, type Envelopes } from '../mcp/envelopes.ts'
import type { PlainCall } from '../mcp/plain-call.ts'
import { serverInfo } from '../mcp/server-info.ts'

export interface PlainLinesNeeds {
  version: string
  /** Rejects with what the client is to be told, or with anything where it gave the call up. */
  call: (request_id: RequestId, call: ToolCall) => Promise<CallToolResult>
  asError: (error: unknown) => { code: number; message: string; data?: unknown }
  send: (message: JSONRPCMessage) => Promise<void>
  /** An answer could not be sent. */
  onFailed: (error: unknown) => void
}

export interface PlainLines {
  /** The SDK made a server for this era: what was agreed before counts no more. */
  served(era: 'legacy' | 'modern'): void
  /** The SDK handed a tool call over, with this envelope where it had one. */
  agreed(envelope: unknown): void
  /** False where the SDK must judge it. */
  take(call: PlainCall): boolean
  /** A tool's result in the form of the era. */
  inEra(result: CallToolResult): CallToolResult
  /** The client gives a request up. */
  cancelled(id: unknown): void
  /** The client is gone: so are its calls. */
  close(): void
}

/** A call under way. Its signal is made only for who asks: most calls are answered before anybody could give them up. */
class Running implements ToolCall {
  readonly name: string
  readonly args: Record<string, unknown>
  readonly meta: Record<string, unknown>
  private given_up = false
  private controller: AbortController | null = null

  constructor({ name, args = {}, meta = {} }: PlainCall) {
    this.name = name
    this.args = args
    this.meta = meta
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    if (this.given_up) this.controller.abort()
    return this.controller.signal
  }

  abort(): void {
    this.given_up = true
    this.controller?.abort()
  }
}

export function createPlainLines(needs: PlainLinesNeeds): PlainLines {
  let modern = false
  let envelopes: Envelopes = createEnvelopes()
  let past = false
  const running = new Map<RequestId, Running>()
  const server_info = { [SERVER_INFO_META_KEY]: serverInfo(needs.version) }

  const isAgreed = (call: PlainCall) =>
    call.modern === modern && (modern ? envelopes.accepts(call.meta, () => false) : past)

  function answer({ id, modern }: PlainCall, call: Running): void {
    const send = (message: () => JSONRPCMessage): void => {
      // Given up: nobody reads it.
      if (running.get(id) !== call) return
      running.delete(id)
      needs.send(message()).catch(needs.onFailed)
    }
    needs
      .call(id, call)
      .then(
        (result) => send(() => ({ result: inEra(result, modern), jsonrpc: '2.0', id })),
        (error: unknown) => send(() => ({ jsonrpc: '2.0', id, error: needs.asError(error) })),
      )
      .catch(needs.onFailed)
  }

  /** As the era wants it, where the hub has not said so itself. */
  function inEra(result: CallToolResult, is_modern: boolean): CallToolResult {
    if (!is_modern) return result
    const { _meta } = result
    return {
      resultType: 'complete',
      ...result,
      _meta: _meta === undefined ? server_info : { ...server_info, ..._meta },
    }
  }

  return {
    served(era) {
      modern = era === 'modern'
      envelopes = createEnvelopes()
      past = false
    },
    agreed(envelope) {
      if (modern) envelopes.accepts(envelope as Record<string, unknown> | undefined, () => true)
      else if (envelope === undefined) past = true
    },
    take(call) {
      if (!isAgreed(call) || running.has(call.id)) return false
      const begun = new Running(call)
      running.set(call.id, begun)
      answer(call, begun)
      return true
    },
    inEra: (result) => inEra(result, modern),
    cancelled(id) {
      running.get(id as RequestId)?.abort()
      running.delete(id as RequestId)
    },
    close() {
      for (const call of running.values()) call.abort()
      running.clear()
    },
  }
}
