/** Errors outside of tool calls, where MCP has no `isError`: JSON-RPC errors with the problem as data. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { TurnbellError, type Problem } from '../../contracts/errors/errors.ts'
import { parseJsonAs } from '../../contracts/validation/json.ts'

/** Issues of zod, as the SDK serializes them. */
const Issues = z
  .array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() }))
  .min(1)

const ISSUES_MAX = 5

/** Converts an error of the SDK. Internal errors of the SDK stay bugs. */
export function refusalOf({ code, message }: { code: number; message: string }): Error {
  const internal: number = ProtocolErrorCode.InternalError
  if (code === internal) return new Error(message)
  const hint = 'Send the message that the MCP specification defines, as JSON-RPC by POST to /mcp.'
  return new TurnbellError('request_invalid', { detail: message, hint })
}

/**
 * The SDK reports invalid params of a method as an internal error (-32603) with zod's issues as text. Converts it to an
 * error of the caller (-32602) with a readable message.
 */
export function blamed<E extends { code: number; message: string }>(error: E): E {
  const internal: number = ProtocolErrorCode.InternalError
  const issues = error.code === internal ? parseJsonAs(Issues, error.message) : null
  if (issues === null) return error
  const texts = issues.slice(0, ISSUES_MAX).map(({ path, message }) => `${path.join('.')}: ${message}`)
  return { ...error, code: ProtocolErrorCode.InvalidParams, message: `Invalid params: ${texts.join('; ')}` }
}

/** `more`: further data that the specification requires. */
export function protocolError(problem: Problem, more: object = {}): ProtocolError {
  const ours = problem.error_class === 'bug' || problem.error_class === 'dependency'
  const code = ours ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams
  return new ProtocolError(code, `${problem.title}: ${problem.detail} (${problem.code})`, {
    ...problem,
    ...more,
  })
}
