/** Stores decisions with their outbox, within the size that readers of the file accept. */
import type { Decision } from '../../contracts/memory/decision.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { HeldTypedRecords } from '../lib/typed-records.ts'

type Held = Pick<HeldTypedRecords<Decision>, 'put'>

/** Throws `store_unavailable` and stores nothing where the outbox has grown too large. */
export async function saveDecision(held: Held, decision: Decision): Promise<void> {
  await held.put(checkSize(decision))
}

/** Stores several decisions, of which some may be rejected; returns those that were stored. */
export async function saveEach(
  held: Held,
  decisions: readonly Decision[],
  onError: (error: unknown) => void,
): Promise<Decision[]> {
  const saved: Decision[] = []
  for (const decision of decisions) {
    try {
      await saveDecision(held, decision)
      saved.push(decision)
    } catch (error) {
      onError(error)
    }
  }
  return saved
}

/** Returns the decision. Throws `store_unavailable` where its file would be too large. */
export function checkSize(decision: Decision): Decision {
  // The store writes the same indentation, or less.
  const bytes = Buffer.byteLength(JSON.stringify(decision, null, 2))
  if (bytes <= LIMITS.decision_file_bytes_max) return decision
  throw new TurnbellError('store_unavailable', {
    detail: `Decision ${decision.id} would have ${bytes} bytes with its undelivered entries; a decision file has at most ${LIMITS.decision_file_bytes_max}.`,
    hint: 'See `blackboard status` for why entries cannot be delivered, fix that, and call again after 30 seconds.',
  })
}
