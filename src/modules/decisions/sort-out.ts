/**
 * Decisions that were in doubt only because they contradicted others, once those hold no more: as if these had never
 * been made. The oldest on its matter is active then; the others contradict that one.
 */
import { contradictedBy } from './conflicts.ts'
import type { Decision } from '../../contracts/decision.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Ids } from '../../ports/random.ts'
import type { Library } from '../memory/library.ts'

export interface Sorted {
  /** Active now. */
  confirmed: Decision[]
  /** In doubt because of another now, of which their `conflicts` tell. */
  contested: Decision[]
}

/** Done again it changes nothing. */
export async function sortOut(library: Library, now: string, ids: Pick<Ids, 'next'>): Promise<Sorted> {
  // Nothing is locked, or made, for nothing.
  const { confirmed, contested } = sorted(await library.decisions.all(), now, ids)
  if (confirmed.length + contested.length === 0) return { confirmed, contested }
  return library.decisions.exclusive(async (held) => {
    const found = sorted(await held.all(), now, ids)
    for (const decision of [...found.confirmed, ...found.contested]) await held.put(decision)
    return found
  })
}

function sorted(decisions: readonly Decision[], now: string, ids: Pick<Ids, 'next'>): Sorted {
  const found: Sorted = { confirmed: [], contested: [] }
  const standing = decisions.filter(mayStand)
  for (const one of decisions) {
    const { conflicts, status, proposed, reconsidered_at } = one
    // One that was proposed, or that somebody has doubted since, only a look at it helps.
    if (status !== 'provisional' || !conflicts || proposed || reconsidered_at !== undefined) continue
    const others = contradictedBy(standing, one).slice(0, LIMITS.conflicts_told_max)
    if (others.length === 0) {
      const confirmed: Decision = { ...one, status: 'active', updated_at: now }
      found.confirmed.push(confirmed)
      standing.push(confirmed)
    } else if (!others.some(({ id }) => conflicts.some(({ decision_id }) => decision_id === id))) {
      const told = others.map(({ id }) => ({ decision_id: id, warning_id: ids.next() }))
      found.contested.push({ ...one, conflicts: told, updated_at: now })
    }
  }
  return found
}

/** Active, or so until somebody doubted it: whether that holds nobody knows before a second look. */
function mayStand({ status, reconsidered_at }: Decision): boolean {
  return status === 'active' || (status === 'provisional' && reconsidered_at !== undefined)
}
