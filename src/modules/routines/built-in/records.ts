/** A section with records of all kinds. */
import { Unavailable, briefly, entries } from './sections.ts'
import type { Json } from '../../../contracts/ids.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { RecordKind } from '../../../contracts/memory/records.ts'
import type { RoutineStep } from '../../../contracts/runs/routine.ts'

/** Filter for records that contain the text of the parameter `query`. */
export const mentioning = { text: { $param: 'query' } }

/** Filter for records that are not closed; null for a kind without status. */
export function stillOpen({ status }: RecordKind): Json {
  const statuses = Object.keys(status?.moves ?? {})
  return statuses.length === 0 ? null : { status: statuses }
}

/** Returns one step that queries all kinds with a filter; no step if there are none. */
export function recordsStep(
  kinds: readonly RecordKind[],
  filterOf: (kind: RecordKind) => Json,
  limit: number,
): (RoutineStep & { id: string })[] {
  const calls = kinds.flatMap((kind) => {
    const filter = filterOf(kind)
    const params = { kind: kind.name, filter, limit }
    return filter === null ? [] : [{ facade: 'store', action: 'query', params }]
  })
  if (calls.length === 0) return []
  const params = { calls: calls.slice(0, LIMITS.batch_calls_max) }
  return [{ id: 'records', step: 'call', with: { facade: 'workflow', action: 'batch', params } }]
}

const FIELDS = ['id', 'kind', 'title', 'text', 'name', 'status', 'scope', 'updated_at']

/** Returns the newest records of all kinds, with few fields. */
export function foundRecords({ results }: Record<string, Json>, limit: number): Json | Unavailable {
  const pages: Page[] = []
  let refused = 'kind_unknown'
  for (const { result, error } of entries(results)) {
    if (result === undefined) refused = (error as { code: string }).code
    else pages.push(result as unknown as Page)
  }
  if (pages.length === 0) return new Unavailable(refused)
  const newest = pages
    .flatMap(({ records }) => entries(records))
    .toSorted((a, b) => (text(a) < text(b) ? 1 : -1))
  return {
    total: pages.reduce((sum, { total }) => sum + total, 0),
    records: briefly(newest, FIELDS, limit),
  }
}

interface Page {
  records: Json
  total: number
}

function text({ updated_at }: Record<string, Json>): string {
  return typeof updated_at === 'string' ? updated_at : ''
}
