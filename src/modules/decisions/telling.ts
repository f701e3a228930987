/** What the blackboard says of decisions: that one was made, what it contradicts, that it holds, or no more. */
import { conflictWarning } from './conflicts.ts'
import { beginning } from '../../contracts/beginning.ts'
import type { Decision } from '../../contracts/decision.ts'
import type { Entry } from '../../contracts/entry.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
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

const CONFLICT = 'conflict'
export const RECONSIDER = 'reconsider'

export interface Telling {
  /** Answers the entry's id. */
  post(library: Library, entry: EntryWanted): Promise<string>
  made(library: Library, decision: Decision, words?: EntryWords): Promise<void>
  /** Of all that its `conflicts` name. */
  contested(library: Library, decision: Decision): Promise<void>
  /** Settles what warned of it. `agent_id` says so. */
  takenBack(library: Library, decision: Decision, agent_id: string): Promise<void>
  /** Settles the same where there is such a warning; otherwise says nothing. */
  holds(library: Library, decision: Decision): Promise<void>
}

export function createTelling({ clock, ids }: { clock: Clock; ids: Ids }): Telling {
  const post: Telling['post'] = async (library, { id = ids.next(), ...words }) => {
    const summary = beginning(words.summary, LIMITS.memory_summary_length_max)
    await library.entries.put({ id, timestamp: timestamp(clock), ...words, summary })
    return id
  }

  return {
    post,
    async made(library, decision, words = {}) {
      const { id, timestamp: at, agent_id, domain, scope, summary } = decision
      await library.entries.put({
        ...{ id: decision.entry_id ?? ids.next(), timestamp: at, agent_id, entry_type: 'decision' },
        ...{ tags: words.tags ?? [domain], relates_to: [id, ...(words.relates_to ?? [])] },
        ...{ scope, summary, detail: words.detail || decision.rationale },
      })
    },
    async contested(library, decision) {
      const { id, agent_id, domain, scope, conflicts = [] } = decision
      const others = new Map((await library.decisions.all()).map((one) => [one.id, one]))
      for (const { decision_id, warning_id } of conflicts) {
        const other = others.get(decision_id)
        if (other === undefined) continue
        await post(library, {
          ...{ id: warning_id, agent_id, entry_type: 'warning', tags: [CONFLICT, domain], scope },
          ...{ relates_to: [id, decision_id], ...conflictWarning(decision, other) },
        })
      }
    },
    async takenBack(library, decision, agent_id) {
      const { id, domain, scope, summary, overridden_by, override_reason = '', override_entry_id } = decision
      await post(library, {
        ...(override_entry_id === undefined ? {} : { id: override_entry_id }),
        ...{ agent_id, entry_type: 'decision', tags: ['override', domain], scope },
        relates_to: [id, ...(await warningsOf(library, id)).map((warning) => warning.id)],
        summary: `Override: ${summary} (by ${overridden_by ?? agent_id})`,
        detail: override_reason,
      })
    },
    async holds(library, { id, agent_id, domain, scope, summary }) {
      const warnings = (await warningsOf(library, id)).filter((warning) => warnsOfItself(warning, id))
      if (warnings.length === 0) return
      await post(library, {
        ...{ agent_id, entry_type: 'answer', tags: [CONFLICT, domain], scope },
        relates_to: [id, ...warnings.map((warning) => warning.id)],
        summary: `Contested no more: ${summary}`,
        detail: 'It holds: what it contradicted does no more, or somebody has looked at it a second time.',
      })
    },
  }
}

/** Entries that warn of a decision, and nobody has answered. */
export async function warningsOf({ entries }: Library, id: string): Promise<Entry[]> {
  return openOnes(await entries.all()).filter(
    ({ entry_type, relates_to = [] }) => entry_type === 'warning' && relates_to.includes(id),
  )
}

/** Turnbell's own, of this one's being in doubt; what it contradicts is named second. */
function warnsOfItself({ tags, relates_to = [] }: Entry, id: string): boolean {
  return relates_to[0] === id && (tags.includes(CONFLICT) || tags.includes(RECONSIDER))
}
