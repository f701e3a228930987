/** A decision that somebody doubts, or has looked at again. What holds no more stays as it is. */
import { STANDING } from './change.ts'
import { untoldConflicts } from './conflicts.ts'
import { owing, type SecondLook, type Telling } from './telling.ts'
import type { Decision } from '../../contracts/decision.ts'
import type { Ids } from '../../ports/random.ts'

interface Looking {
  telling: Telling
  ids: Pick<Ids, 'next'>
  now: string
}

export function doubted(decision: Decision, words: SecondLook, { telling, now }: Looking): Decision {
  if (!STANDING.includes(decision.status)) return decision
  const { doubted_from = decision.status } = decision
  const in_doubt = { ...decision, status: 'provisional' as const, doubted_from, reconsidered_at: now }
  return owing(in_doubt, telling.doubted(decision, words))
}

/**
 * Active, whatever it is known to contradict: somebody has weighed that. Where there is something that it contradicts
 * and nobody was told of, as what was decided while it was in doubt, it waits for what becomes of that.
 */
export function looked(
  decision: Decision,
  all: readonly Decision[],
  words: SecondLook,
  { telling, ids, now }: Looking,
): Decision {
  if (decision.status !== 'provisional') return decision
  const { doubted_from: _, proposed: __, ...rest } = decision
  const weighed = rest.conflicts?.map((conflict) => ({ ...conflict, weighed: true }))
  const before = { ...rest, ...(weighed === undefined ? {} : { conflicts: weighed }), reconsidered_at: now }
  const looked_at = owing(before, telling.stands(decision, words))
  const untold = untoldConflicts(all, decision)
  if (untold.length === 0) return { ...looked_at, status: 'active' }
  const told = untold.map(({ id }) => ({ decision_id: id, warning_id: ids.next() }))
  const contested = { ...looked_at, conflicts: [...(weighed ?? []), ...told] }
  return owing(contested, ...telling.contested({ ...contested, conflicts: told }, untold))
}
