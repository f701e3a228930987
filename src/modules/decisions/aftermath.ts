/**
 * What follows a decision that was made or changed: the one whose place it takes knows so, what contradicted only that is
 * in doubt no more, and all of it is told. The change itself is kept by then, so nothing of this is refused to who made it:
 * what cannot be done now, and what a crash came in between of, is done with one of the next changes.
 */
import { STANDING } from './change.ts'
import { owingOnes, type Outbox } from './outbox.ts'
import { putEach } from './put-each.ts'
import { sortOut } from './sort-out.ts'
import { owing, type Telling } from './telling.ts'
import type { Decision } from '../../contracts/decision.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Log } from '../../ports/log.ts'
import type { Library } from '../memory/library.ts'

export interface Aftermath {
  /** Of what was made or changed just now. Answers what is active because of it. */
  follow(library: Library, changed: readonly Decision[]): Promise<Decision[]>
  /** Of what is left to be done: looked for whole once in each library. Answers the same. */
  mend(library: Library): Promise<Decision[]>
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
  /** When something is tried again that was refused. */
  again_at: number | null
  /** Decisions that somebody is about to tell of. */
  under_way: Set<string>
}

export function createAftermath({ outbox, telling, clock, ids, log }: AftermathNeeds): Aftermath {
  const libraries = new WeakMap<Library, Known>()
  const knownOf = (library: Library): Known => {
    const known = libraries.get(library) ?? { mended: false, again_at: null, under_way: new Set() }
    libraries.set(library, known)
    return known
  }

  const later = (known: Known, err: TurnbellError): void => {
    if (known.again_at === null) log.warn({ err }, 'what follows a decision was refused, and is done later')
    known.again_at = clock.monotonic() + LIMITS.outbox_retry_ms
  }

  /** Those that are active take their places; answers whose. */
  const supersede = async (library: Library, changed: readonly Decision[], onRefused: Refused) => {
    const takers = new Set(changed.filter(({ supersedes }) => supersedes !== undefined).map(({ id }) => id))
    const formersIn = (all: readonly Decision[]) => {
      const standing = new Map(
        all.filter(({ status }) => STANDING.includes(status)).map((one) => [one.id, one]),
      )
      return all.flatMap((by) => {
        const former = standing.get(by.supersedes ?? '')
        return takers.has(by.id) && by.status === 'active' && former ? [{ former, by }] : []
      })
    }
    // Nothing is locked, or made, for nothing.
    if (takers.size === 0 || formersIn(await library.decisions.all()).length === 0) return []
    return library.decisions.exclusive(async (held) => {
      const now = timestamp(clock)
      const over = formersIn(await held.all()).map(({ former, by }) => {
        const ended = { ...former, status: 'superseded' as const, superseded_by: by.id, superseded_at: now }
        return owing({ ...ended, updated_at: now }, telling.replaced(former, by))
      })
      return putEach(held, over, onRefused)
    })
  }

  const followUp = async (
    library: Library,
    changed: readonly Decision[],
    late: boolean,
  ): Promise<Decision[]> => {
    const known = knownOf(library)
    const settled: Decision[] = []
    let next = changed
    const onRefused = (error: TurnbellError) => later(known, error)
    for (const { id } of changed) known.under_way.add(id)
    try {
      for (;;) {
        const over = await supersede(library, next, onRefused)
        const refusal = await outbox.deliver(library, owingOnes([...next, ...over]), late)
        if (refusal !== null) later(known, refusal)
        const now = timestamp(clock)
        const { confirmed, contested } = await sortOut(library, { now, ids, telling, onRefused })
        settled.push(...confirmed)
        next = [...confirmed, ...contested]
        if (next.length === 0) break
      }
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      later(known, error)
    } finally {
      for (const { id } of changed) known.under_way.delete(id)
    }
    return settled
  }

  return {
    follow: (library, changed) => followUp(library, changed, false),
    async mend(library) {
      const known = knownOf(library)
      if (known.again_at !== null && clock.monotonic() < known.again_at) return []
      const all = await library.decisions.all()
      const left = owingOnes(all).filter(({ id }) => !known.under_way.has(id))
      const again = known.again_at !== null || !known.mended
      if (!again && left.length === 0) return []
      known.mended = true
      known.again_at = null
      // So many that whoever calls need not wait long; the others come with the next change.
      const some = new Set(left.slice(0, LIMITS.outbox_batch_max))
      return followUp(
        library,
        again ? all.filter((one) => !left.includes(one) || some.has(one)) : [...some],
        true,
      )
    },
  }
}

type Refused = (error: TurnbellError) => void
