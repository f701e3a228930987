/** Decisions that contradict each other: on the same matter, in the same place, and not the same. */
import { beginning } from '../../contracts/beginning.ts'
import type { Decision } from '../../contracts/decision.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { sameScope } from '../memory/scope.ts'

type Matter = Pick<Decision, 'domain' | 'scope' | 'summary' | 'supersedes'>

/** The active ones that a new decision may contradict, newest first. The one it takes the place of is none. */
export function conflictsWith(decisions: readonly Decision[], wanted: Matter): Decision[] {
  return contradictedBy(
    decisions.filter(({ status }) => status === 'active'),
    wanted,
  )
}

/** The same of decisions of any status. */
export function contradictedBy(decisions: readonly Decision[], wanted: Matter): Decision[] {
  return decisions.filter((one) => one.id !== wanted.supersedes && contradicts(one, wanted)).reverse()
}

/** Of these the ones of which nobody was told so far. */
export function untoldConflicts(decisions: readonly Decision[], decision: Decision): Decision[] {
  const tells = ({ conflicts = [] }: Decision, id: string) => conflicts.some((one) => one.decision_id === id)
  return conflictsWith(decisions, decision)
    .filter((other) => other.id !== decision.id && !tells(decision, other.id) && !tells(other, decision.id))
    .slice(0, LIMITS.conflicts_told_max)
}

function contradicts(one: Matter, other: Matter): boolean {
  return (
    one.domain === other.domain &&
    sameScope(one.scope, other.scope) &&
    one.summary.trim() !== other.summary.trim()
  )
}

/** What the entry says that tells people of it. */
export function conflictWarning(
  made: Pick<Decision, 'id' | 'scope' | 'summary' | 'rationale'>,
  other: Decision,
): { summary: string; detail: string } {
  const summary =
    `Potential conflict: Decision ${made.id} in scope ${made.scope} may conflict with ` +
    `existing decision ${other.id}`
  const line = ({ id, summary: said, rationale }: Pick<Decision, 'id' | 'summary' | 'rationale'>) =>
    `${id}: ${said}\nBecause: ${beginning(rationale, LIMITS.conflict_reason_length_max)}`
  return {
    summary,
    detail: `${summary}\n\nNew decision ${line(made)}\n\nExisting decision ${line(other)}\n\nA person settles it: \`decisions override\` takes one of them back.`,
  }
}
