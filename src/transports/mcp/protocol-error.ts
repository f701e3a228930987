/** A refusal outside of a tool call, where MCP knows no `isError`: a JSON-RPC error with the problem as its data. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { TurnbellError, type Problem } from '../../contracts/errors.ts'
import { jsonAs } from '../../contracts/json.ts'

/** What zod finds, as the SDK writes it. */
const Issues = z
  .array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() }))
  .min(1)

const ISSUES_MAX = 5

/** What the SDK refused without us, as the error it would have been. Its own bugs stay bugs. */
export function refusalOf({ code, message }: { code: number; message: string }): Error {
  const internal: number = ProtocolErrorCode.InternalError
  if (code === internal) return new Error(message)
  const hint = 'Send what the MCP specification asks for here, as JSON-RPC by POST to /mcp.'
  return new TurnbellError('request_invalid', { detail: message, hint })
}

/**
 * The SDK tells a request whose params have another form than the method's as a failure of its own (-32603), with what
 * zod found as its text. It is the caller's: -32602, in words.
 */
export function blamed<E extends { code: number; message: string }>(error: E): E {
  const internal: number = ProtocolErrorCode.InternalError
  const issues = error.code === internal ? jsonAs(Issues, error.message) : null
  if (issues === null) return error
  const said = issues.slice(0, ISSUES_MAX).map(({ path, message }) => `${path.join('.')}: ${message}`)
  return { ...error, code: ProtocolErrorCode.InvalidParams, message: `Invalid params: ${said.join('; ')}` }
}

/** `more` is what the specification wants to be said beside it. */
export function protocolError(problem: Problem, more: object = {}): ProtocolError {
  const ours = problem.error_class === 'bug' || problem.error_class === 'dependency'
  const code = ours ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams
  return new ProtocolError(code, `${problem.title}: ${problem.detail} (${problem.code})`, {
    ...problem,
    ...more,
  })
}
