/**
 * The state that results from a journal: every signal's status, the pending queues and the leases. It changes
 * only by applying entries, in the same way for a call and for a replay of the journal, so that a
 * restart reproduces the same state.
 *
 * Entries are applied without validation, because their writer has validated them. An entry may name a
 * forgotten signal that is no longer in the index while compaction has not removed the entry's line.
 */
import type { Identity, Seq, SignalId } from '../../../../contracts/ids.ts'
import type {
  ChangeEntry,
  CompleteEntry,
  LeaseEntry,
  ReplayEntry,
  SignalHead,
} from '../../journal/journal-entries.ts'
import { IdIndex } from './id-index.ts'
import type { JournalEnd, LastAssigned } from '../../journal/journal.ts'
import { InProgress } from '../in-progress.ts'
import { DrainLeases } from '../drain-leases.ts'
import { StringTable } from './string-table.ts'
import { PendingQueue } from './pending-queue.ts'
import {
  FLAG,
  Rows,
  STATUS,
  TIME_COLUMNS,
  type Location,
  type Page,
  type Row,
  type StatusCode,
} from './signal-rows.ts'
import { RowHashTable } from './row-hash-table.ts'
import { SegmentUsage } from './segment-usage.ts'
import { unpackUlid, packUlid, type UlidWords } from '../../journal/ulid-words.ts'
import { isBefore, isSameLocation, restoreRow, UndoLog, type RowState } from './undo-log.ts'

const INTENTS_MAX = 0xffff
const NAMES_MAX = 0x7fffffff

export class SignalIndex {
  readonly rows = new Rows()
  identities = new StringTable(NAMES_MAX)
  sessions = new StringTable(NAMES_MAX)
  intents = new StringTable(INTENTS_MAX)
  readonly leases = new DrainLeases()
  readonly pending = new PendingQueue()
  readonly in_progress = new InProgress()
  readonly segments = new SegmentUsage()
  readonly keyHash = (row: Row): number => this.rows.get(row, 'key_hash')
  ids = new IdIndex(this.rows)
  keys = new RowHashTable(this.keyHash)
  /** Expired rows by persona. `unnotified`: rows whose recipient was not notified of the expiry. */
  readonly expired = new Map<number, { count: number; unnotified: Set<Row> }>()
  /** Number of signals that are not forgotten. */
  count = 0
  last_seq: Seq = 0
  readonly last_id: UlidWords = new Uint32Array(4)

  private readonly probe: UlidWords = new Uint32Array(4)
  private readonly undo_log = new UndoLog(this.rows, this.leases)

  /** Returns the row of a signal that is not forgotten, or -1. */
  find(signal_id: SignalId): Row {
    const row = this.findAny(signal_id)
    return row === -1 || this.rows.status(row) === STATUS.forgotten ? -1 : row
  }

  /** Returns the row of a signal, also of a forgotten one, or -1. */
  findAny(signal_id: SignalId): Row {
    return packUlid(signal_id, this.probe) ? this.ids.find(this.probe) : -1
  }

  /** Returns the highest seq and id assigned before this position of the journal; at least `least`. */
  lastAssignedBefore(end: JournalEnd, least: LastAssigned): LastAssigned {
    for (let row = this.rows.end - 1; row >= 0 && this.rows.holds(row); row -= 1) {
      if (this.rows.status(row) === STATUS.gone || !isBefore(this.rows.location(row), end)) continue
      const last_seq = this.rows.seq(row)
      return last_seq > least.last_seq ? { last_seq, last_signal_id: this.rows.idText(row) } : least
    }
    return least
  }

  get last_signal_id(): SignalId | null {
    const [w0, w1, w2, w3] = this.last_id as unknown as [number, number, number, number]
    return w0 === 0 && w1 === 0 && w2 === 0 && w3 === 0 ? null : unpackUlid(w0, w1, w2, w3)
  }

  raiseLast(seq: Seq, id: UlidWords): void {
    if (seq > this.last_seq) this.last_seq = seq
    for (let at = 0; at < 4; at += 1) {
      const [mine, other] = [this.last_id[at] as number, id[at] as number]
      if (other === mine) continue
      if (other > mine)
        for (let copied = at; copied < 4; copied += 1) this.last_id[copied] = id[copied] as number
      return
    }
  }

  /** Adds a pending signal and returns its row. A signal that is already in the index is not changed. */
  addSignal(head: SignalHead, segment: number, offset: number, length: number): Row {
    const existing = this.ids.find(head.id)
    if (existing !== -1) return existing
    const { rows } = this
    const row = rows.add(head.seq)
    const page = rows.page(row)
    const slot = rows.slot(row)
    rows.setId(row, head.id)
    page.segments[slot] = segment
    page.offsets[slot] = offset
    page.lengths[slot] = length
    page.created_ms[slot] = head.created_ms
    rows.setExpires(row, head.expires_ms)
    page.priority[slot] = head.priority
    page.to[slot] = this.identities.intern(head.to)
    page.from[slot] = this.identities.intern(head.from)
    const intent = this.intents.intern(head.intent)
    if (intent === -1) rows.flag(row, FLAG.intent_on_disk, true)
    else page.intents[slot] = intent
    if (head.to_session !== undefined) {
      rows.set(row, 'to_session', this.sessions.intern(head.to_session) + 1)
    }
    if (head.in_reply_to !== undefined) rows.set(row, 'reply_hash', textHash(head.in_reply_to))
    this.ids.add(row, head.id)
    this.segments.addStored(segment, length)
    this.count += 1
    this.raiseLast(head.seq, head.id)
    this.enterPending(row, page, slot)
    return row
  }

  /** Makes the row the owner of its sender's key, replacing `before` (-1 if the key is new). */
  setKeyOwner(row: Row, hash: number, before: Row): void {
    if (before !== -1) this.keys.remove(before)
    this.rows.set(row, 'key_hash', hash)
    this.keys.add(row)
  }

  /** Applies an entry whose line is not synced yet. `undo` reverts it until `synced` covers the line. */
  applyUnsynced(entry: ChangeEntry, at: Location): void {
    this.undo_log.begin(at)
    this.apply(entry, at)
    this.undo_log.end()
  }

  /** Call when everything before this position is durable. */
  synced(end: JournalEnd): void {
    this.undo_log.synced(end)
  }

  /** Applies an entry. `at` is the location of its line, from which a completion's result is read. */
  apply(entry: ChangeEntry, at: Location): void {
    switch (entry.kind) {
      case 'lease':
        return this.lease(entry)
      case 'confirm':
        return this.forEachSignal(entry.signal_ids, (row) => this.confirm(row, Date.parse(entry.at)))
      case 'release':
        this.forEachSignal(entry.pending, (row) => this.release(row, STATUS.pending, entry.for_good))
        return this.forEachSignal(entry.dead, (row) => this.release(row, STATUS.dead, entry.for_good))
      case 'complete':
        return this.forEachSignal(entry.signal_ids, (row) => this.complete(row, entry, at))
      case 'expire':
        return this.forEachSignal(entry.signal_ids, (row) => this.setStatus(row, STATUS.expired))
      case 'cancel':
        return this.forEachSignal(entry.signal_ids, (row) => this.cancel(row, Date.parse(entry.at)))
      case 'replay':
        return this.forEachSignal(entry.signal_ids, (row) => this.replay(row, entry))
      case 'mark':
        return this.forEachSignal(entry.signal_ids, (row) => {
          if (this.rows.get(row, entry.stage) !== 0) return
          if (entry.stage === 'told_at') {
            this.rows.setTime(row, 'told_at', Date.parse(entry.at))
            this.expired.get(this.recipientOf(row))?.unnotified.delete(row)
          } else this.rows.setStage(row, entry.stage, Date.parse(entry.at))
        })
      case 'told':
        return this.forEachSignal(entry.signal_ids, (row) => this.rows.flag(row, FLAG.notified, true))
      case 'forget':
        this.forget(Date.parse(entry.finished_before), Date.parse(entry.created_before))
    }
  }

  private forEachSignal(signal_ids: readonly SignalId[], change: (row: Row) => void): void {
    for (const signal_id of signal_ids) {
      const row = this.find(signal_id)
      if (row === -1) continue
      this.undo_log.record(row)
      const before = this.isInProgress(row)
      change(row)
      this.recount(row, before)
    }
  }

  /** Returns whether the signal's drain is final and the signal is not completed. */
  isInProgress(row: Row): boolean {
    return this.rows.status(row) === STATUS.acked && !this.rows.has(row, FLAG.held)
  }

  /** Updates the number of signals in progress. Call after a change of the row. */
  private recount(row: Row, before: boolean): void {
    const now = this.isInProgress(row)
    if (before !== now)
      this.in_progress.add(this.rows.page(row).to[this.rows.slot(row)] as number, now ? 1 : -1)
  }

  private lease(entry: LeaseEntry): void {
    const persona = this.identities.intern(entry.identity)
    const lease = this.leases.open(entry.drain_id, entry.session_id, persona)
    const session = this.sessions.intern(entry.session_id)
    const at = Date.parse(entry.at)
    this.forEachSignal(entry.signal_ids, (row) => {
      this.setStatus(row, STATUS.acked)
      this.leaveLease(row)
      lease.rows.add(row)
      this.rows.set(row, 'lease', lease.number)
      this.rows.flag(row, FLAG.held, true)
      this.rows.flag(row, FLAG.notified, false)
      this.rows.set(row, 'taken_by', session + 1)
      this.rows.setStage(row, 'drained_at', at)
      const page = this.rows.page(row)
      const slot = this.rows.slot(row)
      page.deliveries[slot] = Math.min((page.deliveries[slot] as number) + 1, 255)
    })
  }

  private confirm(row: Row, at: number): void {
    this.setStatus(row, STATUS.acked)
    this.leaveLease(row)
    this.rows.setStage(row, 'confirmed_at', at)
    this.noteFinish(row, at)
  }

  private release(
    row: Row,
    status: typeof STATUS.pending | typeof STATUS.dead,
    for_good: true | undefined,
  ): void {
    if (for_good) this.leaveLease(row)
    else this.rows.flag(row, FLAG.held, false)
    this.setStatus(row, status)
  }

  private complete(row: Row, entry: CompleteEntry, at: Location): void {
    const ms = Date.parse(entry.at)
    this.setStatus(row, STATUS.completed)
    this.leaveLease(row)
    if (this.rows.get(row, 'drained_at') !== 0 && this.rows.get(row, 'confirmed_at') === 0) {
      this.rows.setStage(row, 'confirmed_at', ms)
    }
    this.rows.setStage(row, 'completed_at', ms)
    this.noteFinish(row, ms)
    if (entry.result !== undefined) this.rows.setResult(row, at)
  }

  private cancel(row: Row, at: number): void {
    this.setStatus(row, STATUS.cancelled)
    this.leaveLease(row)
    this.rows.setTime(row, 'cancelled_at', at)
    this.noteFinish(row, at)
  }

  private replay(row: Row, entry: ReplayEntry): void {
    this.leaveLease(row)
    const page = this.rows.page(row)
    const slot = this.rows.slot(row)
    page.deliveries[slot] = 0
    for (const column of TIME_COLUMNS) this.rows.set(row, column, 0)
    this.rows.flag(row, FLAG.notified, false)
    this.rows.set(row, 'taken_by', 0)
    this.rows.setResult(row, { segment: 0, offset: 0, length: 0 })
    this.rows.setExpires(row, Date.parse(entry.expires_at))
    this.setStatus(row, STATUS.pending)
  }

  /** Changes a row's status and adds it to the pending queue or removes it. */
  private setStatus(row: Row, status: StatusCode): void {
    const page = this.rows.page(row)
    const slot = this.rows.slot(row)
    const before = page.status[slot]
    if (before === status) return
    if (before === STATUS.pending) {
      this.pending.remove(
        page.to[slot] as number,
        page.priority[slot] as number,
        row,
        this.rows.get(row, 'to_session') !== 0,
      )
    }
    if (before === STATUS.expired) this.leaveExpired(row)
    if (status === STATUS.pending) this.enterPending(row, page, slot)
    else page.status[slot] = status
    if (status !== STATUS.expired) return
    this.noteExpired(row)
    this.noteFinish(row, this.rows.expires(row))
  }

  /** Counts an expired row, as `setStatus` does. Used after loading a snapshot, which does not contain these counts. */
  noteExpired(row: Row): void {
    const persona = this.recipientOf(row)
    let expired = this.expired.get(persona)
    if (expired === undefined) this.expired.set(persona, (expired = { count: 0, unnotified: new Set() }))
    expired.count += 1
    if (this.rows.get(row, 'told_at') === 0) expired.unnotified.add(row)
  }

  private leaveExpired(row: Row): void {
    const persona = this.recipientOf(row)
    const expired = this.expired.get(persona)
    if (expired === undefined) return
    expired.unnotified.delete(row)
    expired.count -= 1
    if (expired.count === 0) this.expired.delete(persona)
  }

  private recipientOf(row: Row): number {
    return this.rows.page(row).to[this.rows.slot(row)] as number
  }

  private enterPending(row: Row, page: Page, slot: number): void {
    page.status[slot] = STATUS.pending
    const addressed = this.rows.get(row, 'to_session') !== 0
    this.pending.add(page.to[slot] as number, page.priority[slot] as number, row, addressed)
    page.earliest_expiry = Math.min(page.earliest_expiry, this.rows.expires(row))
  }

  private leaveLease(row: Row): void {
    this.rows.flag(row, FLAG.held, false)
    const number = this.rows.get(row, 'lease')
    if (number === 0) return
    this.leases.removeRow(number, row)
    this.rows.set(row, 'lease', 0)
  }

  private noteFinish(row: Row, ms: number): void {
    const page = this.rows.page(row)
    page.earliest_finish = Math.min(page.earliest_finish, ms)
  }

  /** Returns when the signal finished, or null. A dead signal never counts as finished, because a person has to handle it. */
  finishedAt(row: Row): number | null {
    const { rows } = this
    switch (rows.status(row)) {
      case STATUS.completed:
        return rows.time(row, 'completed_at')
      case STATUS.expired:
        return rows.expires(row)
      case STATUS.cancelled:
        return rows.time(row, 'cancelled_at')
      case STATUS.acked:
        return rows.has(row, FLAG.held) ? null : rows.time(row, 'confirmed_at')
      default:
        return null
    }
  }

  /** Returns the number of rows that a `forget` with these bounds would forget. */
  forgettable(finished_before: number, created_before: number): number {
    let count = 0
    for (const [number, page] of this.rows.pages.entries()) {
      if (page === undefined || page.earliest_finish >= finished_before) continue
      for (const row of this.rows.inPage(number)) {
        if (this.isForgettable(row, finished_before, created_before)) count += 1
      }
    }
    return count
  }

  private forget(finished_before: number, created_before: number): void {
    for (const [number, page] of this.rows.pages.entries()) {
      if (page === undefined || page.earliest_finish >= finished_before) continue
      let earliest = Infinity
      for (const row of this.rows.inPage(number)) {
        if (this.isForgettable(row, finished_before, created_before)) this.forgetRow(row)
        else earliest = Math.min(earliest, this.finishedAt(row) ?? Infinity)
      }
      page.earliest_finish = earliest
    }
  }

  /** Returns whether the row can be forgotten. A row whose idempotency key is still valid is kept. */
  private isForgettable(row: Row, finished_before: number, created_before: number): boolean {
    const finished_at = this.finishedAt(row)
    if (finished_at === null || finished_at >= finished_before) return false
    if (this.rows.get(row, 'key_hash') === 0) return true
    return (this.rows.page(row).created_ms[this.rows.slot(row)] as number) <= created_before
  }

  /** The row keeps its number until its line is removed from the journal. */
  private forgetRow(row: Row): void {
    const before = this.isInProgress(row)
    this.setStatus(row, STATUS.forgotten)
    this.leaveLease(row)
    this.recount(row, before)
    if (this.rows.get(row, 'key_hash') !== 0) this.keys.remove(row)
    const { segment, length } = this.rows.location(row)
    this.segments.addWasted(segment, length)
    this.count -= 1
  }

  /** Updates the locations of completion lines that compaction has moved. */
  moveResults(moves: readonly { row: Row; from: Location; to: Location }[]): void {
    const undo_states = this.undo_log.byRow()
    for (const { row, from, to } of moves) {
      if (isSameLocation(this.rows.result(row), from)) this.rows.setResult(row, to)
      for (const before of undo_states.get(row) ?? [])
        if (isSameLocation(before.result, from)) before.result = to
    }
  }

  /** Removes a row whose line was removed from the journal. */
  drop(row: Row): void {
    this.ids.remove(row)
    this.rows.drop(row)
    this.ids.dropped(row)
  }

  /**
   * Reverts all unsynced changes and forgets every signal whose line is at or after this position. Forgotten signals stay
   * forgotten, because they had finished.
   */
  undo(end: JournalEnd): void {
    for (const before of this.undo_log.takeAll()) this.restore(before)
    for (let row = this.rows.end - 1; row >= 0; row -= 1) {
      if (!this.rows.holds(row)) return
      const status = this.rows.status(row)
      const at = this.rows.location(row)
      if (isBefore(at, end)) return
      if (status !== STATUS.gone && status !== STATUS.forgotten) this.forgetRow(row)
    }
  }

  private restore(before: RowState): void {
    const { rows } = this
    const { row, lease } = before
    if (!rows.holds(row) || rows.status(row) === STATUS.gone || rows.status(row) === STATUS.forgotten) return
    const was_in_progress = this.isInProgress(row)
    this.leaveLease(row)
    if (lease !== undefined) {
      this.leases.restore(lease)
      lease.rows.add(row)
      rows.set(row, 'lease', lease.number)
    }
    restoreRow(rows, before)
    this.setStatus(row, before.status)
    this.recount(row, was_in_progress)
  }

  /** Returns pending rows that have expired, oldest first. */
  overdue(now_ms: number): Row[] {
    const overdue: Row[] = []
    for (const [number, page] of this.rows.pages.entries()) {
      if (page === undefined || page.earliest_expiry > now_ms) continue
      let earliest = Infinity
      for (const row of this.rows.inPage(number)) {
        if (page.status[this.rows.slot(row)] !== STATUS.pending) continue
        const expires = this.rows.expires(row)
        earliest = Math.min(earliest, expires)
        if (expires <= now_ms) overdue.push(row)
      }
      page.earliest_expiry = earliest
    }
    return overdue
  }

  to(row: Row): Identity {
    return this.identities.name(this.rows.page(row).to[this.rows.slot(row)] as number)
  }

  from(row: Row): Identity {
    return this.identities.name(this.rows.page(row).from[this.rows.slot(row)] as number)
  }
}

/** FNV-1a over UTF-16 units. Never 0, which means no text. */
export function textHash(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0 || 1
}
