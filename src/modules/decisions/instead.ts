/** What holds instead of a decision that is taken back. */
import type { Overriding } from './change.ts'
import type { DecisionWanted } from './service.ts'
import type { DecideInput, Decision, OverrideInput } from '../../contracts/decision.ts'

/**
 * What is not told is as it was, but for the reason, and for the alternatives: one of those may be what holds now.
 * `known` are the decisions it may rest on; others that the former named are gone.
 */
export function insteadOf(
  former: Decision,
  told: NonNullable<OverrideInput['new_decision']>,
  { reason, overridden_by }: Overriding,
  known: ReadonlySet<string>,
): DecisionWanted & { agent_id: string } {
  const { domain, scope, constraints, confidence, reversible, affected_files, affected_symbols } = former
  const { agent_id = overridden_by, ...said } = typeof told === 'string' ? { summary: told } : told
  return {
    ...{ domain, scope, constraints, confidence, reversible, affected_files, affected_symbols },
    ...{ context: `Takes the place of: ${former.summary}`, rationale: reason },
    ...{ alternatives: [], commit_hashes: [], depends_on: former.depends_on.filter((id) => known.has(id)) },
    ...withoutUndefined(said),
    ...{ summary: said.summary, agent_id, supersedes: former.id },
  }
}

function withoutUndefined(said: object): Partial<DecideInput> {
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
}
