/** Archived entries of a blackboard by id: the day of the archive file, and the entry as it was archived. */
import type { ProjectMemory } from './project-memory.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import { DAY_MS } from '../../ports/clock.ts'

export type ArchivedRows = ReadonlyMap<string, { day: string; body: RecordBody }>

/** Returns every archived entry, or those that may have been archived since a time. */
export async function archivedRows(
  { records, project }: Pick<ProjectMemory, 'records' | 'project'>,
  since?: string,
): Promise<ArchivedRows> {
  // One day more, because clocks are adjusted.
  const first = since === undefined ? '' : dayOf(Date.parse(since) - DAY_MS)
  const rows = new Map<string, { day: string; body: RecordBody }>()
  for (const day of (await project?.archivedDays()) ?? []) {
    if (day < first) continue
    for (const { id, body } of await records.list(`archive/${day}`)) rows.set(id, { day, body })
  }
  return rows
}

export function dayOf(at_ms: number): string {
  return new Date(at_ms).toISOString().slice(0, 'yyyy-mm-dd'.length)
}
