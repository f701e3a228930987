/**
 * What follows a decision that was made or changed: the one whose place it takes knows so, what contradicted only that is
 * in doubt no more, and all of it is told. What a crash came in between of is done with the next change.
 */
import { STANDING } from './change.ts'
import { owingOnes, type Outbox } from './outbox.ts'
import { sortOut } from './sort-out.ts'
import { owing, type Telling } from './telling.ts'
import type { Decision } from '../../contracts/decision.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Library } from '../memory/library.ts'

export interface Aftermath {
  /** Of what was made or changed just now. Answers what is active because of it. */
  follow(library: Library, changed: readonly Decision[]): Promise<Decision[]>
  /** Of all that there is: once in each library, and later only what was refused. Answers the same. */
  mend(library: Library): Promise<Decision[]>
}

interface AftermathNeeds {
  outbox: Outbox
  telling: Telling
  clock: Clock
  ids: Ids
}

export function createAftermath({ outbox, telling, clock, ids }: AftermathNeeds): Aftermath {
  const mended = new WeakMap<Library, Promise<Decision[]>>()

  /** Those that are active take their places; answers whose. */
  const supersede = async (library: Library, changed: readonly Decision[]): Promise<Decision[]> => {
    const takers = changed.filter(({ status, supersedes }) => status === 'active' && supersedes !== undefined)
    const formersIn = (all: readonly Decision[]) => {
      const standing = new Map(
        all.filter(({ status }) => STANDING.includes(status)).map((one) => [one.id, one]),
      )
      return takers.flatMap((by) => {
        const former = standing.get(by.supersedes ?? '')
        return former === undefined ? [] : [{ former, by }]
      })
    }
    // Nothing is locked, or made, for nothing.
    if (takers.length === 0 || formersIn(await library.decisions.all()).length === 0) return []
    return library.decisions.exclusive(async (held) => {
      const now = timestamp(clock)
      const over = formersIn(await held.all()).map(({ former, by }) => {
        const ended = { ...former, status: 'superseded' as const, superseded_by: by.id, superseded_at: now }
        return owing({ ...ended, updated_at: now }, telling.replaced(former, by))
      })
      for (const one of over) await held.put(one)
      return over
    })
  }

  const follow: Aftermath['follow'] = async (library, changed) => {
    const settled: Decision[] = []
    for (let next = changed; ;) {
      const over = await supersede(library, next)
      await outbox.deliver(library, owingOnes([...next, ...over]))
      const { confirmed, contested } = await sortOut(library, { now: timestamp(clock), ids, telling })
      settled.push(...confirmed)
      next = [...confirmed, ...contested]
      if (next.length === 0) return settled
    }
  }

  return {
    follow,
    async mend(library) {
      const known = mended.get(library)
      if (known !== undefined) {
        await known
        await outbox.retry(library)
        return []
      }
      const mending = library.decisions.all().then((all) => follow(library, all))
      mended.set(library, mending)
      mending.catch(() => mended.delete(library))
      return mending
    },
  }
}
