/**
 * Blackboard entries about decisions: made, contested, overridden, superseded, flagged, confirmed. Each entry is stored in
 * the outbox of the decision together with the change, and posted from there (see outbox.ts).
 */
import { conflictWarning } from './conflicts.ts'
import { truncate } from '../../contracts/text/truncate.ts'
import type { Decision, OutboxEntry } from '../../contracts/memory/decision.ts'
import type { Entry } from '../../contracts/memory/entry.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'

/** Fields of the entry about a new decision that are not derived from the decision. */
export type EntryFields = Partial<Pick<Entry, 'detail' | 'tags' | 'relates_to'>>

export interface DecisionEntries {
  created(decision: Decision & { entry_id: string }, fields?: EntryFields): OutboxEntry
  /** Warnings about those of its `conflicts` that are in the list. */
  contested(decision: Decision, others: readonly Decision[]): OutboxEntry[]
  /** `agent_id` is the author of the entry. */
  overridden(decision: Decision, agent_id: string): OutboxEntry
  superseded(decision: Decision, by: Decision): OutboxEntry
  flagged(decision: Decision, note: ReconsiderNote): OutboxEntry
  confirmed(decision: Decision, note: ReconsiderNote): OutboxEntry
  /** The decisions it contradicted are not in force any more. */
  conflictResolved(decision: Decision): OutboxEntry
}

/** Author of a reconsideration, and the new facts. */
export interface ReconsiderNote {
  agent_id: string
  new_context: string
}

export function createDecisionEntries(deps: EntryDeps): DecisionEntries {
  const about = (decision: Decision, content: EntryContent) => entryAbout(deps, decision, content)
  return {
    created(decision, fields = {}) {
      const { id, entry_id, timestamp: at, domain, summary, rationale } = decision
      return about(decision, {
        id: entry_id,
        timestamp: at,
        entry_type: 'decision',
        tags: fields.tags ?? [domain],
        relates_to: [id, ...(fields.relates_to ?? [])],
        summary,
        detail: fields.detail || rationale,
      })
    },
    contested: (decision, others) =>
      (decision.conflicts ?? []).flatMap(({ decision_id, warning_id }) => {
        const other = others.find(({ id }) => id === decision_id)
        if (other === undefined) return []
        const relates_to = [decision.id, decision_id]
        return about(decision, {
          id: warning_id,
          entry_type: 'warning',
          tags: ['conflict', decision.domain],
          relates_to,
          ...conflictWarning(decision, other),
        })
      }),
    overridden(decision, agent_id) {
      const { domain, summary, overridden_by = agent_id, override_reason = '' } = decision
      return about(decision, {
        agent_id,
        entry_type: 'decision',
        tags: ['override', domain],
        settles: 'all',
        summary: `Override: ${summary} (by ${overridden_by})`,
        detail: override_reason,
      })
    },
    superseded: (decision, by) =>
      about(decision, {
        agent_id: by.agent_id,
        entry_type: 'answer',
        tags: ['conflict', decision.domain],
        settles: 'all_if_any',
        summary: `Superseded: ${decision.summary}`,
        detail: `Now: ${by.summary}`,
      }),
    flagged: (decision, { agent_id, new_context }) =>
      about(decision, {
        agent_id,
        entry_type: 'warning',
        tags: ['reconsider', decision.domain],
        detail: new_context,
        summary: `Reconsideration flagged: ${decision.summary}`,
      }),
    confirmed: (decision, { agent_id, new_context }) =>
      about(decision, {
        agent_id,
        entry_type: 'answer',
        tags: ['reconsider', decision.domain],
        settles: 'own',
        summary: `Confirmed after reconsideration: ${decision.summary}`,
        detail: new_context,
      }),
    conflictResolved: (decision) =>
      about(decision, {
        entry_type: 'answer',
        tags: ['conflict', decision.domain],
        relates_to: [decision.id, ...(decision.conflicts ?? []).map(({ warning_id }) => warning_id)],
        summary: `Conflict resolved: ${decision.summary}`,
        detail: 'The decisions it contradicted are not in force any more.',
      }),
  }
}

interface EntryDeps {
  clock: Clock
  ids: Ids
}

type EntryContent = Pick<OutboxEntry, 'entry_type' | 'tags' | 'summary' | 'detail'> & Partial<OutboxEntry>

function entryAbout(
  { clock, ids }: EntryDeps,
  { id, agent_id, scope }: Decision,
  content: EntryContent,
): OutboxEntry {
  return {
    id: ids.next(),
    timestamp: timestamp(clock),
    agent_id,
    scope,
    relates_to: [id],
    ...content,
    summary: truncate(content.summary, LIMITS.memory_summary_length_max),
  }
}

/** Returns the decision with entries added to its outbox. */
export function withOutbox(decision: Decision, ...added: readonly OutboxEntry[]): Decision {
  const { entries = [], graph = false, ...rest } = decision.outbox ?? {}
  return { ...decision, outbox: { entries: [...entries, ...added], graph, ...rest } }
}
