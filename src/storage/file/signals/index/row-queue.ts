/**
 * A sorted queue of rows. Most rows are added at the end and removed at the start; a released row is
 * re-added near the start. Both are cheap. Elsewhere the shorter side is shifted.
 */
import type { Row } from './signal-rows.ts'

const ROOM_MIN = 16

export class RowQueue {
  private rows = new Int32Array(ROOM_MIN)
  private start = 0
  private end = 0

  get size(): number {
    return this.end - this.start
  }

  at(index: number): Row {
    return this.rows[this.start + index] as Row
  }

  last(limit: number): Row[] {
    return [...this.rows.subarray(Math.max(this.start, this.end - limit), this.end)]
  }

  add(row: Row): void {
    if (this.end < this.rows.length && (this.size === 0 || (this.rows[this.end - 1] as Row) < row)) {
      this.rows[this.end] = row
      this.end += 1
      return
    }
    const place = this.size === 0 || (this.rows[this.end - 1] as Row) < row ? this.end : this.placeOf(row)
    if (place < this.end && this.rows[place] === row) return
    const before = place - this.start
    const after = this.end - place
    if (this.start > 0 && before < after) {
      this.rows.copyWithin(this.start - 1, this.start, place)
      this.start -= 1
      this.rows[place - 1] = row
      return
    }
    if (this.end === this.rows.length) this.makeRoom()
    const at = this.start + before
    this.rows.copyWithin(at + 1, at, this.end)
    this.end += 1
    this.rows[at] = row
  }

  /** Does nothing if the row is not in the queue. */
  remove(row: Row): void {
    const place = this.placeOf(row)
    if (place === this.end || this.rows[place] !== row) return
    if (place - this.start < this.end - place) {
      this.rows.copyWithin(this.start + 1, this.start, place)
      this.start += 1
    } else {
      this.rows.copyWithin(place, place + 1, this.end)
      this.end -= 1
    }
  }

  /** Returns the index of the row, or the index at which it would be inserted. */
  private placeOf(row: Row): number {
    let low = this.start
    let high = this.end
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.rows[middle] as Row) < row) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Leaves some room at the start, where released rows are re-added. */
  private makeRoom(): void {
    const { size } = this
    const front = Math.min(ROOM_MIN / 2, this.start)
    const length = size * 2 >= this.rows.length ? this.rows.length * 2 : this.rows.length
    const rows = new Int32Array(length)
    rows.set(this.rows.subarray(this.start, this.end), front)
    this.rows = rows
    this.start = front
    this.end = front + size
  }
}
