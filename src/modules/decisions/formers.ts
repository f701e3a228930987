/** Decisions whose place another one takes: once that is active, or at once where somebody takes them back for it. */
import { overridden, STANDING } from './change.ts'
import { keepEach } from './keep.ts'
import { owing, type Telling } from './telling.ts'
import type { Decision } from '../../contracts/decision.ts'
import type { Library } from '../memory/library.ts'

interface Ending {
  now: string
  telling: Telling
  onTrouble: (error: unknown) => void
}

/** Of those whose place is taken by what was changed; answers them as they are now. Done again it changes nothing. */
export async function endFormers(
  library: Library,
  changed: readonly Decision[],
  { now, telling, onTrouble }: Ending,
): Promise<Decision[]> {
  const takers = new Set(changed.filter(({ supersedes }) => supersedes !== undefined).map(({ id }) => id))
  const endedIn = (all: readonly Decision[]): Decision[] => {
    const standing = new Map(all.filter(stands).map((one) => [one.id, one]))
    return all.flatMap((by) => {
      const former = standing.get(by.supersedes ?? '')
      if (former === undefined || !takers.has(by.id)) return []
      const { takes_back } = by.outbox ?? {}
      if (takes_back !== undefined) return [takenBack(former, takes_back, { now, telling })]
      if (by.status !== 'active') return []
      const ended = { ...former, status: 'superseded' as const, superseded_by: by.id, superseded_at: now }
      return [owing({ ...ended, updated_at: now }, telling.replaced(former, by))]
    })
  }
  // Nothing is locked, or made, for nothing.
  if (takers.size === 0 || endedIn(await library.decisions.all()).length === 0) return []
  return library.decisions.exclusive(async (held) => keepEach(held, endedIn(await held.all()), onTrouble))
}

/** Why one is taken back, by whom, and who says so. */
export type TakesBack = NonNullable<NonNullable<Decision['outbox']>['takes_back']>

/** Throws `transition_forbidden`. */
export function takenBack(
  former: Decision,
  { agent_id, ...overriding }: TakesBack,
  { now, telling }: Pick<Ending, 'now' | 'telling'>,
): Decision {
  const taken_back = overridden(former, overriding, now)
  return owing(taken_back, telling.takenBack(taken_back, agent_id))
}

/** Whether nothing is left to be taken back for it. */
export function isTaken(all: readonly Decision[], { supersedes }: Decision): boolean {
  return !all.some((one) => one.id === supersedes && stands(one))
}

function stands({ status }: Decision): boolean {
  return STANDING.includes(status)
}
