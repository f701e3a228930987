/** Instructions for a bridge's client: its identity and its teammates, as the hub knows them. */
import * as z from 'zod'
import { instructionsWith } from '../transports/mcp/instructions.ts'
import type { Upstream } from './hub/upstream.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { Identity } from '../contracts/ids.ts'
import { PRIMER_LIMITS } from '../contracts/limits/primer.ts'
import type { Clock } from '../ports/clock.ts'

const Answer = z.object({ structuredContent: z.object({ who: z.string() }) })

/**
 * Requests the instructions at each handshake. If the hub does not respond within `primer_answer_ms`, the
 * text contains only the persona's name, so that the client is not delayed. For an unknown persona the text
 * contains the refusal.
 */
export function ownInstructions(deps: {
  identity: Identity
  upstream: Pick<Upstream, 'request'>
  clock: Pick<Clock, 'after'>
}): () => Promise<string> {
  const { identity, upstream, clock } = deps
  const wait_ms = PRIMER_LIMITS.primer_answer_ms
  return async () => {
    const late = new Promise<null>((resolve) => clock.after(wait_ms, () => resolve(null)))
    const params = { name: 'context', arguments: { action: 'primer', params: {} } }
    const request = upstream.request('tools/call', params, { repeatable: true, wait_ms, answer_ms: wait_ms })
    const outcome = await Promise.race([request.catch((error: unknown) => error), late])
    const answer = Answer.safeParse(outcome)
    if (answer.success) return instructionsWith(answer.data.structuredContent.who)
    if (outcome instanceof TurnbellError && outcome.code === 'target_unknown')
      return `turnbell cannot be used in this session. ${outcome.detail}\n${outcome.hint}`
    return instructionsWith(`You are ${identity}, an agent in a team (turnbell).`)
  }
}
