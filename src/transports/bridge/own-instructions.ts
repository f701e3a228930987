/** The instructions of a bridge's client: who it is and who its teammates are, as the hub knows it. */
import * as z from 'zod'
import { instructionsWith } from '../mcp/instructions.ts'
import type { Upstream } from './upstream.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { PRIMER_LIMITS } from '../../contracts/primer-limits.ts'
import type { Clock } from '../../ports/clock.ts'

const Answer = z.object({ structuredContent: z.object({ who: z.string() }) })

/**
 * Requested anew at each handshake. A hub that does not answer within `primer_answer_ms` must not delay the client: then
 * only the name of the persona is in front of the usual text. For an unknown persona the text says so.
 */
export function ownInstructions(needs: {
  identity: Identity
  upstream: Pick<Upstream, 'request'>
  clock: Pick<Clock, 'after'>
}): () => Promise<string> {
  const { identity, upstream, clock } = needs
  const wait_ms = PRIMER_LIMITS.primer_answer_ms
  return async () => {
    const late = new Promise<null>((resolve) => clock.after(wait_ms, () => resolve(null)))
    const params = { name: 'context', arguments: { action: 'primer', params: {} } }
    const asked = upstream.request('tools/call', params, { repeatable: true, wait_ms, answer_ms: wait_ms })
    const answered = await Promise.race([asked.catch((error: unknown) => error), late])
    const answer = Answer.safeParse(answered)
    if (answer.success) return instructionsWith(answer.data.structuredContent.who)
    if (answered instanceof TurnbellError && answered.code === 'target_unknown')
      return `turnbell cannot be used in this session. ${answered.detail}\n${answered.hint}`
    return instructionsWith(`You are ${identity}, an agent in a team (turnbell).`)
  }
}
