/** The most important of a project's memory, for a text that has room for a few lines. */
import type { MemoryLine } from './primer.ts'
import type { Remembered } from './refresh.ts'
import { PRIMER_LIMITS } from '../../contracts/primer-limits.ts'
import { STANDING } from '../decisions/change.ts'
import { openOnes } from '../memory/open.ts'

export interface Headlines {
  /** Null for the hub's own memory. */
  project: string | null
  lines: MemoryLine[]
}

/**
 * At most `primer_memory_lines_max`: one pin, then open warnings, then standing decisions, newest first. A standing
 * decision always has a line, however many warnings there are.
 */
export function headlinesOf({ entries, decisions, pins }: Remembered): MemoryLine[] {
  const pinned = pins.map(({ text }): MemoryLine => ({ label: 'pinned', text })).slice(-1)
  const standing = decisions
    .filter(({ status }) => STANDING.includes(status))
    .map(({ summary }): MemoryLine => ({ label: 'decision', text: summary }))
    .toReversed()
  const warnings = openOnes(entries)
    .filter(({ entry_type }) => entry_type === 'warning')
    .map(({ summary }): MemoryLine => ({ label: 'warning', text: summary }))
    .toReversed()
    .slice(0, PRIMER_LIMITS.primer_memory_lines_max - pinned.length - Math.min(standing.length, 1))
  return [...pinned, ...warnings, ...standing].slice(0, PRIMER_LIMITS.primer_memory_lines_max)
}
