/**
 * Finds a signal's row by its id. Most ids ascend in the order of the journal, as rows do, and are found by
 * binary search without further memory. Ids out of that order, for example from another clock, are in a
 * hash table.
 *
 * A page's rows are in order up to the first one that is not; that row and all later rows of the page are in
 * the hash table.
 */
import type { Page, Row, Rows } from './signal-rows.ts'
import { PAGE_ROWS, STATUS } from './signal-rows.ts'
import { RowHashTable } from './row-hash-table.ts'
import type { UlidWords } from '../../journal/ulid-words.ts'

export class IdIndex {
  private readonly rows: Rows
  /** Uses the last word, because it differs between ids of the same millisecond. */
  private readonly hashOf = (row: Row): number =>
    this.rows.page(row).ids[this.rows.slot(row) * 4 + 3] as number
  private readonly table: RowHashTable
  /** Pages whose first row is in order, each with its first id. */
  private ordered: { number: number; first: UlidWords }[] = []
  /** The highest id among the rows in order. */
  private readonly highest: UlidWords = new Uint32Array(4)
  private readonly probe: UlidWords = new Uint32Array(4)
  private readonly isProbe = (row: Row) => this.rows.hasId(row, this.probe)

  /** `slots` is the hash table from a snapshot; in that case the pages must be loaded already. */
  constructor(rows: Rows, slots?: Int32Array) {
    this.rows = rows
    this.table = new RowHashTable(this.hashOf, slots)
    for (const [number, page] of rows.pages.entries()) {
      if (page === undefined || page.in_order === 0) continue
      this.ordered.push({ number, first: page.ids.slice(0, 4) })
      const last = (page.in_order - 1) * 4
      this.highest.set(page.ids.subarray(last, last + 4))
    }
  }

  /** The row must have its id already, and the id must be unique. */
  add(row: Row, id: UlidWords): void {
    const page = this.rows.page(row)
    const slot = this.rows.slot(row)
    if (page.in_order !== slot || !isAbove(id, this.highest)) {
      this.table.add(row)
      return
    }
    page.in_order = slot + 1
    for (let word = 0; word < 4; word += 1) this.highest[word] = id[word] as number
    if (slot === 0) this.ordered.push({ number: Math.floor(row / PAGE_ROWS), first: id.slice() })
  }

  /** Returns the row with this id that is not gone, or -1. */
  find(id: UlidWords): Row {
    if (!isAbove(id, this.highest)) {
      const row = this.binarySearch(id)
      if (row !== -1) return row
    }
    if (this.table.size === 0) return -1
    for (let word = 0; word < 4; word += 1) this.probe[word] = id[word] as number
    return this.table.find(this.probe[3] as number, this.isProbe)
  }

  /** Call before the row is dropped. A row in order needs no removal, because `find` skips rows that are gone. */
  remove(row: Row): void {
    if (this.rows.slot(row) >= this.rows.page(row).in_order) this.table.remove(row)
  }

  /** Call after the row was dropped, because its page may have been freed. */
  dropped(row: Row): void {
    if (this.rows.holds(row)) return
    const number = Math.floor(row / PAGE_ROWS)
    this.ordered = this.ordered.filter((one) => one.number !== number)
  }

  /** The hash table as it is stored in a snapshot. */
  get raw(): Int32Array {
    return this.table.raw
  }

  private binarySearch(id: UlidWords): Row {
    const { ordered } = this
    let low = 0
    let high = ordered.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isAbove((ordered[middle] as { first: UlidWords }).first, id)) high = middle
      else low = middle + 1
    }
    const candidate = ordered[low - 1]
    if (candidate === undefined) return -1
    const page = this.rows.pages[candidate.number] as Page
    const slot = slotOf(page, id)
    return slot === -1 || page.status[slot] === STATUS.gone ? -1 : candidate.number * PAGE_ROWS + slot
  }
}

/** Binary search among the page's rows that are in order. Returns -1 if there is no such id. */
function slotOf({ ids, in_order }: Page, id: UlidWords): number {
  let low = 0
  let high = in_order
  while (low < high) {
    const middle = (low + high) >>> 1
    const order = compare(ids, middle * 4, id)
    if (order === 0) return middle
    if (order < 0) low = middle + 1
    else high = middle
  }
  return -1
}

function isAbove(one: UlidWords, other: UlidWords): boolean {
  return compare(one, 0, other) > 0
}

function compare(words: UlidWords, start: number, other: UlidWords): number {
  for (let word = 0; word < 4; word += 1) {
    const [mine, its] = [words[start + word] as number, other[word] as number]
    if (mine !== its) return mine < its ? -1 : 1
  }
  return 0
}
