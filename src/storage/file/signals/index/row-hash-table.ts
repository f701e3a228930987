/**
 * A hash table of row numbers: open addressing with linear probing, at most three quarters full. It stores
 * only the numbers; the compared values are stored in the rows. Deletion shifts the following entries
 * back, so there are no tombstones. Source: Knuth, The Art of Computer Programming 3, 6.4, algorithm R.
 */
import type { Row } from './signal-rows.ts'

const SLOTS_MIN = 1024
const EMPTY = -1

export class RowHashTable {
  private slots: Int32Array
  private count = 0
  private readonly hashOf: (row: Row) => number

  constructor(hashOf: (row: Row) => number, slots: Int32Array = new Int32Array(SLOTS_MIN).fill(EMPTY)) {
    this.hashOf = hashOf
    this.slots = slots
    // An index loop, because an iterator takes several times as long.
    for (let at = 0; at < slots.length; at += 1) if (slots[at] !== EMPTY) this.count += 1
  }

  /** Returns the row with this hash for which `same` returns true, or -1. */
  find(hash: number, same: (row: Row) => boolean): Row {
    const mask = this.slots.length - 1
    for (let at = spread(hash) & mask; ; at = (at + 1) & mask) {
      const row = this.slots[at] as number
      if (row === EMPTY || same(row)) return row
    }
  }

  /** The row must not be in the table. */
  add(row: Row): void {
    if ((this.count + 1) * 4 > this.slots.length * 3) this.grow()
    this.place(row)
    this.count += 1
  }

  remove(row: Row): void {
    const { slots } = this
    const mask = slots.length - 1
    let hole = spread(this.hashOf(row)) & mask
    while (slots[hole] !== row) {
      if (slots[hole] === EMPTY) return
      hole = (hole + 1) & mask
    }
    this.count -= 1
    for (let at = (hole + 1) & mask; slots[at] !== EMPTY; at = (at + 1) & mask) {
      const home = spread(this.hashOf(slots[at] as number)) & mask
      // A row must not move in front of its home slot.
      if (((at - home) & mask) < ((at - hole) & mask)) continue
      slots[hole] = slots[at] as number
      hole = at
    }
    slots[hole] = EMPTY
  }

  get size(): number {
    return this.count
  }

  /** The slots as they are stored in a snapshot. */
  get raw(): Int32Array {
    return this.slots
  }

  private place(row: Row): void {
    const mask = this.slots.length - 1
    let at = spread(this.hashOf(row)) & mask
    while (this.slots[at] !== EMPTY) at = (at + 1) & mask
    this.slots[at] = row
  }

  private grow(): void {
    const rows = this.slots
    this.slots = new Int32Array(rows.length * 2).fill(EMPTY)
    for (const row of rows) if (row !== EMPTY) this.place(row)
  }
}

/** Spreads adjacent hashes over the table. */
function spread(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b)
  return mixed ^ (mixed >>> 16)
}
