/** What an agent has to know that begins, or has lost what it knew: what was pinned, holds, hurts and is open. */
import type { BriefSection } from './brief.ts'
import type { Pin } from '../../contracts/context.ts'
import type { Decision } from '../../contracts/decision.ts'
import type { Entry, EntryType } from '../../contracts/entry.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { beginning } from '../../contracts/beginning.ts'
import { STANDING } from '../decisions/change.ts'
import { isAbout } from '../decisions/find.ts'
import { openOnes } from '../memory/open.ts'
import { concerns } from '../memory/scope.ts'

export interface Remembered {
  entries: readonly Entry[]
  decisions: readonly Decision[]
  pins: readonly Pin[]
}

/** Newest first, within what a brief may hold of each. */
export function sectionsOf({ entries, decisions, pins }: Remembered, scope: string): BriefSection[] {
  const waiting = openOnes(entries)
  const of = (type: EntryType, among: readonly Entry[] = waiting): string[] =>
    newest(among.filter((entry) => entry.entry_type === type && concerns(entry.scope, scope))).map(lineOf)
  const holding = newest(decisions.filter((one) => isAbout(one, scope) && STANDING.includes(one.status)))
  return [
    { title: 'Pinned', lines: pins.map(({ key, text }) => `${key}: ${text}`) },
    { title: 'Warnings', lines: of('warning') },
    { title: 'Decisions', lines: holding.map(decisionLine) },
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
  return `${summary} (${where}): ${beginning(rationale, LIMITS.brief_reason_length_max)}`
}

function lineOf({ summary, scope, agent_id, id }: Entry): string {
  return `${summary} (${scope}, ${agent_id}, ${id})`
}
