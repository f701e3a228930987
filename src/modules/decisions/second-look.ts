/** A decision that somebody doubts, or has looked at again. What holds no more stays as it is. */
import { STANDING } from './change.ts'
import { untoldConflicts } from './conflicts.ts'
import type { Decision } from '../../contracts/decision.ts'
import type { Ids } from '../../ports/random.ts'

export function doubted(decision: Decision, now: string): Decision {
  if (!STANDING.includes(decision.status)) return decision
  return { ...decision, status: 'provisional', reconsidered_at: now }
}

/**
 * Active, whatever it is known to contradict: somebody has weighed that. Where there is something that it contradicts
 * and nobody was told of, as what was decided while it was in doubt, that comes first.
 */
export function looked(
  decision: Decision,
  all: readonly Decision[],
  now: string,
  ids: Pick<Ids, 'next'>,
): Decision {
  if (decision.status !== 'provisional') return decision
  const untold = untoldConflicts(all, decision)
  if (untold.length === 0) return { ...decision, status: 'active', reconsidered_at: now }
  const told = untold.map(({ id }) => ({ decision_id: id, warning_id: ids.next() }))
  return { ...decision, reconsidered_at: now, conflicts: [...(decision.conflicts ?? []), ...told] }
}
