/** Who stands behind one MCP request. Told per request by whoever authenticated it, never by the MCP session. */
import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server'
import type { McpView } from '../../kernel/project-mcp.ts'
import type { CallerContext } from '../../contracts/http.ts'
import type { Caller } from '../../contracts/token.ts'

export interface McpPeer {
  caller: Caller
  /** How the answer to this request fared. */
  answered: Promise<'written' | 'broken'>
  /** How much of the tools it asked to see. */
  view?: McpView
  /** Where its headers say that it comes from. */
  context?: CallerContext
  /** Where a client of the 2025 era keeps its subscriptions; undefined where it has no session. */
  subscriptions?: Set<string>
}

/** The SDK hands an AuthInfo through unread, so the peer travels in it. The token itself stays outside. */
export function authInfoOf(peer: McpPeer): AuthInfo {
  return { token: '', clientId: peer.caller.identity, scopes: [], extra: { peer } }
}

export function peerOf(context: ServerContext): McpPeer {
  const peer = context.http?.authInfo?.extra?.['peer']
  if (peer === undefined) throw new Error('an MCP request without a peer')
  return peer as McpPeer
}
