/** A refusal outside of a tool call, where MCP knows no `isError`: a JSON-RPC error with the problem as its data. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { TurnbellError, type Problem } from '../../contracts/errors.ts'

/** What the SDK refused without us, as the error it would have been. Its own bugs stay bugs. */
export function refusalOf({ code, message }: { code: number; message: string }): Error {
  const internal: number = ProtocolErrorCode.InternalError
  if (code === internal) return new Error(message)
  const hint = 'Send what the MCP specification asks for here, as JSON-RPC by POST to /mcp.'
  return new TurnbellError('request_invalid', { detail: message, hint })
}

export function protocolError(problem: Problem): ProtocolError {
  const ours = problem.error_class === 'bug' || problem.error_class === 'dependency'
  const code = ours ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams
  return new ProtocolError(code, `${problem.title}: ${problem.detail} (${problem.code})`, problem)
}
