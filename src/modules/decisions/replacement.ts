/** Input for the decision that replaces an overridden one. */
import type { OverrideReason } from './change.ts'
import type { DecisionInput } from './types.ts'
import type { Decision, OverrideInput } from '../../contracts/memory/decision.ts'
import { defined } from '../lib/defined.ts'

/**
 * Fields that are not given are taken from the overridden decision, except the rationale, and the alternatives, because
 * one of them may have been chosen now. `existing_ids` are the decisions it may depend on; other dependencies are dropped.
 */
export function replacementFor(
  overridden: Decision,
  given: NonNullable<OverrideInput['new_decision']>,
  { reason, overridden_by }: OverrideReason,
  existing_ids: ReadonlySet<string>,
): DecisionInput & { agent_id: string } {
  const { domain, scope, constraints, confidence, reversible, affected_files, affected_symbols } = overridden
  const { agent_id = overridden_by, ...fields } = typeof given === 'string' ? { summary: given } : given
  return {
    domain,
    scope,
    constraints,
    confidence,
    reversible,
    affected_files,
    affected_symbols,
    context: `Replaces: ${overridden.summary}`,
    rationale: reason,
    alternatives: [],
    commit_hashes: [],
    depends_on: overridden.depends_on.filter((id) => existing_ids.has(id)),
    ...defined(fields),
    summary: fields.summary,
    agent_id,
    supersedes: overridden.id,
  }
}
