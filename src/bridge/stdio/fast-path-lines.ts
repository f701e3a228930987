/**
 * Answers simple tool calls on stdio without the SDK's server. A call is accepted once the SDK has handled
 * one on this connection with the same revision and envelope, because both sides have then agreed on
 * everything that a call depends on.
 */
import {
  SERVER_INFO_META_KEY,
  type CallToolResult,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server'
import type { ToolCall } from '../tool-call.ts'
import { createEnvelopes, type Envelopes } from '../../transports/mcp/envelopes.ts'
import type { FastPathCall } from '../../transports/mcp/fast-path-call.ts'
import { serverInfo } from '../../transports/mcp/server-info.ts'

export interface FastPathLinesDeps {
  version: string
  /** Rejects with the error for the client. */
  call: (request_id: RequestId, call: ToolCall) => Promise<CallToolResult>
  asError: (error: unknown) => { code: number; message: string; data?: unknown }
  send: (message: JSONRPCMessage) => Promise<void>
  /** Called when an answer could not be sent. */
  onFailed: (error: unknown) => void
}

export interface FastPathLines {
  /** The SDK created a server for this revision; earlier agreements no longer apply. */
  onServerCreated(era: 'legacy' | 'modern'): void
  /** The SDK handled a tool call, with this envelope if it had one. */
  onSdkCall(envelope: unknown): void
  /** Returns false if the SDK must handle the call. */
  accept(call: FastPathCall): boolean
  /** Returns the tool's result in the form of the revision. */
  inEra(result: CallToolResult): CallToolResult
  /** The client cancelled a request. */
  cancelled(id: unknown): void
  /** The client is gone; its calls are aborted. */
  close(): void
}

/** A running call. Its AbortSignal is only created on access, because most calls are never cancelled. */
class RunningCall implements ToolCall {
  readonly name: string
  readonly args: Record<string, unknown>
  readonly meta: Record<string, unknown>
  private cancelled = false
  private controller: AbortController | null = null

  constructor({ name, args = {}, meta = {} }: FastPathCall) {
    this.name = name
    this.args = args
    this.meta = meta
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    if (this.cancelled) this.controller.abort()
    return this.controller.signal
  }

  abort(): void {
    this.cancelled = true
    this.controller?.abort()
  }
}

export function createFastPathLines(deps: FastPathLinesDeps): FastPathLines {
  let modern = false
  let envelopes: Envelopes = createEnvelopes()
  let legacy_agreed = false
  const running = new Map<RequestId, RunningCall>()
  const server_info = { [SERVER_INFO_META_KEY]: serverInfo(deps.version) }

  const isAgreed = (call: FastPathCall) =>
    call.modern === modern && (modern ? envelopes.accepts(call.meta, () => false) : legacy_agreed)

  function answer({ id, modern }: FastPathCall, call: RunningCall): void {
    const send = (message: () => JSONRPCMessage): void => {
      // The call was cancelled.
      if (running.get(id) !== call) return
      running.delete(id)
      deps.send(message()).catch(deps.onFailed)
    }
    deps
      .call(id, call)
      .then(
        (result) => send(() => ({ result: inEra(result, modern), jsonrpc: '2.0', id })),
        (error: unknown) => send(() => ({ jsonrpc: '2.0', id, error: deps.asError(error) })),
      )
      .catch(deps.onFailed)
  }

  /** Adds the fields of the modern revision that the hub's result does not contain. */
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
    onServerCreated(era) {
      modern = era === 'modern'
      envelopes = createEnvelopes()
      legacy_agreed = false
    },
    onSdkCall(envelope) {
      if (modern) envelopes.accepts(envelope as Record<string, unknown> | undefined, () => true)
      else if (envelope === undefined) legacy_agreed = true
    },
    accept(call) {
      if (!isAgreed(call) || running.has(call.id)) return false
      const started = new RunningCall(call)
      running.set(call.id, started)
      answer(call, started)
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
