/**
 * What follows a decision that was made or changed: the one whose place it takes knows so, what contradicted only that is
 * in doubt no more, and all of it is told. The change itself is kept by then, so nothing of this reaches who made it: what
 * cannot be done now, and what a crash came in between of, is done later, with another change or by itself.
 */
import { endFormers } from './formers.ts'
import { owingOnes, owingSome, type Outbox, type Tried } from './outbox.ts'
import { sortOut } from './sort-out.ts'
import type { Telling } from './telling.ts'
import type { Decision } from '../../contracts/decision.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Log } from '../../ports/log.ts'
import type { Library } from '../memory/library.ts'

/** Nothing of it is thrown. */
export interface Aftermath {
  /** Of what was made or changed just now. Answers what has another status because of it, but for what it replaces. */
  follow(library: Library, changed: readonly Decision[]): Promise<Decision[]>
  /** Of what is left to be done: looked for whole once in each library. Answers the same. */
  mend(library: Library): Promise<Decision[]>
  /** Whether there may be something to mend now. Looks at no file. */
  isDue(library: Library): boolean
  /** Something that follows could not be done. */
  later(library: Library, error: unknown): void
}

interface AftermathNeeds {
  outbox: Outbox
  telling: Telling
  clock: Clock
  ids: Ids
  log: Log
}

/** What is known of a library. */
interface Known {
  /** Whether all of it was looked through. */
  mended: boolean
  /** Whether somebody is at it. */
  mending: boolean
  /** Whether there is more than was tried at once. */
  more: boolean
  tried: Tried
  /** When something is tried again that could not be done. */
  again_at: number | null
  /** Whether the log knows that something is refused. */
  told: boolean
  /** Decisions that somebody is about to tell of. */
  under_way: Set<string>
}

export function createAftermath({ outbox, telling, clock, ids, log }: AftermathNeeds): Aftermath {
  const libraries = new WeakMap<Library, Known>()
  const knownOf = (library: Library): Known => {
    const known = libraries.get(library) ?? {
      ...{ mended: false, mending: false, more: false, tried: {} },
      ...{ again_at: null, told: false, under_way: new Set() },
    }
    libraries.set(library, known)
    return known
  }

  const later = (known: Known, err: unknown): void => {
    known.again_at = clock.monotonic() + LIMITS.outbox_retry_ms
    if (!(err instanceof TurnbellError)) {
      log.error({ err }, 'what follows a decision broke, and is tried again later')
      return
    }
    // Said once, not every half a minute for as long as it lasts.
    if (!known.told) log.warn({ err }, 'what follows a decision was refused, and is done later')
    known.told = true
  }

  const isDueNow = ({ again_at, mending }: Known): boolean =>
    !mending && (again_at === null || clock.monotonic() >= again_at)

  const followUp = async (
    library: Library,
    changed: readonly Decision[],
    late: boolean,
  ): Promise<Decision[]> => {
    const known = knownOf(library)
    const settled: Decision[] = []
    let next = changed
    const onTrouble = (error: unknown) => later(known, error)
    for (const { id } of changed) known.under_way.add(id)
    try {
      for (;;) {
        const over = await endFormers(library, next, { now: timestamp(clock), telling, onTrouble })
        settled.push(...over.filter(({ status }) => status === 'overridden'))
        await outbox.deliver(library, owingOnes([...next, ...over]), { late, onTrouble })
        const sorting = { now: timestamp(clock), ids, telling, onTrouble }
        const { confirmed, contested } = await sortOut(library, sorting)
        settled.push(...confirmed)
        next = [...confirmed, ...contested]
        if (next.length === 0) break
      }
    } catch (error) {
      later(known, error)
    } finally {
      for (const { id } of changed) known.under_way.delete(id)
    }
    return settled
  }

  const mendNow = async (library: Library, known: Known): Promise<Decision[]> => {
    const all = await library.decisions.all()
    const left = owingOnes(all).filter(({ id }) => !known.under_way.has(id))
    const again = known.again_at !== null || !known.mended
    known.more = false
    if (!again && left.length === 0) return []
    known.mended = true
    known.again_at = null
    // So many that whoever calls need not wait long.
    const some = owingSome(left, known.tried)
    known.more = some.size < left.length
    const whole = all.filter((one) => !left.includes(one) || some.has(one))
    const settled = await followUp(library, again ? whole : [...some], true)
    if (known.again_at === null) known.told = false
    return settled
  }

  return {
    follow: (library, changed) => followUp(library, changed, false),
    async mend(library) {
      const known = knownOf(library)
      if (!isDueNow(known)) return []
      known.mending = true
      try {
        return await mendNow(library, known)
      } catch (error) {
        later(known, error)
        return []
      } finally {
        known.mending = false
      }
    },
    isDue(library) {
      const known = knownOf(library)
      const { mended, more, again_at } = known
      return isDueNow(known) && (!mended || more || again_at !== null)
    },
    later: (library, error) => later(knownOf(library), error),
  }
}
