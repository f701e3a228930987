/** Who was handed what under which drain_id. */
import type { DrainId, SessionId } from '../../contracts/ids.ts'
import type { Row } from './rows.ts'

export interface LeaseRecord {
  /** What the rows carry. */
  number: number
  drain_id: DrainId
  session_id: SessionId
  /** The persona's number. */
  persona: number
  /**
   * In the order of hand-out. Also the ones that the hub took back since and that were not handed out
   * again: a confirm may still come for them.
   */
  rows: Set<Row>
}

export class Leases {
  private readonly by_id = new Map<DrainId, LeaseRecord>()
  private readonly by_number = new Map<number, LeaseRecord>()
  private next = 1

  open(drain_id: DrainId, session_id: SessionId, persona: number): LeaseRecord {
    const known = this.by_id.get(drain_id)
    if (known !== undefined) return known
    const lease = { number: this.next++, drain_id, session_id, persona, rows: new Set<Row>() }
    this.by_id.set(drain_id, lease)
    this.by_number.set(lease.number, lease)
    return lease
  }

  /** As it was saved, or before a change that was lost: the rows carry its number. What is put back stands last in it. */
  restore(lease: LeaseRecord): void {
    this.by_id.set(lease.drain_id, lease)
    this.by_number.set(lease.number, lease)
    this.next = Math.max(this.next, lease.number + 1)
  }

  find(drain_id: DrainId): LeaseRecord | undefined {
    return this.by_id.get(drain_id)
  }

  numbered(number: number): LeaseRecord | undefined {
    return this.by_number.get(number)
  }

  /** The last row takes the lease with it. */
  leave(number: number, row: Row): void {
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
