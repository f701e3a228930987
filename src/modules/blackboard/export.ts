/** Exports the memory of a project as one Markdown document. */
import type { Exported } from '../../contracts/memory/blackboard.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import type { Entry } from '../../contracts/memory/entry.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { isAbout } from '../decisions/find.ts'
import { openEntries } from '../memory/open-entries.ts'
import { memoryName, type MemoryLocation } from '../memory/memory-resolver.ts'
import { within } from '../memory/scope.ts'

const RECENT_MAX = 50
const ENTITIES_SHOWN_MAX = 20

export async function exportOf(location: MemoryLocation, scope: string, now: string): Promise<Exported> {
  const { memory } = location
  const all = await memory.entries.list()
  const entries = all.filter((entry) => within(entry.scope, scope))
  const decisions = (await memory.decisions.list()).filter((one) => isAbout(one, scope)).toReversed()
  const waiting = openEntries(all).filter((entry) => within(entry.scope, scope))
  const open = (type: string) => waiting.filter(({ entry_type }) => entry_type === type).toReversed()
  const others = entries
    .filter(({ entry_type }) => !['need', 'question', 'warning', 'decision'].includes(entry_type))
    .toReversed()
    .slice(0, RECENT_MAX)
  const sections = [
    ...[
      `# Shared memory of ${memoryName(location, await location.settings())}`,
      `Scope: ${scope}. Exported ${now}.`,
    ],
    ...section('Decisions', decisions.map(decisionText)),
    ...section('Open needs', open('need').map(entryText)),
    ...section('Unanswered questions', open('question').map(entryText)),
    ...section('Warnings', open('warning').map(entryText)),
    ...section('Recent entries', others.map(entryText)),
    ...section('Graph', await graphLines(location)),
  ]
  return fitting(sections)
}

/** Returns nothing for a section without pieces. */
function section(title: string, pieces: readonly string[]): string[] {
  return pieces.length === 0 ? [] : [`## ${title}`, ...pieces]
}

function decisionText(decision: Decision): string {
  const { id, timestamp, agent_id, domain, scope, summary, context, rationale, status } = decision
  const { confidence, alternatives, constraints, affected_files, affected_symbols, depends_on } = decision
  const list = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(', ')
  return [
    `### ${line(summary)}`,
    `${status}, ${confidence} confidence, ${domain}, \`${scope}\`, ${agent_id}, ${timestamp} (${id})`,
    ...(context === '' ? [] : [quoted('Context', context)]),
    ...(rationale === '' ? [] : [quoted('Why', rationale)]),
    ...(constraints.length === 0 ? [] : [`Constraints: ${constraints.join('; ')}`]),
    ...alternatives.map(
      ({ option, reason_rejected = '' }) => `- Rejected: ${line(option)}: ${line(reason_rejected)}`,
    ),
    ...(affected_files.length + affected_symbols.length === 0
      ? []
      : [`Affects ${list([...affected_files, ...affected_symbols])}`]),
    ...(depends_on.length === 0 ? [] : [`Rests on ${list(depends_on)}`]),
    ...(decision.override_reason === undefined
      ? []
      : [quoted(`Overridden by ${decision.overridden_by ?? 'somebody'}`, decision.override_reason)]),
  ].join('\n\n')
}

/** Quotes a text of several lines, so that a heading or an open fence in it does not affect the rest of the document. */
function quoted(label: string, text: string): string {
  const lines = text.trim().split('\n')
  return lines.length === 1
    ? `${label}: ${text.trim()}`
    : [`${label}:`, '', ...lines.map((one) => `> ${one}`)].join('\n')
}

function entryText({ id, entry_type, agent_id, timestamp, scope, summary, detail, tags }: Entry): string {
  const about = [entry_type, `\`${scope}\``, ...tags, agent_id, timestamp, id].join(', ')
  const more =
    detail.trim() === ''
      ? []
      : detail
          .trim()
          .split('\n')
          .map((text) => `  ${text}`)
  return [`- **${line(summary)}** (${about})`, ...more].join('\n')
}

async function graphLines({ memory }: MemoryLocation): Promise<string[]> {
  const [entities, relations] = [await memory.entities.list(), await memory.relations.list()]
  if (entities.length === 0) return []
  const connected = new Map<string, number>()
  for (const { source, target } of relations) {
    for (const id of [source, target]) connected.set(id, (connected.get(id) ?? 0) + 1)
  }
  const most = entities
    .map((entity) => ({ entity, relations: connected.get(entity.id) ?? 0 }))
    .sort((a, b) => b.relations - a.relations)
    .slice(0, ENTITIES_SHOWN_MAX)
    .map(({ entity: { name, type, properties }, relations: count }) => {
      const summary = typeof properties['summary'] === 'string' ? `: ${line(properties['summary'])}` : ''
      return `- \`${name}\` (${type}, ${count} relations)${summary}`
    })
  return [`${entities.length} entities, ${relations.length} relations. The best connected:`, most.join('\n')]
}

/** Replaces line breaks by spaces. */
function line(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function fitting(sections: readonly string[]): Exported {
  const kept: string[] = []
  let bytes = 0
  for (const piece of sections) {
    bytes += Buffer.byteLength(piece) + 2
    if (bytes > LIMITS.export_bytes_max) break
    kept.push(piece)
  }
  const left = sections.length - kept.length
  const notice = left === 0 ? [] : [`(${left} more pieces do not fit; export a narrower scope.)`]
  return { markdown: `${[...kept, ...notice].join('\n\n')}\n`, truncated: left > 0 }
}
