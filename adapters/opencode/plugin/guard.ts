/**
 * Keeps a subagent from its agent's signals. Over MCP opencode does not tell from which session a call
 * comes, but it asks its plugins before.
 */
import { isPersons } from '../session-tracker.ts'
import type { OpencodeServer } from '../server.ts'
import { asksForQueue } from '../../../src/contracts/drain.ts'
import { ERRORS } from '../../../src/contracts/error-catalogue.ts'
import type { Log } from '../../../src/ports/log.ts'

/** opencode puts the server's name before its tools'. */
const PREFIX = 'turnbell_'

export interface ComingCall {
  tool: string
  sessionID: string
}

/** Rejects with what the subagent is to read. A doubt lets the call pass: it may be the agent's own. */
export async function guardDrain(
  { tool, sessionID, args }: ComingCall & { args: unknown },
  { server, directory, log }: { server: OpencodeServer; directory: string; log: Log },
): Promise<void> {
  if (!tool.startsWith(PREFIX) || !asksForQueue(tool.slice(PREFIX.length), args)) return
  const session = await server.session({ id: sessionID, directory }).catch((error: unknown) => {
    log.warn({ err: error, session_id: sessionID }, 'it is not known whose session drains')
    return null
  })
  if (session === null || isPersons(session)) return
  const { title, hint } = ERRORS.subagent_forbidden
  throw new Error(`${title}. ${hint}`)
}
