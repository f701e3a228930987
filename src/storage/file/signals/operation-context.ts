/** State and helpers that the operations of a signal store on disk share. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { Identity, Seq, SessionId, SignalId } from '../../../contracts/ids.ts'
import type { Signal } from '../../../contracts/signal.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Retention } from '../../retention.ts'
import {
  entryText,
  fillHead,
  signalText,
  type ChangeEntry,
  type SignalHead,
} from '../journal/journal-entries.ts'
import type { Journal } from '../journal/journal.ts'
import { IdempotencyIndex } from './index/idempotency-index.ts'
import type { Maintenance } from './maintenance.ts'
import type { StageMarks } from './index/stage-marks.ts'
import { STATUS, type Row } from './index/signal-rows.ts'
import type { SignalIndex } from './index/signal-index.ts'
import { SignalReader } from './signal-reader.ts'

export interface OperationParts {
  index: SignalIndex
  journal: Journal
  marks: StageMarks
  maintenance: Maintenance
  clock: Pick<Clock, 'now' | 'soon'>
  retention: Retention
  close: () => Promise<void>
}

export class OperationContext {
  readonly index: SignalIndex
  readonly journal: Journal
  readonly marks: StageMarks
  readonly clock: Pick<Clock, 'now' | 'soon'>
  readonly retention: Retention
  readonly keys: IdempotencyIndex
  readonly reader: SignalReader

  constructor({ index, journal, marks, clock, retention }: OperationParts) {
    this.index = index
    this.journal = journal
    this.marks = marks
    this.clock = clock
    this.retention = retention
    this.keys = new IdempotencyIndex(index, (at) => journal.readLine(at))
    this.reader = new SignalReader(index, (at) => journal.readLine(at))
  }

  /** Adds the change to the journal and applies it. Resolves when it is durable; await that before reporting it. */
  change(entry: ChangeEntry): Promise<void> {
    const { index, journal } = this
    journal.begin()
    index.applyUnsynced(entry, journal.add(entryText(entry)))
    return journal.committed()
  }

  /**
   * Returns the value once everything it was read from is durable. Otherwise a crash could undo a change that a caller has
   * seen. After a write error no change is in flight.
   */
  async durably<T>(value: T): Promise<T> {
    if (this.journal.writeError === null) await this.journal.committed()
    return value
  }

  /** Adds a prepared signal line. Call after `journal.begin`. Must not throw, because the line is in the batch already. */
  addSignal(text: string, head: SignalHead, same_key: Row): void {
    const at = this.journal.add(text)
    const row = this.index.addSignal(head, at.segment, at.offset, at.length)
    if (head.idempotency_key !== undefined) this.keys.set(row, head.from, head.idempotency_key, same_key)
  }

  /**
   * Fills the head and returns the line's text. Everything that can be wrong with a signal throws here, before its group is
   * begun. `left` is the number of lines of the group that follow.
   */
  prepare(into: SignalHead, signal: Signal, seq: Seq, left: number): string {
    fillHead(into, signal, seq)
    if (this.index.findAny(signal.signal_id) !== -1)
      throw new Error(`signal ${signal.signal_id} is already stored`)
    return signalText(signal, seq, left)
  }

  /** Returns up to `limit` pending rows in queue order, without those addressed to the excluded sessions. */
  selectPending(identity: Identity, limit: number, except: readonly SessionId[] = []): Row[] {
    const { rows, pending, identities, sessions } = this.index
    const selected: Row[] = []
    const excluded = new Set(except.map((session) => sessions.find(session) + 1))
    pending.visit(identities.find(identity), (row) => {
      if (selected.length >= limit) return false
      const to_session = excluded.size === 0 ? 0 : rows.get(row, 'to_session')
      if (to_session === 0 || !excluded.has(to_session)) selected.push(row)
      return true
    })
    return selected
  }

  idsOf(rows: readonly Row[]): SignalId[] {
    return rows.map((row) => this.index.rows.idText(row))
  }

  isPending(row: Row): boolean {
    return this.index.rows.status(row) === STATUS.pending
  }

  /** Returns the signal, or an empty list if its line is damaged: such a signal expires without a notice. */
  readIfIntact(row: Row): Signal[] {
    try {
      return [this.reader.asQueued(row).signal]
    } catch (error) {
      if (error instanceof TurnbellError && error.code === 'store_damaged') return []
      throw error
    }
  }
}
