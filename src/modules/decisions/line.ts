/** A decision among others. */
import type { Decision, DecisionLine } from '../../contracts/decision.ts'

export function lineOf(decision: Decision): DecisionLine {
  const { id, timestamp, agent_id, domain, scope, summary, rationale, confidence, status } = decision
  const { alternatives, affected_files, affected_symbols, commit_hashes } = decision
  return {
    ...{ id, timestamp, agent_id, domain, scope, summary, rationale, confidence, status },
    alternatives_count: alternatives.length,
    ...{ affected_files, affected_symbols, commit_hashes },
  }
}
