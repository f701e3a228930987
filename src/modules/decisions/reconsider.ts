/** Flags a decision for reconsideration, and confirms it afterwards. Decisions that are not in force do not change. */
import { IN_FORCE } from './change.ts'
import { unreportedConflicts } from './conflicts.ts'
import { withOutbox, type DecisionEntries, type ReconsiderNote } from './decision-entries.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import type { Ids } from '../../ports/random.ts'

interface ReconsiderContext {
  decision_entries: DecisionEntries
  ids: Pick<Ids, 'next'>
  now: string
}

export function flag(
  decision: Decision,
  note: ReconsiderNote,
  { decision_entries, now }: ReconsiderContext,
): Decision {
  if (!IN_FORCE.includes(decision.status)) return decision
  const { doubted_from = decision.status } = decision
  const flagged = { ...decision, status: 'provisional' as const, doubted_from, reconsidered_at: now }
  return withOutbox(flagged, decision_entries.flagged(decision, note))
}

/**
 * Makes the decision active again, with its reported conflicts marked as weighed. Where there are conflicts that were not
 * reported, such as with a decision made while it was flagged, it stays provisional until they are resolved.
 */
export function confirm(
  decision: Decision,
  all: readonly Decision[],
  note: ReconsiderNote,
  { decision_entries, ids, now }: ReconsiderContext,
): Decision {
  if (decision.status !== 'provisional') return decision
  const { doubted_from: _, proposed: __, ...rest } = decision
  const weighed = rest.conflicts?.map((conflict) => ({ ...conflict, weighed: true }))
  const before = { ...rest, ...(weighed === undefined ? {} : { conflicts: weighed }), reconsidered_at: now }
  const confirmed = withOutbox(before, decision_entries.confirmed(decision, note))
  const unreported = unreportedConflicts(all, decision)
  if (unreported.length === 0) return { ...confirmed, status: 'active' }
  const conflicts = unreported.map(({ id }) => ({ decision_id: id, warning_id: ids.next() }))
  const contested = { ...confirmed, conflicts: [...(weighed ?? []), ...conflicts] }
  return withOutbox(contested, ...decision_entries.contested({ ...contested, conflicts }, unreported))
}
