/** Builds signals and views from the index and the journal lines. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { Signal, SignalStatus, SignalView } from '../../../contracts/signal.ts'
import type { PendingEntry } from '../../../contracts/frames.ts'
import type { Identity, Json, SessionId } from '../../../contracts/ids.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Drained, SignalPage, SignalQuery, InProgressSignal } from '../../../ports/signal-store.ts'
import { openPage } from '../../signal-page.ts'
import { viewOf } from '../../signal-view.ts'
import { PAYLOAD_MEMBER, signalOf, wholeLine } from '../journal/journal-entries.ts'
import type { LeaseRecord } from './drain-leases.ts'
import { TAIL_BYTES } from '../journal/sealed-line.ts'
import { FLAG, PAGE_ROWS, STATUS, type Location, type Page, type Row } from './index/signal-rows.ts'
import { textHash, type SignalIndex } from './index/signal-index.ts'

const PAYLOAD = Buffer.from(PAYLOAD_MEMBER)
const STATUS_NAMES: Partial<Record<number, SignalStatus>> = {
  [STATUS.pending]: 'pending',
  [STATUS.acked]: 'acked',
  [STATUS.completed]: 'completed',
  [STATUS.expired]: 'expired',
  [STATUS.dead]: 'dead',
  [STATUS.cancelled]: 'cancelled',
}
/** Pages of rows that a query scans between two yields to the event loop. */
const PAGES_AT_ONCE = 16

export class SignalReader {
  private readonly index: SignalIndex
  private readonly readLine: (at: Location) => Buffer

  constructor(index: SignalIndex, readLine: (at: Location) => Buffer) {
    this.index = index
    this.readLine = readLine
  }

  readBody(row: Row): { line: Buffer; payload_bytes: number } {
    const line = this.readLine(this.index.rows.location(row))
    const payload_bytes = line.length - TAIL_BYTES - line.indexOf(PAYLOAD) - PAYLOAD.length
    return { line, payload_bytes }
  }

  /** The signal as it is in the queue, with its delivery count so far. */
  asQueued(row: Row, line: Buffer = this.readBody(row).line): Drained {
    const { rows } = this.index
    return {
      signal: { ...this.signalIn(row, line), expires_at: isoOf(rows.expires(row)) },
      seq: rows.seq(row),
      deliveries: rows.page(row).deliveries[rows.slot(row)] as number,
    }
  }

  /** The signal as its next drain returns it. */
  asDrained(row: Row, line: Buffer): Drained {
    const waiting = this.asQueued(row, line)
    return { ...waiting, deliveries: waiting.deliveries + 1 }
  }

  /** Lifetime in milliseconds with which the signal was accepted. */
  lifeMs(row: Row): number {
    const { created_at, expires_at } = this.signalIn(row, this.readBody(row).line)
    return Date.parse(expires_at) - Date.parse(created_at)
  }

  /** Throws `store_damaged` if the line cannot be decoded. */
  private signalIn(row: Row, line: Buffer): Signal {
    return decodeOrDamaged(this.index.rows.location(row), () => signalOf(line.toString()))
  }

  pendingEntry(row: Row): PendingEntry {
    const { rows } = this.index
    const page = rows.page(row)
    const slot = rows.slot(row)
    return {
      signal_id: rows.idText(row),
      seq: rows.seq(row),
      from: this.index.from(row),
      intent: rows.has(row, FLAG.intent_on_disk)
        ? this.signalIn(row, this.readBody(row).line).intent
        : this.index.intents.name(page.intents[slot] as number),
      priority: page.priority[slot] as number,
    }
  }

  status(row: Row): SignalStatus {
    return STATUS_NAMES[this.index.rows.status(row)] as SignalStatus
  }

  view(row: Row): SignalView {
    const { rows } = this.index
    const { signal, seq, deliveries } = this.asQueued(row)
    const cancelled_at = rows.time(row, 'cancelled_at')
    const time = (column: Parameters<typeof rows.time>[1]) => {
      const ms = rows.time(row, column)
      return ms === null ? null : isoOf(ms)
    }
    return viewOf(signal, {
      seq,
      status: this.status(row),
      deliveries,
      lease: this.lease(row),
      result: this.result(row),
      stages: {
        created_at: signal.created_at,
        pushed_at: time('pushed_at'),
        rung_at: time('rung_at'),
        seen_at: time('seen_at'),
        drained_at: time('drained_at'),
        confirmed_at: time('confirmed_at'),
        completed_at: time('completed_at'),
        ...(cancelled_at === null ? {} : { cancelled_at: isoOf(cancelled_at) }),
      },
    })
  }

  /** Returns matches, newest first. Yields to the event loop between pages, which is safe because row numbers never change. */
  async query(query: SignalQuery, clock: Pick<Clock, 'soon'>): Promise<SignalPage> {
    const { page: result, takes } = openPage(query)
    const { rows } = this.index
    const candidates = this.candidates(query)
    let pages = 0
    for (let number = rows.pages.length - 1; number >= 0; number -= 1) {
      const page = rows.pages[number]
      if (page === undefined || (query.before_seq !== undefined && page.seq_base >= query.before_seq))
        continue
      for (const slot of candidates(page, Math.min(PAGE_ROWS, rows.end - number * PAGE_ROWS))) {
        const row = number * PAGE_ROWS + slot
        if (query.leased_to !== undefined && this.lease(row)?.session_id !== query.leased_to) continue
        const view = this.view(row)
        if (query.in_reply_to !== undefined && view.in_reply_to !== query.in_reply_to) continue
        if (!takes(view)) return result
      }
      pages += 1
      if (pages % PAGES_AT_ONCE === 0) await new Promise<void>((resolve) => clock.soon(resolve))
    }
    return result
  }

  /** Yields rows of the persona's signals in progress, newest first. */
  *inProgress(identity: Identity, unnotified_except: readonly SessionId[] | undefined): Generator<Row> {
    const { rows, identities, sessions, in_progress } = this.index
    const persona = identities.find(identity)
    let left = in_progress.count(persona)
    const own = new Set(unnotified_except?.map((session) => sessions.find(session) + 1))
    for (let number = rows.pages.length - 1; number >= 0 && left > 0; number -= 1) {
      const page = rows.pages[number]
      if (page === undefined) continue
      for (
        let slot = Math.min(PAGE_ROWS, rows.end - number * PAGE_ROWS) - 1;
        slot >= 0 && left > 0;
        slot -= 1
      ) {
        const row = number * PAGE_ROWS + slot
        if (page.to[slot] !== persona || !this.index.isInProgress(row)) continue
        left -= 1
        const is_notified = rows.has(row, FLAG.notified) || own.has(rows.get(row, 'taken_by'))
        if (unnotified_except === undefined || !is_notified) yield row
      }
    }
  }

  inProgressEntry(row: Row): InProgressSignal {
    const { signal_id, from, intent } = this.pendingEntry(row)
    return { signal_id, from, intent, drained_at: isoOf(this.index.rows.time(row, 'drained_at') as number) }
  }

  /** Returns a scan of a page's slots, last first, that match the query by index data; `in_reply_to` is matched by hash only. */
  private candidates({ to, from, status, in_reply_to, before_seq = Infinity }: SignalQuery) {
    const { identities } = this.index
    const to_number = to === undefined ? null : identities.find(to)
    const from_number = from === undefined ? null : identities.find(from)
    const reply_hash = in_reply_to === undefined ? null : textHash(in_reply_to)
    const status_matches = Object.values(STATUS).map((code) => {
      const name = STATUS_NAMES[code]
      return name !== undefined && (status === undefined || status.includes(name))
    })
    return function* (page: Page, slots: number): Generator<number> {
      for (let slot = slots - 1; slot >= 0; slot -= 1) {
        if (to_number !== null && page.to[slot] !== to_number) continue
        if (from_number !== null && page.from[slot] !== from_number) continue
        if (status_matches[page.status[slot] as number] !== true) continue
        if (reply_hash !== null && page.columns.reply_hash?.[slot] !== reply_hash) continue
        if (page.seq_base + (page.seqs[slot] as number) < before_seq) yield slot
      }
    }
  }

  /** Returns the lease under which the signal is held, or null. */
  private lease(row: Row): LeaseRecord | null {
    const { rows, leases } = this.index
    return rows.has(row, FLAG.held) ? (leases.byNumber(rows.get(row, 'lease')) ?? null) : null
  }

  private result(row: Row): Json | undefined {
    const at = this.index.rows.result(row)
    if (at.length === 0) return undefined
    const line = this.readLine(at)
    return decodeOrDamaged(at, () => wholeLine<{ result: Json }>(line.toString()).result)
  }
}

/** Converts a decoding error to `store_damaged`. Recovery reads only headers, so other errors in a line appear only here. */
function decodeOrDamaged<T>({ segment, offset }: Location, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new TurnbellError('store_damaged', {
      detail: `segment ${segment} at byte ${offset}: ${(cause as Error).message}`,
      cause,
    })
  }
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}
