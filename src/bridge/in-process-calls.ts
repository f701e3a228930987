/**
 * Calls from a bridge to the hub in its own process: a tool call goes directly to the kernel. Other requests
 * use HTTP.
 */
import type { Params, Result } from './hub/answers.ts'
import type { Identity, SessionId } from '../contracts/ids.ts'

/** The caller as in a token, and the part of the hub that it may see. */
export interface InProcessCaller {
  identity: Identity
  session_id: SessionId
  facets?: readonly string[] | undefined
  /** The query of `/mcp`. */
  query: string
}

/**
 * Returns null while the hub accepts no calls; a request over HTTP then returns the reason. Never rejects; a
 * refusal is an answer.
 */
export type InProcessCall = (caller: InProcessCaller, params: Params) => Promise<Result> | null
