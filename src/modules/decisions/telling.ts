/**
 * What the blackboard says of decisions: that one was made, what it contradicts, that it is in doubt, holds, or does no
 * more. What is to be said is kept with the change that it tells of, and posted from there (see outbox.ts).
 */
import { conflictWarning } from './conflicts.ts'
import { beginning } from '../../contracts/beginning.ts'
import type { Decision, Owed } from '../../contracts/decision.ts'
import type { Entry } from '../../contracts/entry.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'

/** How the entry looks that tells of a decision, where it is not made from the decision. */
export type EntryWords = Partial<Pick<Entry, 'detail' | 'tags' | 'relates_to'>>

export interface Telling {
  made(decision: Decision & { entry_id: string }, words?: EntryWords): Owed
  /** Of those among its `conflicts` that are in the list. */
  contested(decision: Decision, others: readonly Decision[]): Owed[]
  /** `agent_id` says so. */
  takenBack(decision: Decision, agent_id: string): Owed
  replaced(decision: Decision, by: Decision): Owed
  doubted(decision: Decision, words: SecondLook): Owed
  stands(decision: Decision, words: SecondLook): Owed
  /** What it contradicted holds no more. */
  confirmed(decision: Decision): Owed
}

/** Who looked at it again, and what has come up. */
export interface SecondLook {
  agent_id: string
  new_context: string
}

export function createTelling({ clock, ids }: { clock: Clock; ids: Ids }): Telling {
  type Words = Pick<Owed, 'entry_type' | 'tags' | 'summary' | 'detail'> & Partial<Owed>
  const about = ({ id, agent_id, scope }: Decision, words: Words): Owed => ({
    ...{ id: ids.next(), timestamp: timestamp(clock), agent_id, scope, relates_to: [id] },
    ...words,
    summary: beginning(words.summary, LIMITS.memory_summary_length_max),
  })

  return {
    made(decision, words = {}) {
      const { id, entry_id, timestamp: at, domain, summary, rationale } = decision
      return about(decision, {
        ...{ id: entry_id, timestamp: at, entry_type: 'decision', tags: words.tags ?? [domain] },
        ...{ relates_to: [id, ...(words.relates_to ?? [])], summary, detail: words.detail || rationale },
      })
    },
    contested: (decision, others) =>
      (decision.conflicts ?? []).flatMap(({ decision_id, warning_id }) => {
        const other = others.find(({ id }) => id === decision_id)
        if (other === undefined) return []
        const relates_to = [decision.id, decision_id]
        return about(decision, {
          ...{ id: warning_id, entry_type: 'warning', tags: ['conflict', decision.domain], relates_to },
          ...conflictWarning(decision, other),
        })
      }),
    takenBack(decision, agent_id) {
      const { domain, summary, overridden_by = agent_id, override_reason = '' } = decision
      return about(decision, {
        ...{ agent_id, entry_type: 'decision', tags: ['override', domain], settles: 'all' },
        ...{ summary: `Override: ${summary} (by ${overridden_by})`, detail: override_reason },
      })
    },
    replaced: (decision, by) =>
      about(decision, {
        ...{ agent_id: by.agent_id, entry_type: 'answer', tags: ['conflict', decision.domain] },
        ...{
          settles: 'all_if_any',
          summary: `Superseded: ${decision.summary}`,
          detail: `Now: ${by.summary}`,
        },
      }),
    doubted: (decision, { agent_id, new_context }) =>
      about(decision, {
        ...{ agent_id, entry_type: 'warning', tags: ['reconsider', decision.domain], detail: new_context },
        summary: `Reconsideration flagged: ${decision.summary}`,
      }),
    stands: (decision, { agent_id, new_context }) =>
      about(decision, {
        ...{ agent_id, entry_type: 'answer', tags: ['reconsider', decision.domain], settles: 'own' },
        ...{ summary: `Stands after a second look: ${decision.summary}`, detail: new_context },
      }),
    confirmed: (decision) =>
      about(decision, {
        ...{ entry_type: 'answer', tags: ['conflict', decision.domain] },
        relates_to: [decision.id, ...(decision.conflicts ?? []).map(({ warning_id }) => warning_id)],
        ...{
          summary: `Contested no more: ${decision.summary}`,
          detail: 'What it contradicted holds no more.',
        },
      }),
  }
}

/** The decision with more to be said of it. */
export function owing(decision: Decision, ...more: readonly Owed[]): Decision {
  const { entries = [], graph = false, ...rest } = decision.outbox ?? {}
  return { ...decision, outbox: { entries: [...entries, ...more], graph, ...rest } }
}
