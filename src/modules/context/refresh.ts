/** The sections of a brief: pins, warnings, decisions in force and open entries. */
import type { BriefSection } from './brief.ts'
import type { Pin } from '../../contracts/memory/context.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import type { Entry, EntryType } from '../../contracts/memory/entry.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { truncate } from '../../contracts/text/truncate.ts'
import { IN_FORCE } from '../decisions/change.ts'
import { isAbout } from '../decisions/find.ts'
import { openEntries } from '../memory/open-entries.ts'
import { concerns } from '../memory/scope.ts'

export interface ProjectRecords {
  entries: readonly Entry[]
  decisions: readonly Decision[]
  pins: readonly Pin[]
}

/** Newest first; each section has at most `brief_lines_max` lines. */
export function sectionsOf({ entries, decisions, pins }: ProjectRecords, scope: string): BriefSection[] {
  const waiting = openEntries(entries)
  const of = (type: EntryType, among: readonly Entry[] = waiting): string[] =>
    newest(among.filter((entry) => entry.entry_type === type && concerns(entry.scope, scope))).map(lineOf)
  const in_force = newest(decisions.filter((one) => isAbout(one, scope) && IN_FORCE.includes(one.status)))
  return [
    { title: 'Pinned', lines: pins.map(({ key, text }) => `${key}: ${text}`) },
    { title: 'Warnings', lines: of('warning') },
    { title: 'Decisions', lines: in_force.map(decisionLine) },
    { title: 'Open needs', lines: of('need') },
    { title: 'Unanswered questions', lines: of('question') },
    { title: 'Recent findings', lines: of('finding', entries) },
  ]
}

function newest<T>(items: readonly T[]): T[] {
  return items.slice(-LIMITS.brief_lines_max).toReversed()
}

function decisionLine({ summary, rationale, scope, status }: Decision): string {
  const where = status === 'active' ? scope : `${scope}, ${status}`
  return `${summary} (${where}): ${truncate(rationale, LIMITS.brief_reason_length_max)}`
}

function lineOf({ summary, scope, agent_id, id }: Entry): string {
  return `${summary} (${scope}, ${agent_id}, ${id})`
}
