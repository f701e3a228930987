/** A persona's queue as an MCP resource, which can be read without a drain and subscribed to. */
import type { McpPeer } from './peer.ts'
import { protocolError } from './protocol-error.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import type { CallerContext } from '../../contracts/http.ts'
import { Identity, type Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Caller } from '../../contracts/token.ts'

export const PENDING_TEMPLATE = {
  uriTemplate: 'turnbell://signals/{identity}/pending',
  name: 'pending signals',
  description: 'Pending signals of a persona. Reading does not drain them.',
  mimeType: 'application/json',
}

export function pendingUri(identity: string): string {
  return `turnbell://signals/${identity}/pending`
}

/** Returns the persona of a uri, or null. */
export function personaOf(uri: string): string | null {
  const named = /^turnbell:\/\/signals\/([^/]+)\/pending$/.exec(uri)?.[1]
  return named !== undefined && Identity.safeParse(named).success ? named : null
}

/** Returns whether the caller may read the queue: a persona its own, the operator all. */
export function maySee(caller: Caller, uri: string): boolean {
  const identity = personaOf(uri)
  return identity !== null && (caller.kind === 'operator' || caller.identity === identity)
}

export async function listResources(
  kernel: Kernel,
  peer: McpPeer,
  context: CallerContext,
): Promise<object[]> {
  const identities =
    peer.caller.kind === 'operator' ? await everyPersona(kernel, peer, context) : [peer.caller.identity]
  return identities.map((identity) => ({
    uri: pendingUri(identity),
    name: `pending signals of ${identity}`,
    mimeType: 'application/json',
  }))
}

/** Returns the signals that a drain of the agent would return; for other callers, the pending signals of the inbox. */
export async function readResource(
  kernel: Kernel,
  peer: McpPeer,
  context: CallerContext,
  uri: string,
): Promise<{ uri: string; mimeType: string; text: string }[]> {
  const asAgent = peer.caller.kind === 'agent'
  const result = await dispatched(kernel, peer, context, 'signals', asAgent ? 'pending' : 'inbox', {
    limit: LIMITS.drain_limit_max,
    ...(asAgent ? { peek: true } : { to: personaOf(uri), status: ['pending'] }),
  })
  return [{ uri, mimeType: 'application/json', text: JSON.stringify(result) }]
}

async function everyPersona(kernel: Kernel, peer: McpPeer, context: CallerContext): Promise<string[]> {
  const listed = (await dispatched(kernel, peer, context, 'personas', 'list', {})) as {
    personas: { identity: string }[]
  }
  return listed.personas.map(({ identity }) => identity)
}

async function dispatched(
  kernel: Kernel,
  peer: McpPeer,
  context: CallerContext,
  facade: string,
  action: string,
  params: object,
): Promise<Json> {
  const outcome = await kernel.dispatch({
    facade,
    action,
    params,
    context,
    caller: peer.caller,
    narrowing: peer.view?.narrowing,
    answer: peer.answer,
    for_model: true,
    budget: peer.budget,
  })
  if (!outcome.ok) throw protocolError(outcome.problem)
  return outcome.result
}
