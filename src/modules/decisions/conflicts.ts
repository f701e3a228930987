/** Conflicts: decisions of the same domain and scope with different summaries. */
import { truncate } from '../../contracts/text/truncate.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { sameScope } from '../memory/scope.ts'

type Subject = Pick<Decision, 'domain' | 'scope' | 'summary' | 'supersedes'>

/** Active decisions that a new one may contradict, newest first, without the one it supersedes. */
export function conflictsWith(decisions: readonly Decision[], subject: Subject): Decision[] {
  return contradictedBy(
    decisions.filter(({ status }) => status === 'active'),
    subject,
  )
}

/** The same for decisions of any status. */
export function contradictedBy(decisions: readonly Decision[], subject: Subject): Decision[] {
  return decisions.filter((one) => one.id !== subject.supersedes && contradicts(one, subject)).reverse()
}

/** Those of these conflicts that neither decision names in its `conflicts`. */
export function unreportedConflicts(decisions: readonly Decision[], decision: Decision): Decision[] {
  const mentions = ({ conflicts = [] }: Decision, id: string) =>
    conflicts.some((one) => one.decision_id === id)
  return conflictsWith(decisions, decision)
    .filter(
      (other) => other.id !== decision.id && !mentions(decision, other.id) && !mentions(other, decision.id),
    )
    .slice(0, LIMITS.conflict_warnings_max)
}

function contradicts(one: Subject, other: Subject): boolean {
  return (
    one.domain === other.domain &&
    sameScope(one.scope, other.scope) &&
    one.summary.trim() !== other.summary.trim()
  )
}

/** Text of the blackboard warning about a conflict. */
export function conflictWarning(
  made: Pick<Decision, 'id' | 'scope' | 'summary' | 'rationale'>,
  other: Decision,
): { summary: string; detail: string } {
  const summary =
    `Potential conflict: Decision ${made.id} in scope ${made.scope} may conflict with ` +
    `existing decision ${other.id}`
  const line = ({ id, summary: text, rationale }: Pick<Decision, 'id' | 'summary' | 'rationale'>) =>
    `${id}: ${text}\nBecause: ${truncate(rationale, LIMITS.conflict_reason_length_max)}`
  return {
    summary,
    detail: `${summary}\n\nNew decision ${line(made)}\n\nExisting decision ${line(other)}\n\nA person resolves the conflict with \`decisions override\` of one of them.`,
  }
}
