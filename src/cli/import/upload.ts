/** Uploads parsed items to the hub in calls within its limits, and sums up the answers. */
import type { ParsedItem, Unread } from './parsed-import.ts'
import {
  ImportSort,
  type ImportCounts,
  type Imported,
  type ImportInput,
} from '../../contracts/memory/import.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

export interface Uploaded {
  project_id: string | null
  counts: Record<ImportSort, ImportCounts>
  /** Items that exist here with different content. */
  changed: { sort: ImportSort; id: string }[]
  unread: Unread[]
}

/** Entities before relations, so that relations can refer to an entity that exists under another id. */
const ORDER: readonly ImportSort[] = ['entities', 'relations', 'decisions', 'entries', 'archived']

export async function upload(
  items: readonly ParsedItem[],
  call: (input: ImportInput) => Promise<Imported>,
): Promise<Uploaded> {
  const none = (): ImportCounts => ({ taken: 0, known: 0, changed: 0, rejected: 0 })
  const sum: Uploaded = {
    project_id: null,
    counts: { entries: none(), decisions: none(), entities: none(), relations: none(), archived: none() },
    changed: [],
    unread: [],
  }
  const small = items.filter((item) => {
    const bytes = bytesOf(item)
    if (bytes <= LIMITS.record_bytes_max) return true
    const reason = `it has ${bytes} bytes; ${LIMITS.record_bytes_max} are allowed`
    sum.counts[item.sort].rejected += 1
    sum.unread.push({ ...locationOf(item), reason })
    return false
  })
  let same_as: Imported['same_as'] = {}
  for (const batch of batches(small)) {
    const answer = await call({ ...inputOf(batch), same_as: sameAsFor(batch, same_as) })
    same_as = { ...same_as, ...answer.same_as }
    sum.project_id = answer.project_id
    for (const sort of ImportSort.options) add(sum.counts[sort], answer.counts[sort])
    sum.changed.push(...answer.changed)
    for (const { sort, at, id, reason } of answer.rejected) {
      const item = batch.filter((candidate) => candidate.sort === sort)[at]
      sum.unread.push({
        ...(item === undefined ? { file: sort } : locationOf(item)),
        ...(id === null ? {} : { id }),
        reason,
      })
    }
  }
  return sum
}

/** Returns at least one batch, so that the hub registers the project even if there is nothing to import. */
function batches(items: readonly ParsedItem[]): ParsedItem[][] {
  const sorted = ORDER.flatMap((sort) => items.filter((item) => item.sort === sort))
  const all: ParsedItem[][] = [[]]
  let bytes = 0
  for (const item of sorted) {
    const last = all.at(-1) ?? []
    bytes += bytesOf(item)
    if (last.length < LIMITS.import_items_max && bytes <= LIMITS.import_call_bytes_max) last.push(item)
    else {
      all.push([item])
      bytes = bytesOf(item)
    }
  }
  return all
}

function inputOf(batch: readonly ParsedItem[]): Omit<ImportInput, 'same_as'> {
  const of = (sort: ImportSort) => batch.filter((item) => item.sort === sort)
  const values = (sort: ImportSort) => of(sort).map(({ value }) => value)
  return {
    entries: values('entries'),
    decisions: values('decisions'),
    entities: values('entities'),
    relations: values('relations'),
    archived: of('archived').map(({ day = '', value }) => ({ day, entry: value })),
  }
}

/** Returns the ids that the relations of this call refer to. */
function sameAsFor(batch: readonly ParsedItem[], same_as: Imported['same_as']): Imported['same_as'] {
  const ends = batch
    .filter(({ sort }) => sort === 'relations')
    .flatMap(({ value }) => [value['source'], value['target']])
  const needed: Imported['same_as'] = {}
  for (const id of ends) {
    if (typeof id !== 'string') continue
    const other = same_as[id]
    if (other !== undefined) needed[id] = other
  }
  return needed
}

function add(sum: ImportCounts, more: ImportCounts): void {
  for (const fate of ['taken', 'known', 'changed', 'rejected'] as const) sum[fate] += more[fate]
}

function locationOf({ file, line, item }: ParsedItem) {
  return { file, ...(line === undefined ? {} : { line }), ...(item === undefined ? {} : { item }) }
}

function bytesOf({ value }: ParsedItem): number {
  return Buffer.byteLength(JSON.stringify(value))
}
