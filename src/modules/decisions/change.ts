/** What holds for every change of a decision. */
import { Decision, type DecisionStatus } from '../../contracts/decision.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { keep } from './keep.ts'
import type { Library } from '../memory/library.ts'

/** One of these still holds, and another can take its place. */
export const STANDING: readonly DecisionStatus[] = ['active', 'provisional']

/** Reads, decides and writes while nobody else does. Throws `record_unknown`, `record_too_large`, `store_unavailable`. */
export async function changeDecision(
  library: Library,
  id: string,
  now: string,
  what: (decision: Decision, all: readonly Decision[]) => Decision,
): Promise<{ before: Decision; after: Decision }> {
  // Before anything is locked or made: what is not there cannot be changed.
  await decisionIn(library, id)
  return library.decisions.exclusive(async (held) => {
    const all = await held.all()
    const before = all.find((one) => one.id === id)
    if (before === undefined) throw unknown(id)
    const after = what(before, all)
    if (after !== before) await keep(held, bounded({ ...after, updated_at: now }))
    return { before, after }
  })
}

/** Why one is taken back, and by whom. */
export interface Overriding {
  reason: string
  overridden_by: string
}

/** Throws `transition_forbidden`. */
export function overridden(decision: Decision, { reason, overridden_by }: Overriding, now: string): Decision {
  if (!STANDING.includes(decision.status)) throw ended(decision)
  const taken_back = {
    status: 'overridden' as const,
    overridden_by,
    override_reason: reason,
    overridden_at: now,
  }
  return { ...decision, ...taken_back, updated_at: now }
}

/** Throws `record_unknown`. */
export async function decisionIn(library: Library, id: string): Promise<Decision> {
  const decision = await library.decisions.get(id)
  if (decision === null) throw unknown(id)
  return decision
}

function unknown(id: string): TurnbellError {
  return new TurnbellError('record_unknown', {
    detail: `There is no decision ${id} here.`,
    hint: '`decisions list` or `decisions search` finds its id.',
  })
}

function ended({ id, status, superseded_by }: Decision): TurnbellError {
  return new TurnbellError('transition_forbidden', {
    detail: `The decision ${id} is ${status} already.`,
    ...(superseded_by === undefined ? {} : { hint: `Override ${superseded_by}, which took its place.` }),
  })
}

/** In the form of all, however much it owes; throws `record_too_large`. */
export function bounded(said: object): Decision {
  const decision = Decision.parse(said)
  const bytes = Buffer.byteLength(JSON.stringify({ ...decision, outbox: undefined }))
  if (bytes <= LIMITS.record_bytes_max) return decision
  throw new TurnbellError('record_too_large', {
    detail: `This decision would have ${bytes} bytes; ${LIMITS.record_bytes_max} are allowed.`,
  })
}
