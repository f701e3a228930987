/**
 * The index's data of each signal, in typed arrays: about 60 bytes a signal instead of the several
 * hundred that an object with its strings would take, and nothing for the garbage collector to walk. This
 * is what lets a store hold a million signals.
 *
 * A row number is a position; later signals have higher numbers, and no number is reused while the store
 * is open. Rows are stored in pages, so that growing copies nothing and a page is freed once all its signals
 * are forgotten. Optional values (stages, a lease, a result) are stored in columns that a page gets
 * when one of its rows first needs them.
 */
import { STAGE_ORDER, timeInOrder, type ObservedStage } from '../../../stage-order.ts'
import { unpackUlid, type UlidWords } from '../../journal/ulid-words.ts'

export type Row = number

/** Location of a line in the journal; `length` excludes the newline. */
export interface Location {
  segment: number
  offset: number
  length: number
}

const PAGE_BITS = 12
export const PAGE_ROWS = 1 << PAGE_BITS
const SLOT_MASK = PAGE_ROWS - 1

export const STATUS = {
  /** The row has no signal. */
  gone: 0,
  pending: 1,
  acked: 2,
  completed: 3,
  expired: 4,
  dead: 5,
  /** Forgotten, but kept in the index until compaction has removed its line from the journal. */
  forgotten: 6,
  cancelled: 7,
} as const
export type StatusCode = (typeof STATUS)[keyof typeof STATUS]

export const FLAG = {
  /** Acked under a lease that is neither confirmed nor released. */
  held: 1,
  /** The intent is not interned; it is read from the line. */
  intent_on_disk: 2,
  /** In progress, and a later session was notified of it. */
  notified: 4,
} as const

/** Optional columns of 32 bits, allocated per page when first needed. */
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

/** Marks a time that does not fit its column. Times are stored as milliseconds after the signal's creation, plus one. */
const TIME_OVERFLOW = 0xffffffff

const FIXED_BYTES_A_ROW = 58
/** Size of the columns that every page has. */
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
  /** Number of rows that are not gone. */
  used = 0
  /** Number of leading rows that are in the order of their ids; see `IdIndex`. */
  in_order = 0
  /** Lower bound of the expiry of pending rows; lets a sweep skip the page. */
  earliest_expiry = Infinity
  /** Lower bound of the finish time of finished rows. */
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
  /** Number of the next row. */
  end: Row = 0
  /** Times that do not fit their column, by `<row> <column>`. */
  readonly overflow = new Map<string, number>()

  page(row: Row): Page {
    return this.pages[row >>> PAGE_BITS] as Page
  }

  /** Returns false if the row's page was freed. */
  holds(row: Row): boolean {
    return this.pages[row >>> PAGE_BITS] !== undefined
  }

  slot(row: Row): number {
    return row & SLOT_MASK
  }

  /** Adds an empty row with this seq. */
  add(seq: number): Row {
    // A seq that is out of the page's 32-bit range begins a new page.
    const current = this.pages[this.end >>> PAGE_BITS]
    const after = current === undefined ? 0 : seq - current.seq_base
    if (after < 0 || after > 0xffffffff) {
      this.end = ((this.end >>> PAGE_BITS) + 1) << PAGE_BITS
    }
    const row = this.end
    this.end += 1
    let page = this.pages[row >>> PAGE_BITS]
    if (page === undefined) page = this.pages[row >>> PAGE_BITS] = new Page(seq)
    page.seqs[row & SLOT_MASK] = seq - page.seq_base
    page.used += 1
    return row
  }

  /** Marks the row as gone and frees its page with the last row. */
  drop(row: Row): void {
    const page = this.page(row)
    if (page.status[row & SLOT_MASK] === STATUS.gone) return
    page.status[row & SLOT_MASK] = STATUS.gone
    page.used -= 1
    for (const column of TIME_COLUMNS) this.overflow.delete(`${row} ${column}`)
    this.overflow.delete(`${row} expires`)
    const number = row >>> PAGE_BITS
    if (page.used === 0 && number < this.end >>> PAGE_BITS) this.pages[number] = undefined
  }

  *inPage(number: number): Iterable<Row> {
    const end = Math.min((number + 1) << PAGE_BITS, this.end)
    for (let row = number << PAGE_BITS; row < end; row += 1) yield row
  }

  seq(row: Row): number {
    const page = this.page(row)
    return page.seq_base + (page.seqs[row & SLOT_MASK] as number)
  }

  status(row: Row): StatusCode {
    return this.page(row).status[row & SLOT_MASK] as StatusCode
  }

  /** Location of the signal's line. */
  location(row: Row): Location {
    const page = this.page(row)
    const slot = this.slot(row)
    return {
      segment: page.segments[slot] as number,
      offset: page.offsets[slot] as number,
      length: page.lengths[slot] as number,
    }
  }

  /** Location of the completion line that contains the result; length 0 if there is no result. */
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
    return this.page(row).columns[column]?.[row & SLOT_MASK] ?? 0
  }

  set(row: Row, column: Column, value: number): void {
    const page = this.page(row)
    let values = page.columns[column]
    if (values === undefined) {
      if (value === 0) return
      values = page.columns[column] = new Uint32Array(PAGE_ROWS)
    }
    values[row & SLOT_MASK] = value
  }

  has(row: Row, flag: number): boolean {
    return ((this.page(row).flags[row & SLOT_MASK] as number) & flag) !== 0
  }

  flag(row: Row, flag: number, on: boolean): void {
    const { flags } = this.page(row)
    const slot = row & SLOT_MASK
    flags[slot] = on ? (flags[slot] as number) | flag : (flags[slot] as number) & ~flag
  }

  idText(row: Row): string {
    const { ids } = this.page(row)
    const at = (row & SLOT_MASK) * 4
    return unpackUlid(ids[at] as number, ids[at + 1] as number, ids[at + 2] as number, ids[at + 3] as number)
  }

  setId(row: Row, words: UlidWords): void {
    const { ids } = this.page(row)
    const at = (row & SLOT_MASK) * 4
    for (let word = 0; word < 4; word += 1) ids[at + word] = words[word] as number
  }

  hasId(row: Row, words: UlidWords): boolean {
    const { ids } = this.page(row)
    const at = (row & SLOT_MASK) * 4
    return (
      ids[at + 3] === words[3] && ids[at + 2] === words[2] && ids[at + 1] === words[1] && ids[at] === words[0]
    )
  }

  /** Returns null for a stage that was not observed. */
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
    const created_ms = this.page(row).created_ms[row & SLOT_MASK] as number
    this.setTime(
      row,
      column,
      timeInOrder(column, ms, created_ms, (stage) => this.time(row, stage)),
    )
  }

  expires(row: Row): number {
    return this.decode(row, 'expires', this.page(row).expires[row & SLOT_MASK] as number)
  }

  setExpires(row: Row, ms: number): void {
    this.page(row).expires[row & SLOT_MASK] = this.encode(row, 'expires', ms)
  }

  private encode(row: Row, column: string, ms: number): number {
    const after = ms - (this.page(row).created_ms[row & SLOT_MASK] as number) + 1
    if (after > 0 && after < TIME_OVERFLOW) return after
    this.overflow.set(`${row} ${column}`, ms)
    return TIME_OVERFLOW
  }

  private decode(row: Row, column: string, value: number): number {
    if (value === TIME_OVERFLOW) return this.overflow.get(`${row} ${column}`) as number
    return (this.page(row).created_ms[row & SLOT_MASK] as number) + value - 1
  }
}

export const TIME_COLUMNS = [
  ...STAGE_ORDER,
  'told_at',
  'cancelled_at',
] as const satisfies readonly TimeColumn[]
