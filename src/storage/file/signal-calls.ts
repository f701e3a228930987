/**
 * What can be asked of a signal store on disk: a journal, and an index of it in memory. A call decides on
 * the index, writes down what it decided, applies that, and answers once it is synced. So the order of
 * calls, the order of lines and the order of changes are one.
 */
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, Seq, SessionId, SignalId } from '../../contracts/ids.ts'
import type { Signal } from '../../contracts/signal.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Appended, Drained, Released, SignalStore } from '../../ports/signal-store.ts'
import type { Retention } from '../retention.ts'
import { reuseRefusal } from '../same-request.ts'
import {
  emptyHead,
  entryText,
  fillHead,
  signalText,
  type ChangeEntry,
  type ReleaseEntry,
  type SignalHead,
} from './entries.ts'
import type { Journal } from './journal.ts'
import { KeyBook } from './key-book.ts'
import type { Maintenance } from './maintenance.ts'
import type { MarkBook } from './mark-book.ts'
import { FLAG, STATUS, type Row } from './rows.ts'
import type { SignalIndex } from './signal-index.ts'
import { SignalReader } from './signal-reader.ts'

export interface FileSignalStore extends SignalStore {
  /** Ends writing at once, leaving the files alone: they are another's now. */
  fence(error: TurnbellError): void
  /**
   * Throws `store_fenced` when another has the journal by now, also where nothing is written to it; another refusal when
   * nobody can tell.
   */
  checkOwned(): void
}

export interface Parts {
  index: SignalIndex
  journal: Journal
  marks: MarkBook
  maintenance: Maintenance
  clock: Pick<Clock, 'now' | 'soon'>
  retention: Retention
  close: () => Promise<void>
}

/** One line names at most this many signals. */
const IDS_A_LINE = 1000

export function createSignalCalls(parts: Parts): FileSignalStore {
  const { index, journal, marks, maintenance, clock, retention } = parts
  const { rows } = index
  const keys = new KeyBook(index, (at) => journal.readLine(at))
  const reader = new SignalReader(index, (at) => journal.readLine(at))
  const head = emptyHead()
  let closed: Promise<void> | null = null

  /** Writes a change down and makes it. Answers what has to be awaited before anybody is told. */
  const change = (entry: ChangeEntry): Promise<void> => {
    journal.begin()
    index.applyUnsynced(entry, journal.add(entryText(entry)))
    return journal.committed()
  }

  /**
   * What was read, once it is true for good: until then a crash could undo what somebody was told. A journal
   * that can write no more has nothing on its way.
   */
  const durably = async <T>(read: T): Promise<T> => {
    if (journal.refusal === null) await journal.committed()
    return read
  }

  const findKey = (from: Identity, key: string | undefined): Row =>
    key === undefined ? -1 : keys.find(from, key)
  /** Whether this row, found by its key, still answers for it. */
  const answers = (row: Row, now_ms: number): boolean =>
    row !== -1 &&
    now_ms - (rows.page(row).created_ms[rows.slot(row)] as number) < retention.idempotency_window_ms

  /** The caller has begun the group. Nothing here can fail: the line is on its way. */
  const store = (text: string, head: SignalHead, same_key: Row): void => {
    const at = journal.add(text)
    const row = index.addSignal(head, at.segment, at.offset, at.length)
    if (head.idempotency_key !== undefined) keys.note(row, head.from, head.idempotency_key, same_key)
  }

  /** Everything that can go wrong with a signal goes wrong here, before its group is begun. */
  const prepare = (into: SignalHead, signal: Signal, seq: Seq, left: number): string => {
    fillHead(into, signal, seq)
    if (index.findAny(signal.signal_id) !== -1)
      throw new Error(`signal ${signal.signal_id} is stored already`)
    return signalText(signal, seq, left)
  }

  const choose = (identity: Identity, limit: number, except: readonly SessionId[] = []): Row[] => {
    const chosen: Row[] = []
    const left_out = new Set(except.map((session) => index.sessions.find(session) + 1))
    index.pending.visit(index.identities.find(identity), (row) => {
      if (chosen.length >= limit) return false
      const to_session = left_out.size === 0 ? 0 : rows.get(row, 'to_session')
      if (to_session === 0 || !left_out.has(to_session)) chosen.push(row)
      return true
    })
    return chosen
  }

  const idsOf = (some: readonly Row[]): SignalId[] => some.map((row) => rows.idText(row))
  const isPending = (row: Row): boolean => rows.status(row) === STATUS.pending

  /** Empty for a signal whose line is damaged: it expires without being named. */
  const readable = (row: Row): Signal[] => {
    try {
      return [reader.waiting(row).signal]
    } catch (error) {
      if (error instanceof TurnbellError && error.code === 'store_damaged') return []
      throw error
    }
  }

  const giveBack = async (leased: Row[], how: Pick<ReleaseEntry, 'for_good'>): Promise<Released[]> => {
    if (leased.length === 0) return []
    const released = leased.map((row): Released => {
      const deliveries = rows.page(row).deliveries[rows.slot(row)] as number
      return {
        signal_id: rows.idText(row),
        to: index.to(row),
        status: deliveries > retention.deliveries_max ? 'dead' : 'pending',
      }
    })
    const ids = (status: Released['status']) =>
      released.filter((one) => one.status === status).map((one) => one.signal_id)
    await change({ kind: 'release', pending: ids('pending'), dead: ids('dead'), ...how })
    return released
  }

  /**
   * Refuses the use of a key once the signal that has it is durable. If that one cannot be kept, this throws
   * `store_unavailable` instead: nothing has used the key then, and the sender may try again.
   */
  const refuse = async (refusal: TurnbellError): Promise<never> => {
    await journal.committed()
    throw refusal
  }

  return {
    async append(signal) {
      journal.checkAlive()
      const same_key = findKey(signal.from, signal.idempotency_key)
      if (answers(same_key, Date.parse(signal.created_at))) {
        const refusal = reuseRefusal(reader.waiting(same_key).signal, signal)
        if (refusal !== null) return await refuse(refusal)
        const first = { seq: rows.seq(same_key), signal_id: rows.idText(same_key), repeated: true }
        await journal.committed()
        return first
      }
      const seq = index.last_seq + 1
      const text = prepare(head, signal, seq, 0)
      journal.begin()
      store(text, head, same_key)
      await journal.committed()
      return { seq, signal_id: signal.signal_id, repeated: false }
    },
    async appendAll(signals) {
      journal.checkAlive()
      const appended: Appended[] = []
      const fresh: { signal: Signal; seq: Seq; same_key: Row }[] = []
      const keysHere = new Map<string, Appended & { signal: Signal }>()
      for (const signal of signals) {
        const { from, idempotency_key: key } = signal
        const same_key = findKey(from, key)
        const known = answers(same_key, Date.parse(signal.created_at))
        const here = key === undefined ? undefined : keysHere.get(`${from} ${key}`)
        const first = known
          ? {
              seq: rows.seq(same_key),
              signal_id: rows.idText(same_key),
              signal: reader.waiting(same_key).signal,
            }
          : here
        if (first !== undefined) {
          const refusal = reuseRefusal(first.signal, signal)
          if (refusal !== null) return await refuse(refusal)
          appended.push({ seq: first.seq, signal_id: first.signal_id, repeated: true })
          continue
        }
        const seq = index.last_seq + fresh.length + 1
        const one = { seq, signal_id: signal.signal_id, repeated: false }
        fresh.push({ signal, seq, same_key })
        if (key !== undefined) keysHere.set(`${from} ${key}`, { ...one, signal })
        appended.push(one)
      }
      const prepared = fresh.map(({ signal, seq, same_key }, place) => {
        const head = emptyHead()
        return { head, same_key, text: prepare(head, signal, seq, fresh.length - 1 - place) }
      })
      if (prepared.length > 0) journal.begin()
      for (const { text, head, same_key } of prepared) store(text, head, same_key)
      await journal.committed()
      return appended
    },
    recall(from, idempotency_key, at) {
      const row = findKey(from, idempotency_key)
      if (!answers(row, at === undefined ? clock.now() : Date.parse(at))) return null
      const request_digest = readable(row)[0]?.request_digest
      return { seq: rows.seq(row), signal_id: rows.idText(row), request_digest }
    },

    peek: (identity, limit, except) => choose(identity, limit, except).map((row) => reader.pendingEntry(row)),
    pendingCount(identity, except = []) {
      const persona = index.identities.find(identity)
      if (except.length === 0 || index.pending.addressed(persona) === 0) return index.pending.count(persona)
      return choose(identity, Infinity, except).length
    },
    look: async (identity, limit, except) =>
      durably(choose(identity, limit, except).map((row) => reader.waiting(row))),

    async drain(identity, request) {
      journal.checkAlive()
      const { drain_id, session_id, limit, now, bytes_max = Infinity, bytesOf, except_sessions } = request
      let bytes = 0
      const drained: Drained[] = []
      // Bodies are read before anything is leased: one that cannot be read must not be handed out.
      for (const row of choose(identity, limit, except_sessions)) {
        const { line, payload_bytes } = reader.body(row)
        const one = reader.handOut(row, line)
        bytes += bytesOf?.(one) ?? payload_bytes
        if (drained.length > 0 && bytes > bytes_max) break
        drained.push(one)
      }
      if (drained.length === 0) return []
      const signal_ids = drained.map(({ signal }) => signal.signal_id)
      await change({ kind: 'lease', drain_id, session_id, identity, at: now, signal_ids })
      return drained
    },
    async confirm(drain_id, now) {
      journal.checkAlive()
      const under = [...(index.leases.find(drain_id)?.rows ?? [])]
      const signal_ids = idsOf(under)
      const waited = idsOf(under.filter(isPending))
      if (signal_ids.length > 0) await change({ kind: 'confirm', drain_id, at: now, signal_ids })
      return { confirmed: signal_ids, waited }
    },
    async release(drain_id) {
      journal.checkAlive()
      const leased = [...(index.leases.find(drain_id)?.rows ?? [])]
      return giveBack(
        leased.filter((row) => rows.has(row, FLAG.held)),
        {},
      )
    },
    async releaseSignals(identity, asked) {
      journal.checkAlive()
      const leased = new Set<Row>()
      for (const { signal_id, drain_id } of asked) {
        const row = index.find(signal_id)
        if (row === -1 || index.to(row) !== identity || !rows.has(row, FLAG.held)) continue
        if (index.leases.find(drain_id)?.rows.has(row)) leased.add(row)
      }
      return giveBack([...leased], { for_good: true })
    },
    inProgressCount: (identity) => index.in_progress.count(index.identities.find(identity)),
    async inProgress(identity, { limit, untold_except }) {
      const found = [...reader.inProgress(identity, untold_except)]
      return durably({
        count: found.length,
        signals: found.slice(0, limit).map((row) => reader.taken(row)),
      })
    },
    async told(asked) {
      journal.checkAlive()
      const signal_ids = asked.filter((signal_id) => {
        const row = index.find(signal_id)
        return row !== -1 && index.isInProgress(row)
      })
      if (signal_ids.length > 0) await change({ kind: 'told', signal_ids })
    },
    leases: () =>
      [...index.leases.all()].flatMap(({ drain_id, session_id, persona, rows: under }) => {
        const held = [...under].filter((row) => rows.has(row, FLAG.held))
        if (held.length === 0) return []
        const identity = index.identities.name(persona)
        return [{ drain_id, session_id, identity, signal_ids: held.map((row) => rows.idText(row)) }]
      }),

    async complete(identity, signal_ids, result, now) {
      journal.checkAlive()
      const completed = new Set<SignalId>()
      const outcome = { waited: [] as SignalId[], already: [] as SignalId[], unknown: [] as SignalId[] }
      for (const signal_id of signal_ids) {
        const row = index.find(signal_id)
        if (row === -1 || index.to(row) !== identity || rows.status(row) === STATUS.cancelled)
          outcome.unknown.push(signal_id)
        else if (rows.status(row) === STATUS.completed || completed.has(signal_id)) {
          outcome.already.push(signal_id)
        } else {
          completed.add(signal_id)
          if (isPending(row)) outcome.waited.push(signal_id)
        }
      }
      if (completed.size === 0) await journal.committed()
      else {
        await change({
          kind: 'complete',
          at: now,
          signal_ids: [...completed],
          ...(result === undefined ? {} : { result }),
        })
      }
      return { completed: [...completed], ...outcome }
    },
    async expire(now, noticesFor) {
      journal.checkAlive()
      const over = index.overdue(Date.parse(now))
      const notices: Appended[] = []
      const settled: Promise<void>[] = []
      for (let at = 0; at < over.length; at += IDS_A_LINE) {
        const part = over.slice(at, at + IDS_A_LINE)
        const signals = noticesFor?.(part.flatMap((row) => readable(row))) ?? []
        const prepared = signals.map((signal, place) => {
          const own = emptyHead()
          // The line of the expiry is the last of the group: all of it survives a torn write, or nothing.
          return { head: own, text: prepare(own, signal, index.last_seq + 1 + place, signals.length - place) }
        })
        const entry: ChangeEntry = { kind: 'expire', at: now, signal_ids: idsOf(part) }
        journal.begin()
        for (const { text, head: own } of prepared) store(text, own, -1)
        index.applyUnsynced(entry, journal.add(entryText(entry)))
        settled.push(journal.committed())
        for (const [place, { signal_id }] of signals.entries()) {
          const seq = index.last_seq - signals.length + 1 + place
          notices.push({ seq, signal_id, repeated: false })
        }
      }
      const expired = over.map((row) => ({ signal_id: rows.idText(row), to: index.to(row) }))
      await Promise.all(settled)
      return { expired, notices }
    },
    expiredCount: (identity) => index.expired.get(index.identities.find(identity))?.count ?? 0,
    untold: async (identity, limit) => {
      const untold = index.expired.get(index.identities.find(identity))?.untold ?? []
      return durably([...untold].slice(0, limit).flatMap((row) => readable(row)))
    },
    async cancel(signal_id, now) {
      journal.checkAlive()
      const row = index.find(signal_id)
      if (row === -1) return null
      const before = reader.status(row)
      if (before === 'pending') await change({ kind: 'cancel', at: now, signal_ids: [signal_id] })
      else await journal.committed()
      return before
    },
    async replay(signal_id, now) {
      journal.checkAlive()
      const row = index.find(signal_id)
      if (row === -1 || isPending(row) || rows.has(row, FLAG.held)) return false
      // Written after the replay, a stage of the former life would be read back as one of the new.
      marks.writeTo(journal)
      const expires_at = new Date(Date.parse(now) + reader.lifeMs(row)).toISOString()
      await change({ kind: 'replay', expires_at, signal_ids: [signal_id] })
      return true
    },
    mark(signal_ids, stage, at) {
      if (journal.refusal === null) marks.note(signal_ids, stage, at, journal)
    },

    async read(signal_id) {
      const row = index.find(signal_id)
      return durably(row === -1 ? null : reader.view(row))
    },
    query: async (query) => durably(await reader.query(query, clock)),
    depths: () =>
      new Map(
        [...index.pending.counts()].map(([persona, { count }]) => [index.identities.name(persona), count]),
      ),

    async compact(now) {
      journal.checkAlive()
      const finished_before = Date.parse(now) - retention.finished_retention_ms
      const created_before = Date.parse(now) - retention.idempotency_window_ms
      const forgotten = index.forgettable(finished_before, created_before)
      if (forgotten > 0) {
        await change({
          kind: 'forget',
          finished_before: new Date(finished_before).toISOString(),
          created_before: new Date(created_before).toISOString(),
        })
      }
      await maintenance.compact()
      return { forgotten }
    },
    health: () => ({
      writable: journal.refusal === null,
      reason: journal.refusal?.detail ?? null,
      signals: index.count,
      pending: index.pending.total,
      last_seq: index.last_seq,
      last_signal_id: index.last_signal_id,
    }),
    close: () => (closed ??= parts.close()),
    fence: (error) => journal.die(error),
    checkOwned: () => journal.checkOwned(),
  }
}
