/** Sender of one MCP request, authenticated per request and not per MCP session. */
import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server'
import type { Budget } from '../../kernel/budget.ts'
import type { McpView } from '../../kernel/projections/project-mcp.ts'
import type { CallerContext } from '../../contracts/http.ts'
import type { Caller } from '../../contracts/token.ts'
import type { SentAnswer } from '../../ports/sent-answer.ts'

export interface McpPeer {
  caller: Caller
  /** Outcome of the answer to this request. */
  answer: SentAnswer
  /** Requested level of detail and bounds of the tool list. */
  view?: McpView
  /** Shared by the calls of a batch. */
  budget?: Budget
  /** Origin, from its headers. */
  context?: CallerContext
  /** Subscriptions of a 2025-era session; undefined without a session. */
  subscriptions?: Set<string>
}

/** The SDK passes AuthInfo through unchanged, so it contains the peer. It does not contain the token. */
export function authInfoOf(peer: McpPeer): AuthInfo {
  return { token: '', clientId: peer.caller.identity, scopes: [], extra: { peer } }
}

export function peerOf(context: ServerContext): McpPeer {
  const peer = context.http?.authInfo?.extra?.['peer']
  if (peer === undefined) throw new Error('MCP request without a peer')
  return peer as McpPeer
}
