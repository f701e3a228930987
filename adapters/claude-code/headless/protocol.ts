/** The used part of the `claude -p` stream-json protocol in both directions. Observed with version 2.1.329. */
import * as z from 'zod'
import { PERMISSION_DENIED_TEXT } from '../../surface-results.ts'
import type { Permissions } from '../../../src/contracts/config.ts'

/** A line from the client. Lines of other types are ignored. */
export const StreamLine = z.object({
  type: z.string(),
  subtype: z.string().optional(),
  session_id: z.string().optional(),
  request_id: z.string().optional(),
  request: z
    .object({
      subtype: z.string(),
      tool_name: z.string().optional(),
      input: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
})
export type StreamLine = z.infer<typeof StreamLine>
type Request = NonNullable<StreamLine['request']>

/** Returns a line that carries one prompt of the user. */
export function userLine(content: string): object {
  return { type: 'user', message: { role: 'user', content } }
}

/** Tools whose permission request is a question to a person. */
const NEEDS_USER = new Set(['AskUserQuestion', 'ExitPlanMode'])

/**
 * Returns the reply to a control request of the client, null for any other line. The client requests permissions
 * only if `--permission-prompt-tool` was passed, but other versions may differ. A deny rule in the person's
 * settings takes precedence.
 */
export function replyTo({ type, request_id, request }: StreamLine, permissions: Permissions): object | null {
  if (type !== 'control_request' || request_id === undefined || request === undefined) return null
  if (request.subtype !== 'can_use_tool') {
    const error = `${request.subtype} is not supported`
    return { type: 'control_response', response: { subtype: 'error', request_id, error } }
  }
  return {
    type: 'control_response',
    response: { subtype: 'success', request_id, response: permissionFor(request, permissions) },
  }
}

function permissionFor({ tool_name = '', input = {} }: Request, permissions: Permissions): object {
  if (NEEDS_USER.has(tool_name))
    return { behavior: 'deny', message: 'No person attends this session. Decide yourself and continue.' }
  return permissions === 'allow'
    ? { behavior: 'allow', updatedInput: input }
    : { behavior: 'deny', message: PERMISSION_DENIED_TEXT }
}
