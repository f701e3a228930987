/**
 * The hub as a bridge in its own process calls it: a tool call is the kernel's at once, without a way through
 * the hub's door. Everything else is asked there, as by anybody.
 */
import type { Params, Result } from './upstream.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'

/** Who calls, as a token would say it, and how much of the hub it wants to see. */
export interface CallerHere {
  identity: Identity
  session_id: SessionId
  facets?: readonly string[] | undefined
  /** As the address of `/mcp` has it. */
  query: string
}

/** Null while no calls are taken: then the door says why. Never rejects; a refusal is an answer. */
export type CallHere = (caller: CallerHere, params: Params) => Promise<Result> | null
