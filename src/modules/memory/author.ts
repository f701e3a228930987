/** Author of a memory record. */
import { ANONYMOUS_AGENT } from '../../contracts/ids.ts'
import type { MemoryCall } from './memory-resolver.ts'
import { agentLabel } from '../lib/calling-agent.ts'

/** Author of records by the operator without a named agent. */
const MAIN = 'main'
/** Author of records that turnbell writes without a call. */
export const TURNBELL = 'turnbell'

/** Returns the named agent where the caller may use the label, otherwise the agent of the call's context, otherwise the persona. */
export function authorOf(call: MemoryCall, named?: string): string {
  const { agent_id } = call.context
  if (named !== undefined) return agentLabel(call.caller, named)
  if (agent_id !== ANONYMOUS_AGENT) return agentLabel(call.caller, agent_id)
  return call.caller.kind === 'operator' ? MAIN : call.caller.identity
}
