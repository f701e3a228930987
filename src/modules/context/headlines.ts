/** The most important lines of a project's memory. */
import type { MemoryLine } from './primer.ts'
import type { ProjectRecords } from './refresh.ts'
import { PRIMER_LIMITS } from '../../contracts/limits/primer.ts'
import { IN_FORCE } from '../decisions/change.ts'
import { openEntries } from '../memory/open-entries.ts'

export interface Headlines {
  /** Null for the hub's own memory. */
  project: string | null
  lines: MemoryLine[]
}

/**
 * At most `primer_memory_lines_max`: one pin, then open warnings, then decisions in force, newest first. A decision
 * in force always has a line, even with many warnings.
 */
export function headlinesOf({ entries, decisions, pins }: ProjectRecords): MemoryLine[] {
  const pinned = pins.map(({ text }): MemoryLine => ({ label: 'pinned', text })).slice(-1)
  const in_force = decisions
    .filter(({ status }) => IN_FORCE.includes(status))
    .map(({ summary }): MemoryLine => ({ label: 'decision', text: summary }))
    .toReversed()
  const warnings = openEntries(entries)
    .filter(({ entry_type }) => entry_type === 'warning')
    .map(({ summary }): MemoryLine => ({ label: 'warning', text: summary }))
    .toReversed()
    .slice(0, PRIMER_LIMITS.primer_memory_lines_max - pinned.length - Math.min(in_force.length, 1))
  return [...pinned, ...warnings, ...in_force].slice(0, PRIMER_LIMITS.primer_memory_lines_max)
}
