/** Who a call is for: whom it names, else who really calls. */
import { ANONYMOUS_AGENT } from '../contracts/ids.ts'
import type { Caller } from '../contracts/token.ts'

export function agentOf(call: { caller: Pick<Caller, 'identity'>; context: { agent_id: string } }): string {
  return call.context.agent_id === ANONYMOUS_AGENT ? call.caller.identity : call.context.agent_id
}
