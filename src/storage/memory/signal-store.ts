/** The reference signal store, in memory: the shortest implementation of the port, without crash safety. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import type { PendingEntry } from '../../contracts/frames.ts'
import type { Signal, SignalView } from '../../contracts/signal.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Completed, Drained, SignalStore, InProgressSignal } from '../../ports/signal-store.ts'
import { RETENTION, type Retention } from '../retention.ts'
import { reuseRefusal } from '../same-request.ts'
import { openPage } from '../signal-page.ts'
import { viewOf } from '../signal-view.ts'
import {
  finishedAt,
  isInProgress,
  justCreated,
  keyOf,
  setStage,
  SignalRows,
  type Row,
} from './signal-rows.ts'

interface Context {
  rows: SignalRows
  clock: Pick<Clock, 'now'>
  retention: Retention
  /** Throws `store_unavailable` after the store was closed. */
  checkOpen: () => void
}

export function createMemorySignalStore(
  clock: Pick<Clock, 'now'>,
  retention: Retention = RETENTION,
): SignalStore {
  const rows = new SignalRows(retention)
  let closed = false
  const checkOpen = () => {
    if (closed) throw new TurnbellError('store_unavailable', { detail: 'The store is closed.' })
  }
  const context: Context = { rows, clock, retention, checkOpen }
  return {
    ...createAppends(context),
    ...createDrains(context),
    ...createProgress(context),
    ...createOutcomes(context),
    ...createQueries(context),
    health: () => ({
      writable: !closed,
      reason: closed ? 'The store is closed.' : null,
      hint: null,
      signals: rows.byId.size,
      pending: [...rows.waiting.values()].reduce((sum, queue) => sum + queue.length, 0),
      last_seq: rows.last_seq,
      last_signal_id: rows.last_signal_id,
    }),
    async close() {
      closed = true
    },
  }
}

function createAppends({
  rows,
  clock,
  checkOpen,
}: Context): Pick<SignalStore, 'append' | 'appendAll' | 'findByKey'> {
  return {
    async append(signal) {
      checkOpen()
      return rows.accept(signal)
    },
    async appendAll(signals) {
      checkOpen()
      const keysInCall = new Map<string, Signal>()
      // All checks run before the first change.
      for (const signal of signals) {
        const { from, idempotency_key: key, created_at } = signal
        if (key === undefined) continue
        const first =
          rows.findByKey(from, key, Date.parse(created_at))?.signal ?? keysInCall.get(keyOf(from, key))
        const refusal = first === undefined ? null : reuseRefusal(first, signal)
        if (refusal !== null) throw refusal
        if (first === undefined) keysInCall.set(keyOf(from, key), signal)
      }
      return signals.map((signal) => rows.accept(signal))
    },
    findByKey(from, idempotency_key, at) {
      const first = rows.findByKey(from, idempotency_key, at === undefined ? clock.now() : Date.parse(at))
      if (first === null) return null
      const { signal_id, request_digest } = first.signal
      return { seq: first.seq, signal_id, request_digest }
    },
  }
}

/** Takes pending signals under a lease, and ends leases. */
function createDrains({
  rows,
  checkOpen,
}: Context): Pick<SignalStore, 'drain' | 'confirm' | 'release' | 'releaseSignals' | 'leases'> {
  return {
    async drain(identity, request) {
      checkOpen()
      const { drain_id, session_id, limit, now, bytes_max = Infinity, except_sessions } = request
      const { bytesOf = payloadBytes } = request
      let bytes = 0
      const taken: Row[] = []
      for (const row of rows.pending(identity, except_sessions).slice(0, limit)) {
        bytes += bytesOf(drainedView(row, row.deliveries + 1))
        if (taken.length > 0 && bytes > bytes_max) break
        taken.push(row)
      }
      for (const row of taken) {
        rows.setStatus(row, 'acked')
        rows.leaveLease(row)
        row.deliveries += 1
        row.lease = { drain_id, session_id, held: true }
        row.taken_by = session_id
        row.notified = false
        setStage(row, 'drained_at', now)
        rows.leased.set(drain_id, [...(rows.leased.get(drain_id) ?? []), row])
      }
      return taken.map((row) => drainedView(row, row.deliveries))
    },
    async confirm(drain_id, now) {
      checkOpen()
      const under = rows.leased.get(drain_id) ?? []
      const ids = (some: Row[]) => some.map((row) => row.signal.signal_id)
      const waited = ids(under.filter((row) => row.status === 'pending'))
      for (const row of under) {
        rows.setStatus(row, 'acked')
        rows.leaveLease(row)
        setStage(row, 'confirmed_at', now)
      }
      return { confirmed: ids(under), waited }
    },
    async release(drain_id) {
      checkOpen()
      return (rows.leased.get(drain_id) ?? [])
        .filter((row) => row.lease?.held)
        .map((row) => rows.release(row))
    },
    async releaseSignals(identity, asked) {
      checkOpen()
      return asked.flatMap(({ signal_id, drain_id }) => {
        const row = rows.byId.get(signal_id)
        if (row?.signal.to !== identity || row.lease?.held !== true) return []
        if (row.lease.drain_id !== drain_id) return []
        const released = rows.release(row)
        rows.leaveLease(row)
        return [released]
      })
    },
    leases: () =>
      [...rows.leased].flatMap(([drain_id, under]) => {
        const held = under.filter((row) => row.lease?.held)
        const [first] = held
        if (first === undefined || first.lease === null) return []
        return [
          {
            drain_id,
            session_id: first.lease.session_id,
            identity: first.signal.to,
            signal_ids: held.map((row) => row.signal.signal_id),
          },
        ]
      }),
  }
}

/** Records the stages of a signal, and returns the signals in progress. */
function createProgress({
  rows,
  checkOpen,
}: Context): Pick<SignalStore, 'inProgressCount' | 'inProgress' | 'markNotified' | 'mark'> {
  const inProgress = (identity: Identity, unnotified_except?: readonly SessionId[]) =>
    rows
      .filter(
        (row) =>
          row.signal.to === identity &&
          isInProgress(row) &&
          (unnotified_except === undefined ||
            !(row.notified || unnotified_except.some((own) => own === row.taken_by))),
      )
      .reverse()

  return {
    inProgressCount: (identity) => inProgress(identity).length,
    async inProgress(identity, { limit, unnotified_except }) {
      const found = inProgress(identity, unnotified_except)
      return { count: found.length, signals: found.slice(0, limit).map(taken) }
    },
    async markNotified(signal_ids) {
      checkOpen()
      for (const signal_id of signal_ids) {
        const row = rows.byId.get(signal_id)
        if (row !== undefined && isInProgress(row)) row.notified = true
      }
    },
    mark(signal_ids, stage, at) {
      for (const signal_id of signal_ids) {
        const row = rows.byId.get(signal_id)
        if (row === undefined) continue
        if (stage === 'told_at') row.told_at ??= at
        else if (row.stages[stage] === null) setStage(row, stage, at)
      }
    },
  }
}

/** Ends signals, makes one pending again, and forgets finished ones. */
function createOutcomes({
  rows,
  retention,
  checkOpen,
}: Context): Pick<SignalStore, 'complete' | 'expire' | 'cancel' | 'replay' | 'compact'> {
  return {
    async complete(identity, signal_ids, result, now) {
      checkOpen()
      const outcome: Completed = { completed: [], waited: [], already: [], unknown: [] }
      for (const signal_id of signal_ids) {
        const row = rows.byId.get(signal_id)
        if (row?.signal.to !== identity || row.status === 'cancelled') outcome.unknown.push(signal_id)
        else if (row.status === 'completed') outcome.already.push(signal_id)
        else {
          if (row.status === 'pending') outcome.waited.push(signal_id)
          rows.setStatus(row, 'completed')
          rows.leaveLease(row)
          if (row.stages.drained_at !== null && row.stages.confirmed_at === null)
            setStage(row, 'confirmed_at', now)
          setStage(row, 'completed_at', now)
          if (result !== undefined) row.result = structuredClone(result)
          outcome.completed.push(signal_id)
        }
      }
      return outcome
    },
    async expire(now, noticesFor) {
      checkOpen()
      const over = rows.filter((row) => row.status === 'pending' && row.signal.expires_at <= now)
      const notices = over.length === 0 ? [] : (noticesFor?.(over.map(({ signal }) => ({ ...signal }))) ?? [])
      const noticed = notices.map((notice) => rows.accept(notice))
      for (const row of over) rows.setStatus(row, 'expired')
      return { expired: over.map(({ signal: { signal_id, to } }) => ({ signal_id, to })), notices: noticed }
    },
    async cancel(signal_id, now) {
      checkOpen()
      const row = rows.byId.get(signal_id)
      if (row === undefined) return null
      const before = row.status
      if (before !== 'pending') return before
      rows.setStatus(row, 'cancelled')
      rows.leaveLease(row)
      row.stages.cancelled_at = now
      return before
    },
    async replay(signal_id, now) {
      checkOpen()
      const row = rows.byId.get(signal_id)
      if (row === undefined || row.status === 'pending' || row.lease?.held === true) return false
      rows.leaveLease(row)
      row.signal.expires_at = new Date(Date.parse(now) + row.life_ms).toISOString()
      row.deliveries = 0
      row.taken_by = null
      row.notified = false
      row.stages = justCreated(row.signal)
      delete row.result
      delete row.told_at
      rows.enqueue(row)
      return true
    },
    async compact(now) {
      checkOpen()
      const finished_before = Date.parse(now) - retention.finished_retention_ms
      const created_before = Date.parse(now) - retention.idempotency_window_ms
      let forgotten = 0
      for (const row of [...rows.byId.values()]) {
        const finished_at = finishedAt(row)
        if (finished_at === null || Date.parse(finished_at) >= finished_before) continue
        // The idempotency key is still valid.
        if (row.signal.idempotency_key !== undefined && Date.parse(row.signal.created_at) > created_before)
          continue
        rows.forget(row)
        forgotten += 1
      }
      return { forgotten }
    },
  }
}

function createQueries({
  rows,
}: Context): Pick<
  SignalStore,
  | 'peek'
  | 'newestPending'
  | 'pendingCount'
  | 'readPending'
  | 'pendingCounts'
  | 'expiredCount'
  | 'unnotifiedExpired'
  | 'read'
  | 'query'
> {
  return {
    peek: (identity, limit, except) => rows.pending(identity, except).slice(0, limit).map(pendingEntry),
    newestPending: (identity, limit) =>
      rows
        .pending(identity)
        .toSorted((a, b) => b.seq - a.seq)
        .slice(0, limit)
        .map(pendingEntry),
    pendingCount: (identity, except) => rows.pending(identity, except).length,
    readPending: async (identity, limit, except) =>
      rows
        .pending(identity, except)
        .slice(0, limit)
        .map((row) => drainedView(row, row.deliveries)),
    expiredCount: (identity) =>
      rows.filter(({ signal, status }) => signal.to === identity && status === 'expired').length,
    unnotifiedExpired: async (identity, limit) =>
      rows
        .filter(
          ({ signal, status, told_at }) =>
            signal.to === identity && status === 'expired' && told_at === undefined,
        )
        .slice(0, limit)
        .map(({ signal }) => structuredClone(signal)),
    async read(signal_id) {
      const row = rows.byId.get(signal_id)
      return row === undefined ? null : view(row)
    },
    async query(query) {
      const { to, from, status, in_reply_to, leased_to, before_seq = Infinity } = query
      const { page, takes } = openPage(query)
      const found = rows
        .filter(
          (row) =>
            row.seq < before_seq &&
            (to === undefined || row.signal.to === to) &&
            (from === undefined || row.signal.from === from) &&
            (status === undefined || status.includes(row.status)) &&
            (in_reply_to === undefined || row.signal.in_reply_to === in_reply_to) &&
            (leased_to === undefined || (row.lease?.held === true && row.lease.session_id === leased_to)),
        )
        .reverse()
      found.every((row) => takes(view(row)))
      return page
    },
    pendingCounts: () => new Map([...rows.waiting].map(([identity, queue]) => [identity, queue.length])),
  }
}

function drainedView(row: Row, deliveries: number): Drained {
  return { signal: structuredClone(row.signal), seq: row.seq, deliveries }
}

function pendingEntry({ seq, signal: { signal_id, from, intent, priority } }: Row): PendingEntry {
  return { signal_id, seq, from, intent, priority }
}

function taken({ signal: { signal_id, from, intent }, stages }: Row): InProgressSignal {
  return { signal_id, from, intent, drained_at: stages.drained_at as string }
}

function payloadBytes({ signal }: Drained): number {
  return Buffer.byteLength(JSON.stringify(signal.payload))
}

function view({ signal, seq, status, deliveries, lease, stages, result }: Row): SignalView {
  return viewOf(structuredClone(signal), {
    seq,
    status,
    deliveries,
    lease: lease?.held ? lease : null,
    stages: { ...stages },
    result: structuredClone(result),
  })
}
