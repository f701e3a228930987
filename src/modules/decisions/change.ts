/** Rules that hold for every change of a decision. */
import { Decision, type DecisionStatus } from '../../contracts/memory/decision.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { saveDecision } from './save-decision.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'

/** Statuses of decisions that apply and can be superseded. */
export const IN_FORCE: readonly DecisionStatus[] = ['active', 'provisional']

/**
 * Changes one decision while no other caller writes decisions. Throws `record_unknown`, `record_too_large`,
 * `store_unavailable`.
 */
export async function changeDecision(
  memory: ProjectMemory,
  id: string,
  now: string,
  change: (decision: Decision, all: readonly Decision[]) => Decision,
): Promise<{ before: Decision; after: Decision }> {
  // Checked before the lock, so that an unknown id locks nothing and creates no folder.
  await decisionIn(memory, id)
  return memory.decisions.exclusive(async (held) => {
    const all = await held.list()
    const before = all.find((one) => one.id === id)
    if (before === undefined) throw unknownDecision(id)
    const after = change(before, all)
    if (after !== before) await saveDecision(held, parseDecision({ ...after, updated_at: now }))
    return { before, after }
  })
}

export interface OverrideReason {
  reason: string
  overridden_by: string
}

/** Throws `transition_forbidden` for a decision that is not in force. */
export function override(
  decision: Decision,
  { reason, overridden_by }: OverrideReason,
  now: string,
): Decision {
  if (!IN_FORCE.includes(decision.status)) throw alreadyEnded(decision)
  return {
    ...decision,
    status: 'overridden',
    overridden_by,
    override_reason: reason,
    overridden_at: now,
    updated_at: now,
  }
}

/** Throws `record_unknown`. */
export async function decisionIn(memory: ProjectMemory, id: string): Promise<Decision> {
  const decision = await memory.decisions.get(id)
  if (decision === null) throw unknownDecision(id)
  return decision
}

function unknownDecision(id: string): TurnbellError {
  return new TurnbellError('record_unknown', {
    detail: `Decision ${id} does not exist in this project.`,
    hint: 'Find its id with `decisions list` or `decisions search`.',
  })
}

function alreadyEnded({ id, status, superseded_by }: Decision): TurnbellError {
  return new TurnbellError('transition_forbidden', {
    detail: `Decision ${id} is already ${status}.`,
    ...(superseded_by === undefined ? {} : { hint: `Override ${superseded_by}, which replaced it.` }),
  })
}

/** Parses a decision and checks its size without the outbox. Throws `record_too_large`. */
export function parseDecision(value: object): Decision {
  const decision = Decision.parse(value)
  const bytes = Buffer.byteLength(JSON.stringify({ ...decision, outbox: undefined }))
  if (bytes <= LIMITS.record_bytes_max) return decision
  throw new TurnbellError('record_too_large', {
    detail: `This decision would have ${bytes} bytes; at most ${LIMITS.record_bytes_max} are allowed.`,
  })
}
