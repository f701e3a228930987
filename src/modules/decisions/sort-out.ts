/**
 * Decisions that were in doubt only because they contradicted others, once those hold no more: as if these had never
 * been made. The oldest on its matter is active then; the others contradict that one.
 */
import { contradictedBy } from './conflicts.ts'
import { keepEach } from './keep.ts'
import { owing, type Telling } from './telling.ts'
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

interface Sorting {
  now: string
  ids: Pick<Ids, 'next'>
  telling: Telling
  onTrouble: (error: unknown) => void
}

/** Done again it changes nothing. */
export async function sortOut(library: Library, sorting: Sorting): Promise<Sorted> {
  // Nothing is locked, or made, for nothing.
  const { confirmed, contested } = sorted(await library.decisions.all(), sorting)
  if (confirmed.length + contested.length === 0) return { confirmed, contested }
  return library.decisions.exclusive(async (held) => {
    const found = sorted(await held.all(), sorting)
    const confirmed_now = await keepEach(held, found.confirmed, sorting.onTrouble)
    return { confirmed: confirmed_now, contested: await keepEach(held, found.contested, sorting.onTrouble) }
  })
}

function sorted(decisions: readonly Decision[], { now, ids, telling }: Sorting): Sorted {
  const found: Sorted = { confirmed: [], contested: [] }
  const standing = decisions.filter(mayStand)
  for (const one of decisions) {
    const { conflicts, status, proposed, doubted_from } = one
    // One that was proposed, or that somebody has doubted since, only a look at it helps.
    if (status !== 'provisional' || !conflicts || proposed || doubted_from !== undefined) continue
    const weighed = conflicts.filter((conflict) => conflict.weighed)
    const others = contradictedBy(standing, one)
      .filter(({ id }) => !weighed.some(({ decision_id }) => decision_id === id))
      .slice(0, LIMITS.conflicts_told_max)
    if (others.length === 0) {
      const confirmed = owing({ ...one, status: 'active', updated_at: now }, telling.confirmed(one))
      found.confirmed.push(confirmed)
      standing.push(confirmed)
    } else if (!others.some(({ id }) => conflicts.some(({ decision_id }) => decision_id === id))) {
      const told = others.map(({ id }) => ({ decision_id: id, warning_id: ids.next() }))
      const contested = { ...one, conflicts: [...weighed, ...told], updated_at: now }
      found.contested.push(owing(contested, ...telling.contested({ ...one, conflicts: told }, others)))
    }
  }
  return found
}

/** Active, or so until somebody doubted it: whether that holds nobody knows before a second look. */
function mayStand({ status, doubted_from }: Decision): boolean {
  return status === 'active' || (status === 'provisional' && doubted_from === 'active')
}
