/**
 * State of rows before changes that are not synced yet. If the disk fails, those changes are undone in memory, so that
 * the store reports only what is on disk.
 */
import type { JournalEnd } from '../../journal/journal.ts'
import type { LeaseRecord, DrainLeases } from '../drain-leases.ts'
import { FLAG, TIME_COLUMNS, type Location, type Row, type Rows, type StatusCode } from './signal-rows.ts'

export interface RowState {
  row: Row
  status: StatusCode
  held: boolean
  notified: boolean
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
  rows: RowState[]
}

export class UndoLog {
  private readonly rows: Rows
  private readonly leases: DrainLeases
  private changes: Change[] = []
  /** Null while the applied changes are on disk already. */
  private current: Change | null = null

  constructor(rows: Rows, leases: DrainLeases) {
    this.rows = rows
    this.leases = leases
  }

  /** Assigns all row changes until `end` to the line at this location. */
  begin(at: Location): void {
    this.current = { at, rows: [] }
    this.changes.push(this.current)
  }

  end(): void {
    this.current = null
  }

  /** Call before the row is changed. */
  record(row: Row): void {
    if (this.current === null) return
    const { rows, leases } = this
    this.current.rows.push({
      row,
      status: rows.status(row),
      held: rows.has(row, FLAG.held),
      notified: rows.has(row, FLAG.notified),
      taken_by: rows.get(row, 'taken_by'),
      deliveries: rows.page(row).deliveries[rows.slot(row)] as number,
      expires: rows.expires(row),
      times: TIME_COLUMNS.map((column) => rows.time(row, column)),
      result: rows.result(row),
      lease: leases.byNumber(rows.get(row, 'lease')),
    })
  }

  /** Discards the undo state of changes before this position, which are durable. */
  synced(end: JournalEnd): void {
    const unsynced = this.changes.findIndex(({ at }) => !isBefore(at, end))
    this.changes = unsynced === -1 ? [] : this.changes.slice(unsynced)
  }

  /** Returns the recorded states by row. */
  byRow(): Map<Row, RowState[]> {
    const by_row = new Map<Row, RowState[]>()
    for (const before of this.changes.flatMap(({ rows }) => rows)) {
      by_row.set(before.row, [...(by_row.get(before.row) ?? []), before])
    }
    return by_row
  }

  /** Removes and returns all recorded states, latest change first. */
  takeAll(): RowState[] {
    const { changes } = this
    this.changes = []
    return changes.toReversed().flatMap(({ rows }) => rows)
  }
}

/** Restores everything but status and lease, which also affect other structures of the index. */
export function restoreRow(rows: Rows, before: RowState): void {
  const { row, held, notified, taken_by, deliveries, expires, times, result } = before
  rows.flag(row, FLAG.held, held)
  rows.flag(row, FLAG.notified, notified)
  rows.set(row, 'taken_by', taken_by)
  rows.page(row).deliveries[rows.slot(row)] = deliveries
  rows.setExpires(row, expires)
  for (const [at, column] of TIME_COLUMNS.entries()) rows.setTime(row, column, times[at] ?? null)
  rows.setResult(row, result)
}

export function isBefore({ segment, offset }: Location, end: JournalEnd): boolean {
  return segment < end.segment || (segment === end.segment && offset < end.bytes)
}

export function isSameLocation(one: Location, other: Location): boolean {
  return one.segment === other.segment && one.offset === other.offset
}
