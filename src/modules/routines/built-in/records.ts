/** Records of all kinds at once, as a section. */
import { Away, briefly, entries } from './sections.ts'
import type { Json } from '../../../contracts/ids.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { RecordKind } from '../../../contracts/records.ts'
import type { RoutineStep } from '../../../contracts/routine.ts'

/** Finds what has a text in it; the parameter `query` says which. */
export const mentioning = { text: { $param: 'query' } }

/** Statuses that a record may still leave; null for a kind that has none. */
export function stillOpen({ status }: RecordKind): Json {
  const statuses = Object.keys(status?.moves ?? {})
  return statuses.length === 0 ? null : { status: statuses }
}

/** One step for every kind that there is a filter for. No step where there is none. */
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

/** What came of it: the newest of all kinds, in short. */
export function foundRecords({ results }: Record<string, Json>, limit: number): Json | Away {
  const pages: Page[] = []
  let refused = 'kind_unknown'
  for (const { result, error } of entries(results)) {
    if (result === undefined) refused = (error as { code: string }).code
    else pages.push(result as unknown as Page)
  }
  if (pages.length === 0) return new Away(refused)
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
