/** How a decision is kept: with what it owes, and never so large that whoever reads its file takes it for none. */
import type { Decision } from '../../contracts/decision.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { HeldCollection } from '../memory/collection.ts'

type Held = Pick<HeldCollection<Decision>, 'put'>

/** Throws `store_unavailable` for one that could not be told of for too long, and before anything of it is kept. */
export async function keep(held: Held, decision: Decision): Promise<void> {
  await held.put(fitting(decision))
}

/** The same of several, of which some may be refused; answers those that are kept. */
export async function keepEach(
  held: Held,
  decisions: readonly Decision[],
  onTrouble: (error: unknown) => void,
): Promise<Decision[]> {
  const kept: Decision[] = []
  for (const decision of decisions) {
    try {
      await keep(held, decision)
      kept.push(decision)
    } catch (error) {
      onTrouble(error)
    }
  }
  return kept
}

/** One that may be kept. Throws `store_unavailable`. */
export function fitting(decision: Decision): Decision {
  // Spread like this a file has as many bytes, or some blanks fewer.
  const bytes = Buffer.byteLength(JSON.stringify(decision, null, 2))
  if (bytes <= LIMITS.decision_file_bytes_max) return decision
  throw new TurnbellError('store_unavailable', {
    detail: `With what is still to be told of it the decision ${decision.id} would take ${bytes} bytes, and more than ${LIMITS.decision_file_bytes_max} are not kept.`,
    hint: '`blackboard status` says why nothing can be told; mend that, wait half a minute, then call again.',
  })
}
