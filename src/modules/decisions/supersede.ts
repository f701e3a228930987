/** Ends decisions that another one supersedes: when that one becomes active, or at once by an override. */
import { IN_FORCE, override } from './change.ts'
import { saveEach } from './save-decision.ts'
import { withOutbox, type DecisionEntries } from './decision-entries.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'

interface SupersedeContext {
  now: string
  decision_entries: DecisionEntries
  onError: (error: unknown) => void
}

/** Ends the decisions that the changed ones supersede, and returns them. Idempotent. */
export async function endSuperseded(
  memory: ProjectMemory,
  changed: readonly Decision[],
  { now, decision_entries, onError }: SupersedeContext,
): Promise<Decision[]> {
  const successor_ids = new Set(
    changed.filter(({ supersedes }) => supersedes !== undefined).map(({ id }) => id),
  )
  const endedDecisions = (all: readonly Decision[]): Decision[] => {
    const in_force = new Map(all.filter(isInForce).map((one) => [one.id, one]))
    return all.flatMap((by) => {
      const superseded = in_force.get(by.supersedes ?? '')
      if (superseded === undefined || !successor_ids.has(by.id)) return []
      const { takes_back } = by.outbox ?? {}
      if (takes_back !== undefined)
        return [overrideWithEntry(superseded, takes_back, { now, decision_entries })]
      if (by.status !== 'active') return []
      const ended = { ...superseded, status: 'superseded' as const, superseded_by: by.id, superseded_at: now }
      return [withOutbox({ ...ended, updated_at: now }, decision_entries.superseded(superseded, by))]
    })
  }
  // Computed without the lock first, because mostly there is nothing to end.
  if (successor_ids.size === 0 || endedDecisions(await memory.decisions.list()).length === 0) return []
  return memory.decisions.exclusive(async (held) =>
    saveEach(held, endedDecisions(await held.list()), onError),
  )
}

/** An override that is stored with the new decision until the old one is ended. */
export type PendingOverride = NonNullable<NonNullable<Decision['outbox']>['takes_back']>

/** Throws `transition_forbidden`. */
export function overrideWithEntry(
  decision: Decision,
  { agent_id, ...reason }: PendingOverride,
  { now, decision_entries }: Pick<SupersedeContext, 'now' | 'decision_entries'>,
): Decision {
  const overridden = override(decision, reason, now)
  return withOutbox(overridden, decision_entries.overridden(overridden, agent_id))
}

/** Whether the decision that this one overrides is ended. */
export function isOverrideDone(all: readonly Decision[], { supersedes }: Decision): boolean {
  return !all.some((one) => one.id === supersedes && isInForce(one))
}

function isInForce({ status }: Decision): boolean {
  return IN_FORCE.includes(status)
}
