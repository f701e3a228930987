/** The reason why the agent that a daemon keeps has no session, from the end of the daemon's log. */
import * as z from 'zod'
import { SESSION_NOT_OPENED, SESSION_OPENED, SHIM_STARTED } from '../../contracts/clients/agent-log.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { parseJsonAs } from '../../contracts/validation/json.ts'
import { printableLine } from '../render.ts'
import { tail } from '../service/logs.ts'

const Entry = z.object({ msg: z.string() })
/** A line of the shim within the daemon's log. */
const ShimOutput = z.object({ line: z.string() })

/** Returns null if the current shim's agent has opened a session, or has not failed to. */
export function agentFailure(log: string): string | null {
  for (const line of lastLines(log).toReversed()) {
    if (parseJsonAs(Entry, line)?.msg === SHIM_STARTED) return null
    const said = parseJsonAs(Entry, parseJsonAs(ShimOutput, line)?.line ?? null)?.msg
    if (said === SESSION_OPENED) return null
    // The reason may contain text of the agent.
    if (said?.startsWith(`${SESSION_NOT_OPENED}: `) === true)
      return printableLine(said.slice(SESSION_NOT_OPENED.length + 2))
  }
  return null
}

function lastLines(log: string): string[] {
  try {
    return tail(log, LIMITS.doctor_log_lines_max)
  } catch {
    // Without a readable log, the finding is reported without a reason.
    return []
  }
}
