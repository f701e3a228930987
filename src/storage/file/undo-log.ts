/**
 * What rows were before the changes that are still on their way to the disk. Where the disk fails, what was there is
 * told again: a change that could not be written never was.
 */
import type { LeaseRecord, Leases } from './leases.ts'
import { FLAG, TIME_COLUMNS, type Location, type Row, type Rows, type StatusCode } from './rows.ts'

export interface RowBefore {
  row: Row
  status: StatusCode
  held: boolean
  deliveries: number
  expires: number
  /** In the order of `TIME_COLUMNS`. */
  times: (number | null)[]
  result: Location
  lease: LeaseRecord | undefined
}

export function rowBefore(rows: Rows, leases: Leases, row: Row): RowBefore {
  return {
    row,
    status: rows.status(row),
    held: rows.has(row, FLAG.held),
    deliveries: rows.page(row).deliveries[rows.slot(row)] as number,
    expires: rows.expires(row),
    times: TIME_COLUMNS.map((column) => rows.time(row, column)),
    result: rows.result(row),
    lease: leases.numbered(rows.get(row, 'lease')),
  }
}

/** All but its status and its lease, which others keep as well. */
export function rowAgain(rows: Rows, before: RowBefore): void {
  const { row, held, deliveries, expires, times, result } = before
  rows.flag(row, FLAG.held, held)
  rows.page(row).deliveries[rows.slot(row)] = deliveries
  rows.setExpires(row, expires)
  for (const [at, column] of TIME_COLUMNS.entries()) rows.setTime(row, column, times[at] ?? null)
  rows.setResult(row, result)
}

interface Change {
  segment: number
  offset: number
  rows: RowBefore[]
}

export class UndoLog {
  private changes: Change[] = []

  /** Takes what rows were before the change whose line stands here. */
  begin({ segment, offset }: Location): RowBefore[] {
    const rows: RowBefore[] = []
    this.changes.push({ segment, offset, rows })
    return rows
  }

  /** Changes before this place are there for good. */
  synced(end: { segment: number; bytes: number }): void {
    const lost = this.changes.findIndex(
      ({ segment, offset }) => segment > end.segment || (segment === end.segment && offset >= end.bytes),
    )
    this.changes = lost === -1 ? [] : this.changes.slice(lost)
  }

  /** All that may be lost, the latest change first. */
  take(): RowBefore[] {
    const { changes } = this
    this.changes = []
    return changes.toReversed().flatMap(({ rows }) => rows)
  }
}
