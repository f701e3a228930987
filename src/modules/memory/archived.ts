/** What was archived of a blackboard, by id: to which day, and as it was then. */
import type { Library } from './library.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import { DAY_MS } from '../../ports/clock.ts'

export type ArchivedRows = ReadonlyMap<string, { day: string; body: RecordBody }>

/** All of it, or what may have been archived since a time. */
export async function archivedRows(
  { records, project }: Pick<Library, 'records' | 'project'>,
  since?: string,
): Promise<ArchivedRows> {
  // A day more than asked for: clocks are set.
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
