/** Changes of a project's memory since a time, and a summary of its state. */
import type { MemorySummaryAnswer, WhatChanged, WhatChangedInput } from '../../contracts/memory/context.ts'
import { truncate } from '../../contracts/text/truncate.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import type { Entry, EntryType } from '../../contracts/memory/entry.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { isAbout } from '../decisions/find.ts'
import { openEntries } from '../memory/open-entries.ts'
import { concerns } from '../memory/scope.ts'
import { DAY_MS } from '../../ports/clock.ts'
import { truncateToBytes } from '../lib/truncate-to-bytes.ts'

/** Number of lists that share the bytes of one response. */
const LISTS = 4

interface ProjectRecords {
  entries: readonly Entry[]
  decisions: readonly Decision[]
}

export function changesSince(
  { entries, decisions }: ProjectRecords,
  { since, scope }: WhatChangedInput,
): WhatChanged {
  const from = Date.parse(since)
  const isNew = (time: string | undefined) => time !== undefined && Date.parse(time) >= from
  const here = scope === undefined ? decisions : decisions.filter((one) => isAbout(one, scope))
  const made = here.filter(({ timestamp }) => isNew(timestamp))
  const posted = entries.filter(
    (entry) => isNew(entry.timestamp) && (scope === undefined || concerns(entry.scope, scope)),
  )
  const overridden = here.filter(({ status, overridden_at, updated_at }) =>
    status === 'overridden' ? isNew(overridden_at ?? updated_at) : isNew(overridden_at),
  )
  const reconsidered = here.filter(({ reconsidered_at }) => isNew(reconsidered_at))
  /** Oldest first. */
  const newest = <T, View>(list: readonly T[], view: (item: T) => View): View[] => {
    const views = list.slice(-LIMITS.changes_max).map(view).toReversed()
    return truncateToBytes(views, LIMITS.answer_list_bytes_max / LISTS).toReversed()
  }
  return {
    new_decisions: newest(made, ({ id, summary, status }) => ({ id, summary, status })),
    new_entries: newest(posted, ({ id, entry_type, summary }) => ({ id, entry_type, summary })),
    overridden_decisions: newest(overridden, ({ id, summary, override_reason = '' }) => ({
      id,
      summary,
      reason: truncate(override_reason, LIMITS.conflict_reason_length_max),
    })),
    reconsidered_decisions: newest(reconsidered, ({ id, summary }) => ({ id, summary })),
    total_count: made.length + posted.length + overridden.length + reconsidered.length,
  }
}

export function summaryOf(
  { entries, decisions }: ProjectRecords,
  scope: string,
  now: number,
): MemorySummaryAnswer {
  const here = decisions.filter((one) => isAbout(one, scope))
  const posted = entries.filter((entry) => concerns(entry.scope, scope))
  const waiting = openEntries(entries).filter((entry) => concerns(entry.scope, scope))
  const open = (type: EntryType) => waiting.filter(({ entry_type }) => entry_type === type).length
  const inStatus = (wanted: string) => here.filter(({ status }) => status === wanted).length
  return {
    scope,
    active_decisions: inStatus('active'),
    provisional_decisions: inStatus('provisional'),
    open_needs: open('need'),
    active_warnings: open('warning'),
    unanswered_questions: open('question'),
    recent_activity_summary: activityOf({ entries: posted, decisions: here }, now),
  }
}

function activityOf({ entries, decisions }: ProjectRecords, now: number): string {
  const isRecent = ({ timestamp }: { timestamp: string }) => now - Date.parse(timestamp) < DAY_MS
  const recent = entries.filter(isRecent)
  const count = (...types: EntryType[]) =>
    recent.filter(({ entry_type }) => types.includes(entry_type)).length
  const parts = [
    counted(decisions.filter(isRecent).length, 'decision', 'made'),
    counted(count('finding'), 'finding', 'posted'),
    counted(count('warning'), 'warning', 'raised'),
    counted(count('need'), 'need', 'posted'),
    counted(count('question'), 'question', 'asked'),
    counted(count('answer'), 'answer', 'given'),
  ].filter((part) => part !== '')
  return parts.length === 0
    ? 'Nothing happened in the last 24 hours.'
    : `In the last 24 hours: ${parts.join(', ')}.`
}

function counted(count: number, noun: string, verb: string): string {
  return count === 0 ? '' : `${count} ${noun}${count === 1 ? '' : 's'} ${verb}`
}
