/** Hands what was found to the hub, in calls that it takes, and sums up what it answers. */
import type { FoundItem, Unread } from './found.ts'
import { ImportSort, type ImportCounts, type Imported, type ImportInput } from '../../contracts/import.ts'
import { LIMITS } from '../../contracts/limits.ts'

export interface HandedOver {
  project_id: string | null
  counts: Record<ImportSort, ImportCounts>
  /** They are here, and say something else. */
  changed: { sort: ImportSort; id: string }[]
  unread: Unread[]
}

/** Entities before relations: where one is here under another id, its relations are led there. */
const ORDER: readonly ImportSort[] = ['entities', 'relations', 'decisions', 'entries', 'archived']

export async function handOver(
  items: readonly FoundItem[],
  call: (input: ImportInput) => Promise<Imported>,
): Promise<HandedOver> {
  const none = (): ImportCounts => ({ taken: 0, known: 0, changed: 0, rejected: 0 })
  const sum: HandedOver = {
    project_id: null,
    counts: {
      ...{ entries: none(), decisions: none(), entities: none(), relations: none(), archived: none() },
    },
    changed: [],
    unread: [],
  }
  const small = items.filter((item) => {
    const bytes = bytesOf(item)
    if (bytes <= LIMITS.record_bytes_max) return true
    const reason = `it has ${bytes} bytes; ${LIMITS.record_bytes_max} are allowed`
    sum.counts[item.sort].rejected += 1
    sum.unread.push({ ...spotOf(item), reason })
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
      const item = batch.filter((one) => one.sort === sort)[at]
      sum.unread.push({
        ...(item === undefined ? { file: sort } : spotOf(item)),
        ...(id === null ? {} : { id }),
        reason,
      })
    }
  }
  return sum
}

/** At least one, so that the project becomes known also where there is nothing to take over. */
function batches(items: readonly FoundItem[]): FoundItem[][] {
  const sorted = ORDER.flatMap((sort) => items.filter((item) => item.sort === sort))
  const all: FoundItem[][] = [[]]
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

function inputOf(batch: readonly FoundItem[]): Omit<ImportInput, 'same_as'> {
  const of = (sort: ImportSort) => batch.filter((item) => item.sort === sort)
  const values = (sort: ImportSort) => of(sort).map(({ value }) => value)
  return {
    ...{ entries: values('entries'), decisions: values('decisions') },
    ...{ entities: values('entities'), relations: values('relations') },
    archived: of('archived').map(({ day = '', value }) => ({ day, entry: value })),
  }
}

/** Only what the relations of this call refer to. */
function sameAsFor(batch: readonly FoundItem[], same_as: Imported['same_as']): Imported['same_as'] {
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

function spotOf({ file, line, item }: FoundItem) {
  return { file, ...(line === undefined ? {} : { line }), ...(item === undefined ? {} : { item }) }
}

function bytesOf({ value }: FoundItem): number {
  return Buffer.byteLength(JSON.stringify(value))
}
