/**
 * What follows a decision that is kept: the blackboard tells of it and of what it contradicts, the one whose place it
 * takes knows so, and the graph has its part. None of that can take the decision back: what cannot be done now, and what
 * a crash came in between of, is made up for with one of the next changes. Doing it again changes nothing.
 */
import { STANDING } from './change.ts'
import { feedGraph, isFed } from './feed.ts'
import { sortOut } from './sort-out.ts'
import type { EntryWords, Telling } from './telling.ts'
import type { Decision } from '../../contracts/decision.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Log } from '../../ports/log.ts'
import { archivedRows } from '../memory/archived.ts'
import type { Library } from '../memory/library.ts'

export interface Aftermath {
  /** Of one that was made; `words` are of the entry that tells of it. */
  follow(library: Library, decision: Decision, words?: EntryWords): Promise<void>
  /** What contradicted only what holds no more is in doubt no more; answers what is active now. */
  settle(library: Library): Promise<Decision[]>
  /** Takes its place, where it is active and takes one's. */
  supersede(library: Library, decision: Decision): Promise<void>
  /** Work that may be refused for now, because `mend` does the same. */
  orLater(library: Library, work: () => Promise<unknown>): Promise<void>
  /** What was left undone: looked for once in each library, and again after something was refused. */
  mend(library: Library): Promise<void>
}

interface AftermathNeeds {
  telling: Telling
  clock: Clock
  ids: Ids
  log: Log
}

export function createAftermath({ telling, clock, ids, log }: AftermathNeeds): Aftermath {
  const making = { clock, ids }
  const mended = new WeakMap<Library, Promise<void>>()

  const orLater: Aftermath['orLater'] = async (library, work) => {
    try {
      await work()
    } catch (err) {
      if (!(err instanceof TurnbellError)) throw err
      mended.delete(library)
      log.warn({ err }, 'what follows a decision was refused, and is tried again with the next change')
    }
  }

  const supersede: Aftermath['supersede'] = async ({ decisions }, { id, status, supersedes }) => {
    if (status !== 'active' || supersedes === undefined) return
    const standing = (all: readonly Decision[]) =>
      all.find((one) => one.id === supersedes && STANDING.includes(one.status))
    // Nothing is locked, or made, for nothing.
    if (standing(await decisions.all()) === undefined) return
    await decisions.exclusive(async (held) => {
      const former = standing(await held.all())
      if (former === undefined) return
      const now = timestamp(clock)
      const times = { superseded_at: now, updated_at: now }
      await held.put({ ...former, status: 'superseded', superseded_by: id, ...times })
    })
  }

  const settle: Aftermath['settle'] = async (library) => {
    const settled: Decision[] = []
    for (;;) {
      const { confirmed, contested } = await sortOut(library, timestamp(clock), ids)
      settled.push(...confirmed)
      for (const decision of confirmed) {
        await supersede(library, decision)
        await orLater(library, () => telling.holds(library, decision))
      }
      for (const decision of contested) await orLater(library, () => telling.contested(library, decision))
      // What contradicted one whose place was taken just now may be in doubt no more.
      if (!confirmed.some(({ supersedes }) => supersedes !== undefined)) return settled
    }
  }

  const follow: Aftermath['follow'] = async (library, decision, words) => {
    await orLater(library, () => telling.made(library, decision, words))
    await orLater(library, () => telling.contested(library, decision))
    await orLater(library, () => supersede(library, decision))
    await orLater(library, () => feedGraph(library, decision, making))
  }

  const makeUpFor = async (library: Library, decision: Decision, isSaid: IsSaid): Promise<void> => {
    const {
      status,
      agent_id,
      entry_id,
      override_entry_id,
      overridden_by = agent_id,
      conflicts = [],
    } = decision
    if (!(await isSaid(entry_id))) await telling.made(library, decision)
    if (!(await isSaid(override_entry_id))) await telling.takenBack(library, decision, overridden_by)
    if (status === 'provisional') {
      const unsaid = await Promise.all(conflicts.map(async ({ warning_id }) => !(await isSaid(warning_id))))
      await telling.contested(library, { ...decision, conflicts: conflicts.filter((_, n) => unsaid[n]) })
    }
    if (status === 'active') await telling.holds(library, decision)
    await supersede(library, decision)
    if (!(await isFed(library, decision))) await feedGraph(library, decision, making)
  }

  const mendNow = async (library: Library): Promise<void> => {
    const decisions = (await library.decisions.all()).toSorted((one, other) =>
      changedAt(one) < changedAt(other) ? -1 : 1,
    )
    const isSaid = await saidIn(library)
    // The newest: a crash leaves those that were under way. What is missing of others somebody took away.
    for (const decision of decisions.slice(-LIMITS.decisions_mended_max)) {
      await orLater(library, () => makeUpFor(library, decision, isSaid))
    }
    await settle(library)
  }

  return {
    ...{ follow, settle, supersede, orLater },
    mend(library) {
      const known = mended.get(library)
      if (known !== undefined) return known
      const mending = orLater(library, () => mendNow(library))
      mended.set(library, mending)
      mending.catch(() => mended.delete(library))
      return mending
    },
  }
}

/** Whether there is an entry of that id, also in the archive; nobody misses one that has no id. */
type IsSaid = (id: string | undefined) => Promise<boolean>

async function saidIn(library: Library): Promise<IsSaid> {
  const entries = new Set((await library.entries.all()).map(({ id }) => id))
  let archived: ReturnType<typeof archivedRows> | null = null
  return async (id) => {
    if (id === undefined || entries.has(id)) return true
    archived ??= archivedRows(library)
    return (await archived).has(id)
  }
}

function changedAt({ timestamp: at, updated_at = at }: Decision): string {
  return updated_at
}
