/** The leases of drains: which signals were drained by which session under which drain_id. */
import type { DrainId, SessionId } from '../../../contracts/ids.ts'
import type { Row } from './index/signal-rows.ts'

export interface LeaseRecord {
  /** The number stored in the rows' `lease` column. */
  number: number
  drain_id: DrainId
  session_id: SessionId
  /** The persona's number. */
  persona: number
  /**
   * Rows in the order in which they were drained. Includes released rows that were not drained again,
   * because a late confirm still counts for them.
   */
  rows: Set<Row>
}

export class DrainLeases {
  private readonly by_id = new Map<DrainId, LeaseRecord>()
  private readonly by_number = new Map<number, LeaseRecord>()
  private next = 1

  open(drain_id: DrainId, session_id: SessionId, persona: number): LeaseRecord {
    const existing = this.by_id.get(drain_id)
    if (existing !== undefined) return existing
    const lease = { number: this.next++, drain_id, session_id, persona, rows: new Set<Row>() }
    this.by_id.set(drain_id, lease)
    this.by_number.set(lease.number, lease)
    return lease
  }

  /** Restores a lease from a snapshot, or to its state before a lost change, under the number that its rows contain. */
  restore(lease: LeaseRecord): void {
    this.by_id.set(lease.drain_id, lease)
    this.by_number.set(lease.number, lease)
    this.next = Math.max(this.next, lease.number + 1)
  }

  find(drain_id: DrainId): LeaseRecord | undefined {
    return this.by_id.get(drain_id)
  }

  byNumber(number: number): LeaseRecord | undefined {
    return this.by_number.get(number)
  }

  /** Removes the row from the lease, and the lease with its last row. */
  removeRow(number: number, row: Row): void {
    const lease = this.by_number.get(number)
    if (lease === undefined) return
    lease.rows.delete(row)
    if (lease.rows.size > 0) return
    this.by_number.delete(number)
    this.by_id.delete(lease.drain_id)
  }

  all(): Iterable<LeaseRecord> {
    return this.by_id.values()
  }
}
