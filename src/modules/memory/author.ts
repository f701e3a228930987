/** Under whose name something is remembered. */
import { ANONYMOUS_AGENT } from '../../contracts/ids.ts'
import type { MemoryCall } from './place.ts'

/** Who works here when nobody says who. */
const MAIN = 'main'
/** Who does what nobody asked for just now. */
export const TURNBELL = 'turnbell'

/** Whom the call names, else the agent that its context names, else the persona that calls. */
export function authorOf(call: MemoryCall, named?: string): string {
  const { agent_id } = call.context
  if (named !== undefined) return named
  if (agent_id !== ANONYMOUS_AGENT) return agent_id
  return call.caller.kind === 'operator' ? MAIN : call.caller.identity
}
