/**
 * What follows a decision that is kept: the one whose place it takes knows so, the graph has its part, and the
 * blackboard tells of it. All of it comes out the same however often it is done, so a crash in between is made up for.
 */
import { STANDING } from './change.ts'
import { sortOut } from './sort-out.ts'
import { conflictWarning } from './conflicts.ts'
import { feedGraph } from './feed.ts'
import type { Decision } from '../../contracts/decision.ts'
import type { Entry } from '../../contracts/entry.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import { beginning } from '../../contracts/beginning.ts'
import type { Library } from '../memory/library.ts'
import { openOnes } from '../memory/open.ts'

/** How the entry looks that tells of a decision, where it is not made from the decision. */
export type EntryWords = Partial<Pick<Entry, 'detail' | 'tags' | 'relates_to'>>

export interface EntryWanted extends Pick<
  Entry,
  'agent_id' | 'entry_type' | 'tags' | 'scope' | 'summary' | 'detail'
> {
  id?: string
  relates_to: string[]
}

export interface Aftermath {
  follow(library: Library, decision: Decision, words?: EntryWords): Promise<void>
  /** What contradicted only what holds no more is in doubt no more; answers what is active now. */
  settle(library: Library): Promise<Decision[]>
  /** What a crash left undone, looked for once in each library. */
  mend(library: Library): Promise<void>
  /** Answers the entry's id. */
  post(library: Library, entry: EntryWanted): Promise<string>
}

export function createAftermath({ clock, ids }: { clock: Clock; ids: Ids }): Aftermath {
  const mended = new WeakMap<Library, Promise<void>>()

  const post = async (library: Library, entry: EntryWanted): Promise<string> => {
    const { id = ids.next(), ...words } = entry
    const summary = beginning(entry.summary, LIMITS.memory_summary_length_max)
    await library.entries.put({ id, timestamp: timestamp(clock), ...words, summary })
    return id
  }

  const supersede = (library: Library, id: string, by: string): Promise<void> =>
    library.decisions.exclusive(async (held) => {
      const former = (await held.all()).find((one) => one.id === id)
      if (former === undefined || !STANDING.includes(former.status)) return
      const now = timestamp(clock)
      await held.put({
        ...former,
        status: 'superseded',
        superseded_by: by,
        superseded_at: now,
        updated_at: now,
      })
    })

  const warn = async (library: Library, decision: Decision): Promise<void> => {
    const { id, agent_id, domain, scope } = decision
    const others = new Map((await library.decisions.all()).map((one) => [one.id, one]))
    for (const { decision_id, warning_id } of decision.conflicts ?? []) {
      const other = others.get(decision_id)
      if (other === undefined) continue
      await post(library, {
        ...{ id: warning_id, agent_id, entry_type: 'warning', tags: ['conflict', domain], scope },
        ...{ relates_to: [id, decision_id], ...conflictWarning(decision, other) },
      })
    }
  }

  const settle: Aftermath['settle'] = async (library) => {
    const { confirmed, contested } = await sortOut(library, timestamp(clock), ids)
    for (const { id, agent_id, domain, scope, summary } of confirmed) {
      const open = await warningsOf(library, id)
      if (open.length === 0) continue
      await post(library, {
        ...{ agent_id, entry_type: 'answer', tags: ['conflict', domain], scope, relates_to: [id, ...open] },
        ...{ summary: `Contested no more: ${summary}`, detail: 'What it contradicted holds no more.' },
      })
    }
    for (const decision of contested) await warn(library, decision)
    return confirmed
  }

  const follow: Aftermath['follow'] = async (library, decision, words = {}) => {
    const { id, timestamp: at, agent_id, domain, scope, summary, supersedes } = decision
    if (supersedes !== undefined) await supersede(library, supersedes, id)
    await feedGraph(library, decision, { clock, ids })
    await warn(library, decision)
    // Last: where it is there, everything else is.
    await library.entries.put({
      ...{ id: decision.entry_id ?? ids.next(), timestamp: at, agent_id, entry_type: 'decision' },
      ...{ tags: words.tags ?? [domain], relates_to: [id, ...(words.relates_to ?? [])] },
      ...{ scope, summary, detail: words.detail || decision.rationale },
    })
  }

  const mendNow = async (library: Library): Promise<void> => {
    const entries = new Set((await library.entries.all()).map(({ id }) => id))
    // The newest: a crash leaves those that were under way. What is missing of others somebody took away.
    for (const decision of (await library.decisions.all()).slice(-LIMITS.decisions_mended_max)) {
      if (decision.entry_id !== undefined && !entries.has(decision.entry_id)) await follow(library, decision)
    }
    await settle(library)
  }

  return {
    ...{ follow, post, settle },
    mend(library) {
      const known = mended.get(library)
      if (known !== undefined) return known
      const mending = mendNow(library)
      mended.set(library, mending)
      mending.catch(() => mended.delete(library))
      return mending
    },
  }
}

/** Entries that warn of a decision, and nobody has answered. */
export async function warningsOf({ entries }: Library, id: string): Promise<string[]> {
  return openOnes(await entries.all()).flatMap(({ id: warning, entry_type, relates_to = [] }) =>
    entry_type === 'warning' && relates_to.includes(id) ? [warning] : [],
  )
}
