/** A refusal outside of a tool call, where MCP knows no `isError`: a JSON-RPC error with the problem as its data. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Problem } from '../../contracts/errors.ts'

export function protocolError(problem: Problem): ProtocolError {
  const ours = problem.error_class === 'bug' || problem.error_class === 'dependency'
  const code = ours ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams
  return new ProtocolError(code, `${problem.title}: ${problem.detail} (${problem.code})`, problem)
}
