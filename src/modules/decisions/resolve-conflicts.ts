/**
 * Resolves conflicts of decisions that were provisional only because they contradicted others that are no longer in force.
 * The oldest decision on a subject becomes active; the others now contradict that one.
 */
import { contradictedBy } from './conflicts.ts'
import { saveEach } from './save-decision.ts'
import { withOutbox, type DecisionEntries } from './decision-entries.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Ids } from '../../ports/random.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'

export interface Resolution {
  /** Decisions that are active now. */
  confirmed: Decision[]
  /** Decisions that contradict another one now, which their `conflicts` name. */
  contested: Decision[]
}

interface ResolutionContext {
  now: string
  ids: Pick<Ids, 'next'>
  decision_entries: DecisionEntries
  onError: (error: unknown) => void
}

/** Idempotent. */
export async function resolveConflicts(
  memory: ProjectMemory,
  context: ResolutionContext,
): Promise<Resolution> {
  // Computed without the lock first, because mostly there is nothing to resolve.
  const { confirmed, contested } = resolve(await memory.decisions.list(), context)
  if (confirmed.length + contested.length === 0) return { confirmed, contested }
  return memory.decisions.exclusive(async (held) => {
    const resolution = resolve(await held.list(), context)
    return {
      confirmed: await saveEach(held, resolution.confirmed, context.onError),
      contested: await saveEach(held, resolution.contested, context.onError),
    }
  })
}

function resolve(
  decisions: readonly Decision[],
  { now, ids, decision_entries }: ResolutionContext,
): Resolution {
  const resolution: Resolution = { confirmed: [], contested: [] }
  const in_force = decisions.filter(wasActive)
  for (const one of decisions) {
    const { conflicts, status, proposed, doubted_from } = one
    // A proposed or flagged decision becomes active only by a confirmation.
    if (status !== 'provisional' || !conflicts || proposed || doubted_from !== undefined) continue
    const weighed = conflicts.filter((conflict) => conflict.weighed)
    const others = contradictedBy(in_force, one)
      .filter(({ id }) => !weighed.some(({ decision_id }) => decision_id === id))
      .slice(0, LIMITS.conflict_warnings_max)
    if (others.length === 0) {
      const confirmed: Decision = { ...one, status: 'active', updated_at: now }
      resolution.confirmed.push(withOutbox(confirmed, decision_entries.conflictResolved(one)))
      in_force.push(confirmed)
    } else if (!others.some(({ id }) => conflicts.some(({ decision_id }) => decision_id === id))) {
      const reported = others.map(({ id }) => ({ decision_id: id, warning_id: ids.next() }))
      const contested = { ...one, conflicts: [...weighed, ...reported], updated_at: now }
      const warnings = decision_entries.contested({ ...one, conflicts: reported }, others)
      resolution.contested.push(withOutbox(contested, ...warnings))
    }
  }
  return resolution
}

/** Whether the decision is active, or was until it was flagged; a flagged one may be confirmed again. */
function wasActive({ status, doubted_from }: Decision): boolean {
  return status === 'active' || (status === 'provisional' && doubted_from === 'active')
}
