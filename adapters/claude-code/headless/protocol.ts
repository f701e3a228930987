/**
 * What `claude -p` with JSON lines in both directions says and is told: only what is read or written here.
 * Observed with version 2.1.329.
 */
import * as z from 'zod'
import { NOBODY_PERMITS } from '../../surface-words.ts'
import type { Permissions } from '../../../src/contracts/config.ts'

/** What a line may be; any other kind is passed over. */
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

/** One prompt of the user. */
export function userLine(content: string): object {
  return { type: 'user', message: { role: 'user', content } }
}

/** Tools whose permission is an answer that only a person can give. */
const NEEDS_A_PERSON = new Set(['AskUserQuestion', 'ExitPlanMode'])

/**
 * The answer to what the client asks its host, null for a line that asks nothing. It asks for leave to use
 * a tool only where it was told that somebody answers, but another version may ask unasked; a rule of the
 * person's settings that denies stands above this.
 */
export function answerTo({ type, request_id, request }: StreamLine, permissions: Permissions): object | null {
  if (type !== 'control_request' || request_id === undefined || request === undefined) return null
  if (request.subtype !== 'can_use_tool') {
    const error = `nobody here answers ${request.subtype}`
    return { type: 'control_response', response: { subtype: 'error', request_id, error } }
  }
  return {
    type: 'control_response',
    response: { subtype: 'success', request_id, response: leaveFor(request, permissions) },
  }
}

function leaveFor({ tool_name = '', input = {} }: Request, permissions: Permissions): object {
  if (NEEDS_A_PERSON.has(tool_name))
    return { behavior: 'deny', message: 'No person is at this session; decide by yourself, and go on.' }
  return permissions === 'allow'
    ? { behavior: 'allow', updatedInput: input }
    : { behavior: 'deny', message: NOBODY_PERMITS }
}
