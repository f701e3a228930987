/**
 * What the index knows of each signal, in typed arrays: about 60 bytes a signal instead of the several
 * hundred that an object with its strings would take, and nothing for the garbage collector to walk.
 *
 * A row's number is its place; later signals have higher numbers, numbers are never given out twice while
 * the store is open. Rows live in pages, so that growing copies nothing and a page whose signals are all
 * forgotten is freed. What only some signals have (stages, a lease, a result) gets its column per page,
 * once a first row of the page needs it.
 */
import { STAGE_ORDER, timeInOrder, type ObservedStage } from '../stage-order.ts'
import { textOf, type Words } from './ulid-words.ts'

export type Row = number

/** Where a line stands in the journal; `length` leaves the newline out. */
export interface Location {
  segment: number
  offset: number
  length: number
}

const PAGE_BITS = 12
export const PAGE_ROWS = 1 << PAGE_BITS
const IN_PAGE = PAGE_ROWS - 1

export const STATUS = {
  /** No signal here any more. */
  gone: 0,
  pending: 1,
  acked: 2,
  completed: 3,
  expired: 4,
  dead: 5,
  /** Over for good, but its line is still in the journal: kept until compaction has rewritten that. */
  forgotten: 6,
  cancelled: 7,
} as const
export type StatusCode = (typeof STATUS)[keyof typeof STATUS]

export const FLAG = {
  /** Acked under a lease that is neither confirmed nor released. */
  held: 1,
  /** The intent is not among the interned ones: it is read from the line. */
  intent_on_disk: 2,
  /** In progress, and a later session was told of it. */
  told: 4,
} as const

/** Columns of 32 bits that a page has once one of its rows needs them. */
export const COLUMNS = [
  'pushed_at',
  'rung_at',
  'seen_at',
  'drained_at',
  'confirmed_at',
  'completed_at',
  'told_at',
  'cancelled_at',
  'lease',
  'taken_by',
  'to_session',
  'key_hash',
  'reply_hash',
  'result_segment',
  'result_offset',
  'result_length',
] as const
export type Column = (typeof COLUMNS)[number]
type TimeColumn = ObservedStage | 'told_at' | 'cancelled_at'

/** Times are kept as milliseconds after the signal's creation, plus one. What does not fit is kept apart. */
const TIME_APART = 0xffffffff

const FIXED_BYTES_A_ROW = 58
/** Of the columns that every page has. */
export const PAGE_BYTES = PAGE_ROWS * FIXED_BYTES_A_ROW

export class Page {
  readonly buffer: ArrayBuffer
  readonly created_ms: Float64Array
  readonly ids: Uint32Array
  readonly seqs: Uint32Array
  readonly segments: Uint32Array
  readonly offsets: Uint32Array
  readonly lengths: Uint32Array
  readonly to: Uint32Array
  readonly from: Uint32Array
  readonly expires: Uint32Array
  readonly intents: Uint16Array
  readonly status: Uint8Array
  readonly priority: Uint8Array
  readonly deliveries: Uint8Array
  readonly flags: Uint8Array
  readonly columns: Partial<Record<Column, Uint32Array<ArrayBuffer>>> = {}
  /** Added to every seq of the page. */
  seq_base: number
  /** Rows that are not gone. */
  used = 0
  /** So many rows from the first on are in the order of their ids; see `IdBook`. */
  in_order = 0
  /** No pending row of the page expires before; lets a sweep skip the page. */
  earliest_expiry = Infinity
  /** No finished row of the page finished before. */
  earliest_finish = Infinity

  constructor(seq_base: number, buffer = new ArrayBuffer(PAGE_BYTES)) {
    this.buffer = buffer
    this.seq_base = seq_base
    let at = 0
    const next = <T>(
      make: new (buffer: ArrayBuffer, at: number, length: number) => T,
      bytes: number,
      count = 1,
    ) => {
      const column = new make(buffer, at, PAGE_ROWS * count)
      at += PAGE_ROWS * bytes * count
      return column
    }
    this.created_ms = next(Float64Array, 8)
    this.ids = next(Uint32Array, 4, 4)
    this.seqs = next(Uint32Array, 4)
    this.segments = next(Uint32Array, 4)
    this.offsets = next(Uint32Array, 4)
    this.lengths = next(Uint32Array, 4)
    this.to = next(Uint32Array, 4)
    this.from = next(Uint32Array, 4)
    this.expires = next(Uint32Array, 4)
    this.intents = next(Uint16Array, 2)
    this.status = next(Uint8Array, 1)
    this.priority = next(Uint8Array, 1)
    this.deliveries = next(Uint8Array, 1)
    this.flags = next(Uint8Array, 1)
  }
}

export class Rows {
  readonly pages: (Page | undefined)[] = []
  /** The next row's number. */
  end: Row = 0
  /** Times that do not fit their column, by `<row> <column>`. */
  readonly apart = new Map<string, number>()

  page(row: Row): Page {
    return this.pages[row >>> PAGE_BITS] as Page
  }

  /** False for a row whose whole page is gone. */
  holds(row: Row): boolean {
    return this.pages[row >>> PAGE_BITS] !== undefined
  }

  slot(row: Row): number {
    return row & IN_PAGE
  }

  /** A fresh row with nothing in it but its seq. */
  add(seq: number): Row {
    // A seq that its page cannot count begins a new page.
    const current = this.pages[this.end >>> PAGE_BITS]
    const after = current === undefined ? 0 : seq - current.seq_base
    if (after < 0 || after > 0xffffffff) {
      this.end = ((this.end >>> PAGE_BITS) + 1) << PAGE_BITS
    }
    const row = this.end
    this.end += 1
    let page = this.pages[row >>> PAGE_BITS]
    if (page === undefined) page = this.pages[row >>> PAGE_BITS] = new Page(seq)
    page.seqs[row & IN_PAGE] = seq - page.seq_base
    page.used += 1
    return row
  }

  /** The row is gone; its page goes with its last one. */
  drop(row: Row): void {
    const page = this.page(row)
    if (page.status[row & IN_PAGE] === STATUS.gone) return
    page.status[row & IN_PAGE] = STATUS.gone
    page.used -= 1
    for (const column of TIME_COLUMNS) this.apart.delete(`${row} ${column}`)
    this.apart.delete(`${row} expires`)
    const number = row >>> PAGE_BITS
    if (page.used === 0 && number < this.end >>> PAGE_BITS) this.pages[number] = undefined
  }

  *inPage(number: number): Iterable<Row> {
    const end = Math.min((number + 1) << PAGE_BITS, this.end)
    for (let row = number << PAGE_BITS; row < end; row += 1) yield row
  }

  seq(row: Row): number {
    const page = this.page(row)
    return page.seq_base + (page.seqs[row & IN_PAGE] as number)
  }

  status(row: Row): StatusCode {
    return this.page(row).status[row & IN_PAGE] as StatusCode
  }

  /** Where its line stands. */
  location(row: Row): Location {
    const page = this.page(row)
    const slot = this.slot(row)
    return {
      segment: page.segments[slot] as number,
      offset: page.offsets[slot] as number,
      length: page.lengths[slot] as number,
    }
  }

  /** Where the line stands that completed it with a result; its length is 0 where there is none. */
  result(row: Row): Location {
    return {
      segment: this.get(row, 'result_segment'),
      offset: this.get(row, 'result_offset'),
      length: this.get(row, 'result_length'),
    }
  }

  setResult(row: Row, at: Location): void {
    this.set(row, 'result_segment', at.segment)
    this.set(row, 'result_offset', at.offset)
    this.set(row, 'result_length', at.length)
  }

  get(row: Row, column: Column): number {
    return this.page(row).columns[column]?.[row & IN_PAGE] ?? 0
  }

  set(row: Row, column: Column, value: number): void {
    const page = this.page(row)
    let values = page.columns[column]
    if (values === undefined) {
      if (value === 0) return
      values = page.columns[column] = new Uint32Array(PAGE_ROWS)
    }
    values[row & IN_PAGE] = value
  }

  has(row: Row, flag: number): boolean {
    return ((this.page(row).flags[row & IN_PAGE] as number) & flag) !== 0
  }

  flag(row: Row, flag: number, on: boolean): void {
    const { flags } = this.page(row)
    const slot = row & IN_PAGE
    flags[slot] = on ? (flags[slot] as number) | flag : (flags[slot] as number) & ~flag
  }

  idText(row: Row): string {
    const { ids } = this.page(row)
    const at = (row & IN_PAGE) * 4
    return textOf(ids[at] as number, ids[at + 1] as number, ids[at + 2] as number, ids[at + 3] as number)
  }

  setId(row: Row, words: Words): void {
    const { ids } = this.page(row)
    const at = (row & IN_PAGE) * 4
    for (let word = 0; word < 4; word += 1) ids[at + word] = words[word] as number
  }

  hasId(row: Row, words: Words): boolean {
    const { ids } = this.page(row)
    const at = (row & IN_PAGE) * 4
    return (
      ids[at + 3] === words[3] && ids[at + 2] === words[2] && ids[at + 1] === words[1] && ids[at] === words[0]
    )
  }

  /** Null for a stage that nobody observed. */
  time(row: Row, column: TimeColumn): number | null {
    const value = this.get(row, column)
    return value === 0 ? null : this.decode(row, column, value)
  }

  setTime(row: Row, column: TimeColumn, ms: number | null): void {
    if (ms === null) this.set(row, column, 0)
    else this.set(row, column, this.encode(row, column, ms))
  }

  /** Sets the time so that the stages of the row stay in order. */
  setStage(row: Row, column: ObservedStage, ms: number): void {
    const created_ms = this.page(row).created_ms[row & IN_PAGE] as number
    this.setTime(
      row,
      column,
      timeInOrder(column, ms, created_ms, (stage) => this.time(row, stage)),
    )
  }

  expires(row: Row): number {
    return this.decode(row, 'expires', this.page(row).expires[row & IN_PAGE] as number)
  }

  setExpires(row: Row, ms: number): void {
    this.page(row).expires[row & IN_PAGE] = this.encode(row, 'expires', ms)
  }

  private encode(row: Row, column: string, ms: number): number {
    const after = ms - (this.page(row).created_ms[row & IN_PAGE] as number) + 1
    if (after > 0 && after < TIME_APART) return after
    this.apart.set(`${row} ${column}`, ms)
    return TIME_APART
  }

  private decode(row: Row, column: string, value: number): number {
    if (value === TIME_APART) return this.apart.get(`${row} ${column}`) as number
    return (this.page(row).created_ms[row & IN_PAGE] as number) + value - 1
  }
}

export const TIME_COLUMNS = [
  ...STAGE_ORDER,
  'told_at',
  'cancelled_at',
] as const satisfies readonly TimeColumn[]
