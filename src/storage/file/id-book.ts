/**
 * Finds a signal's row by its id. Ids are made in ascending order and rows are numbered in the order of the
 * journal, so nothing has to be kept for most of them: they are found by halving. What is out of that order,
 * as what another clock has made may be, is in a table.
 *
 * A page's rows are in order up to the first one that is not; that one and what follows it in the page is in
 * the table.
 */
import type { Page, Row, Rows } from './rows.ts'
import { PAGE_ROWS, STATUS } from './rows.ts'
import { RowTable } from './row-table.ts'
import type { Words } from './ulid-words.ts'

export class IdBook {
  private readonly rows: Rows
  /** The last word: it differs between ids of the same millisecond, random or counted up. */
  private readonly hashOf = (row: Row): number =>
    this.rows.page(row).ids[this.rows.slot(row) * 4 + 3] as number
  private readonly table: RowTable
  /** Pages that begin in order, each with its first id. */
  private ordered: { number: number; first: Words }[] = []
  /** The highest id that is in order. */
  private readonly highest: Words = new Uint32Array(4)
  private readonly probe: Words = new Uint32Array(4)
  private readonly isProbe = (row: Row) => this.rows.hasId(row, this.probe)

  /** `slots` are those of a table that was saved; the pages are there already, then. */
  constructor(rows: Rows, slots?: Int32Array) {
    this.rows = rows
    this.table = new RowTable(this.hashOf, slots)
    for (const [number, page] of rows.pages.entries()) {
      if (page === undefined || page.in_order === 0) continue
      this.ordered.push({ number, first: page.ids.slice(0, 4) })
      const last = (page.in_order - 1) * 4
      this.highest.set(page.ids.subarray(last, last + 4))
    }
  }

  /** The row's id is set, and nobody else's. */
  add(row: Row, id: Words): void {
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

  /** The row of this id that is not gone, or -1. */
  find(id: Words): Row {
    if (!isAbove(id, this.highest)) {
      const row = this.halve(id)
      if (row !== -1) return row
    }
    if (this.table.size === 0) return -1
    for (let word = 0; word < 4; word += 1) this.probe[word] = id[word] as number
    return this.table.find(this.probe[3] as number, this.isProbe)
  }

  /** Call before the row is dropped. One that is in order needs nothing: it will be found gone. */
  remove(row: Row): void {
    if (this.rows.slot(row) >= this.rows.page(row).in_order) this.table.remove(row)
  }

  /** Call when the row was dropped: its page may have gone with it. */
  dropped(row: Row): void {
    if (this.rows.holds(row)) return
    const number = Math.floor(row / PAGE_ROWS)
    this.ordered = this.ordered.filter((one) => one.number !== number)
  }

  /** For the snapshot. */
  get raw(): Int32Array {
    return this.table.raw
  }

  private halve(id: Words): Row {
    const { ordered } = this
    let low = 0
    let high = ordered.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isAbove((ordered[middle] as { first: Words }).first, id)) high = middle
      else low = middle + 1
    }
    const found = ordered[low - 1]
    if (found === undefined) return -1
    const page = this.rows.pages[found.number] as Page
    const slot = slotOf(page, id)
    return slot === -1 || page.status[slot] === STATUS.gone ? -1 : found.number * PAGE_ROWS + slot
  }
}

/** Among the page's rows that are in order. */
function slotOf({ ids, in_order }: Page, id: Words): number {
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

function isAbove(one: Words, other: Words): boolean {
  return compare(one, 0, other) > 0
}

function compare(words: Words, start: number, other: Words): number {
  for (let word = 0; word < 4; word += 1) {
    const [mine, its] = [words[start + word] as number, other[word] as number]
    if (mine !== its) return mine < its ? -1 : 1
  }
  return 0
}
