/**
 * Answers plain tool calls over HTTP without the SDK's server, if the headers match the message and the tool only returns
 * a result. Adds the same fields to the result as the SDK.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  type CallToolResult,
} from '@modelcontextprotocol/server'
import type { Cancellations } from './cancellations.ts'
import { withExactIds } from './exact-ids.ts'
import type { McpExtension } from './extension.ts'
import type { McpPeer } from './peer.ts'
import { REVISION, type FastPathCall } from './fast-path-call.ts'
import { protocolError } from './protocol-error.ts'
import { serverInfo } from './server-info.ts'
import { callTool, type ToolCallNeeds } from './tool-call.ts'
import type { HubApi } from '../hub-api.ts'
import { whenClosed } from '../http/answered.ts'
import { problemOf } from '../http/problems.ts'

export interface PlainCallsNeeds extends Omit<ToolCallNeeds, 'ids'> {
  version: string
  extension: Pick<McpExtension, 'tools'>
  cancellations: Cancellations
  api: Pick<HubApi, 'ids' | 'log'>
}

export interface PlainCalls {
  /** Returns null if the SDK must handle the request. */
  find(request: IncomingMessage, call: FastPathCall | null): FastPathCall | null
  /** Returns a tool's result in the format of the era. */
  inEra(result: CallToolResult, is_modern: boolean): CallToolResult
  /** Resolves when the response has ended. `session_id`: the session that may cancel the call. */
  answer(
    call: FastPathCall,
    peer: McpPeer,
    response: ServerResponse,
    session_id: string | undefined,
  ): Promise<void>
  /** Resolves once running calls are answered. */
  close(): Promise<void>
}

export function createPlainCalls(needs: PlainCallsNeeds): PlainCalls {
  const { kernel, projection, extension, cancellations, api } = needs
  const tools: ToolCallNeeds = { kernel, projection, ids: api.ids }
  const server_info = { [SERVER_INFO_META_KEY]: serverInfo(needs.version) }
  let running = 0
  let idle: (() => void) | null = null

  function resultOf(call: FastPathCall, peer: McpPeer): Promise<CallToolResult> {
    const added = extension.tools.get(call.name)
    if (added?.talks !== false) return callTool(tools, peer, call)
    return new Promise((resolve) => resolve(added.call(call.args ?? {})))
  }

  function complete(result: CallToolResult): CallToolResult {
    const { _meta } = result
    return {
      resultType: 'complete',
      ...result,
      _meta: _meta === undefined ? server_info : { ..._meta, ...server_info },
    }
  }

  return {
    inEra: (result, is_modern) => (is_modern ? complete(result) : result),
    find({ headers }, call) {
      if (call === null || extension.tools.get(call.name)?.talks === true) return null
      const version = headers['mcp-protocol-version']
      if (!call.modern) {
        return version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version as string) ? call : null
      }
      const named = headers['mcp-name']
      // A name that starts with the sentinel is encoded.
      const fits =
        version === REVISION &&
        headers['mcp-method'] === 'tools/call' &&
        named === call.name &&
        !named.startsWith('=?')
      return fits ? call : null
    },

    async answer(call, peer, response, session_id) {
      running++
      whenClosed(response, () => {
        running--
        if (running === 0) idle?.()
      })
      // By the specification, a cancelled request should get no response, and a POST without an end helps no client.
      const settle =
        session_id === undefined ? null : cancellations.offer(session_id, call.id, () => response.destroy())
      const message = await resultOf(call, peer).then(
        (result) => ({ result: call.modern ? complete(result) : result, jsonrpc: '2.0', id: call.id }),
        (error: unknown) => {
          const { code, message, data } = protocolError(problemOf(error, api, '/mcp'))
          return { jsonrpc: '2.0', id: call.id, error: { code, message, data } }
        },
      )
      settle?.()
      if (response.destroyed) return
      // A text body is sent together with the head, in one write.
      const body = withExactIds(JSON.stringify(message))
      const head = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      response.writeHead(200, session_id === undefined ? head : { ...head, 'mcp-session-id': session_id })
      response.end(body)
    },

    async close() {
      if (running > 0) await new Promise<void>((resolve) => (idle = resolve))
    },
  }
}
