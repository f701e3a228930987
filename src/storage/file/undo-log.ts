/**
 * What rows were before the changes that are still on their way to the disk. Where the disk fails, what was there is
 * told again: a change that could not be written never was.
 */
import type { JournalEnd } from './journal.ts'
import type { LeaseRecord, Leases } from './leases.ts'
import { FLAG, TIME_COLUMNS, type Location, type Row, type Rows, type StatusCode } from './rows.ts'

export interface RowBefore {
  row: Row
  status: StatusCode
  held: boolean
  told: boolean
  taken_by: number
  deliveries: number
  expires: number
  /** In the order of `TIME_COLUMNS`. */
  times: (number | null)[]
  result: Location
  lease: LeaseRecord | undefined
}

interface Change {
  at: Location
  rows: RowBefore[]
}

export class UndoLog {
  private readonly rows: Rows
  private readonly leases: Leases
  private changes: Change[] = []
  /** Null while what changes is on the disk already. */
  private current: Change | null = null

  constructor(rows: Rows, leases: Leases) {
    this.rows = rows
    this.leases = leases
  }

  /** Until `end`, rows change by the line that stands here. */
  begin(at: Location): void {
    this.current = { at, rows: [] }
    this.changes.push(this.current)
  }

  end(): void {
    this.current = null
  }

  /** Call before the row is changed. */
  note(row: Row): void {
    if (this.current === null) return
    const { rows, leases } = this
    this.current.rows.push({
      row,
      status: rows.status(row),
      held: rows.has(row, FLAG.held),
      told: rows.has(row, FLAG.told),
      taken_by: rows.get(row, 'taken_by'),
      deliveries: rows.page(row).deliveries[rows.slot(row)] as number,
      expires: rows.expires(row),
      times: TIME_COLUMNS.map((column) => rows.time(row, column)),
      result: rows.result(row),
      lease: leases.numbered(rows.get(row, 'lease')),
    })
  }

  /** Changes before this place are there for good. */
  synced(end: JournalEnd): void {
    const unsynced = this.changes.findIndex(({ at }) => !isBefore(at, end))
    this.changes = unsynced === -1 ? [] : this.changes.slice(unsynced)
  }

  /** What the rows were that may change back, by their number. */
  byRow(): Map<Row, RowBefore[]> {
    const by_row = new Map<Row, RowBefore[]>()
    for (const before of this.changes.flatMap(({ rows }) => rows)) {
      by_row.set(before.row, [...(by_row.get(before.row) ?? []), before])
    }
    return by_row
  }

  /** All that may be lost, the latest change first. */
  take(): RowBefore[] {
    const { changes } = this
    this.changes = []
    return changes.toReversed().flatMap(({ rows }) => rows)
  }
}

/** All but its status and its lease, which others keep as well. */
export function restoreRow(rows: Rows, before: RowBefore): void {
  const { row, held, told, taken_by, deliveries, expires, times, result } = before
  rows.flag(row, FLAG.held, held)
  rows.flag(row, FLAG.told, told)
  rows.set(row, 'taken_by', taken_by)
  rows.page(row).deliveries[rows.slot(row)] = deliveries
  rows.setExpires(row, expires)
  for (const [at, column] of TIME_COLUMNS.entries()) rows.setTime(row, column, times[at] ?? null)
  rows.setResult(row, result)
}

export function isBefore({ segment, offset }: Location, end: JournalEnd): boolean {
  return segment < end.segment || (segment === end.segment && offset < end.bytes)
}

export function isSamePlace(one: Location, other: Location): boolean {
  return one.segment === other.segment && one.offset === other.offset
}
