/** The reference: what the port promises, in the shortest form that keeps it, but for surviving a crash. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, Json, Seq, SessionId, SignalId } from '../../contracts/ids.ts'
import type { Signal, SignalStatus, SignalView } from '../../contracts/signal.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Completed, Drained, Lease, Released, SignalStore, Taken } from '../../ports/signal-store.ts'
import { RETENTION, type Retention } from '../retention.ts'
import { reuseRefusal } from '../same-request.ts'
import { openPage } from '../signal-page.ts'
import { viewOf } from '../signal-view.ts'
import { timeInOrder, type ObservedStage } from '../stage-order.ts'

interface Row {
  signal: Signal
  seq: Seq
  status: SignalStatus
  deliveries: number
  /** `held` while tentative. Kept after a release, for a confirm that comes late. */
  lease: (Lease & { held: boolean }) | null
  /** The session of its last drain. */
  taken_by: SessionId | null
  /** A later session was told that it is in progress. */
  told: boolean
  /** From its creation to its end, as it was accepted. */
  life_ms: number
  stages: SignalView['stages']
  result?: Json
  /** When its recipient was told that it expired. */
  told_at?: string
}

export function createMemorySignalStore(
  clock: Pick<Clock, 'now'>,
  retention: Retention = RETENTION,
): SignalStore {
  /** In the order of seq. */
  const rows = new Map<SignalId, Row>()
  /** Who waits, highest priority first, then oldest. */
  const waiting = new Map<Identity, Row[]>()
  /** In the order in which they were handed out; late ones included. */
  const leased = new Map<string, Row[]>()
  const keys = new Map<string, Row>()
  let last_seq = 0
  let last_signal_id: SignalId | null = null
  let closed = false

  const checkOpen = () => {
    if (closed) throw new TurnbellError('store_unavailable', { detail: 'The store is closed.' })
  }
  const keyOf = (from: Identity, key: string) => `${from} ${key}`
  const knownKey = (from: Identity, key: string, now_ms: number) => {
    const first = keys.get(keyOf(from, key))
    if (first === undefined) return null
    return now_ms - Date.parse(first.signal.created_at) < retention.idempotency_window_ms ? first : null
  }

  const wait = (row: Row) => {
    const queue = waiting.get(row.signal.to) ?? []
    const { priority } = row.signal
    const at = queue.findIndex(
      (other) =>
        other.signal.priority < priority || (other.signal.priority === priority && other.seq > row.seq),
    )
    queue.splice(at === -1 ? queue.length : at, 0, row)
    waiting.set(row.signal.to, queue)
    row.status = 'pending'
  }
  const leave = (row: Row, status: SignalStatus) => {
    if (row.status === 'pending') {
      const queue = (waiting.get(row.signal.to) as Row[]).filter((other) => other !== row)
      if (queue.length > 0) waiting.set(row.signal.to, queue)
      else waiting.delete(row.signal.to)
    }
    row.status = status
  }
  const letGo = (row: Row) => {
    if (row.lease === null) return
    const { drain_id } = row.lease
    const left = (leased.get(drain_id) as Row[]).filter((other) => other !== row)
    if (left.length > 0) leased.set(drain_id, left)
    else leased.delete(drain_id)
    row.lease = null
  }
  const giveBack = (row: Row): Released => {
    if (row.lease !== null) row.lease.held = false
    if (row.deliveries > retention.deliveries_max) leave(row, 'dead')
    else wait(row)
    return {
      signal_id: row.signal.signal_id,
      to: row.signal.to,
      status: row.status === 'dead' ? 'dead' : 'pending',
    }
  }
  const store = (signal: Signal) => {
    const row: Row = {
      signal: structuredClone(signal),
      seq: ++last_seq,
      status: 'pending',
      deliveries: 0,
      lease: null,
      taken_by: null,
      told: false,
      life_ms: Date.parse(signal.expires_at) - Date.parse(signal.created_at),
      stages: justCreated(signal),
    }
    rows.set(signal.signal_id, row)
    wait(row)
    if (signal.idempotency_key !== undefined) keys.set(keyOf(signal.from, signal.idempotency_key), row)
    if (last_signal_id === null || signal.signal_id > last_signal_id) last_signal_id = signal.signal_id
    return row
  }
  const accept = (signal: Signal) => {
    const { from, idempotency_key, created_at } = signal
    const first =
      idempotency_key === undefined ? null : knownKey(from, idempotency_key, Date.parse(created_at))
    const refusal = first === null ? null : reuseRefusal(first.signal, signal)
    if (refusal !== null) throw refusal
    const { seq, signal: kept } = first ?? store(signal)
    return { seq, signal_id: kept.signal_id, repeated: first !== null }
  }
  const pending = (identity: Identity, except: readonly SessionId[] = []) => {
    const queue = waiting.get(identity) ?? []
    if (except.length === 0) return queue
    return queue.filter(
      ({ signal }) => signal.to_session === undefined || !except.includes(signal.to_session),
    )
  }
  const inProgress = (identity: Identity, untold_except: readonly SessionId[] | undefined) =>
    [...rows.values()]
      .reverse()
      .filter(
        (row) =>
          row.signal.to === identity &&
          isInProgress(row) &&
          (untold_except === undefined || !(row.told || untold_except.some((own) => own === row.taken_by))),
      )
  const handOut = (row: Row, deliveries: number): Drained => ({
    signal: structuredClone(row.signal),
    seq: row.seq,
    deliveries,
  })

  return {
    async append(signal) {
      checkOpen()
      return accept(signal)
    },
    async appendAll(signals) {
      checkOpen()
      const keysHere = new Map<string, Signal>()
      // Every refusal comes before the first change.
      for (const signal of signals) {
        const { from, idempotency_key: key, created_at } = signal
        if (key === undefined) continue
        const first = knownKey(from, key, Date.parse(created_at))?.signal ?? keysHere.get(keyOf(from, key))
        const refusal = first === undefined ? null : reuseRefusal(first, signal)
        if (refusal !== null) throw refusal
        if (first === undefined) keysHere.set(keyOf(from, key), signal)
      }
      return signals.map(accept)
    },
    recall(from, idempotency_key, at) {
      const first = knownKey(from, idempotency_key, at === undefined ? clock.now() : Date.parse(at))
      if (first === null) return null
      const { signal_id, request_digest } = first.signal
      return { seq: first.seq, signal_id, request_digest }
    },

    peek: (identity, limit, except) =>
      pending(identity, except)
        .slice(0, limit)
        .map(({ seq, signal: { signal_id, from, intent, priority } }) => ({
          signal_id,
          seq,
          from,
          intent,
          priority,
        })),
    pendingCount: (identity, except) => pending(identity, except).length,
    look: async (identity, limit, except) =>
      pending(identity, except)
        .slice(0, limit)
        .map((row) => handOut(row, row.deliveries)),

    async drain(identity, request) {
      checkOpen()
      const { drain_id, session_id, limit, now, bytes_max = Infinity, except_sessions } = request
      const { bytesOf = payloadBytes } = request
      let bytes = 0
      const taken: Row[] = []
      for (const row of pending(identity, except_sessions).slice(0, limit)) {
        bytes += bytesOf(handOut(row, row.deliveries + 1))
        if (taken.length > 0 && bytes > bytes_max) break
        taken.push(row)
      }
      for (const row of taken) {
        leave(row, 'acked')
        letGo(row)
        row.deliveries += 1
        row.lease = { drain_id, session_id, held: true }
        row.taken_by = session_id
        row.told = false
        setStage(row, 'drained_at', now)
        leased.set(drain_id, [...(leased.get(drain_id) ?? []), row])
      }
      return taken.map((row) => handOut(row, row.deliveries))
    },
    async confirm(drain_id, now) {
      checkOpen()
      const under = leased.get(drain_id) ?? []
      const ids = (some: Row[]) => some.map((row) => row.signal.signal_id)
      const waited = ids(under.filter((row) => row.status === 'pending'))
      for (const row of under) {
        leave(row, 'acked')
        letGo(row)
        setStage(row, 'confirmed_at', now)
      }
      return { confirmed: ids(under), waited }
    },
    async release(drain_id) {
      checkOpen()
      return (leased.get(drain_id) ?? []).filter((row) => row.lease?.held).map(giveBack)
    },
    async releaseSignals(identity, asked) {
      checkOpen()
      return asked.flatMap(({ signal_id, drain_id }) => {
        const row = rows.get(signal_id)
        if (row?.signal.to !== identity || row.lease?.held !== true) return []
        if (row.lease.drain_id !== drain_id) return []
        const released = giveBack(row)
        letGo(row)
        return [released]
      })
    },
    inProgressCount: (identity) => inProgress(identity, undefined).length,
    async inProgress(identity, { limit, untold_except }) {
      const found = inProgress(identity, untold_except)
      return { count: found.length, signals: found.slice(0, limit).map(taken) }
    },
    async told(signal_ids) {
      checkOpen()
      for (const signal_id of signal_ids) {
        const row = rows.get(signal_id)
        if (row !== undefined && isInProgress(row)) row.told = true
      }
    },
    leases: () =>
      [...leased].flatMap(([drain_id, under]) => {
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

    async complete(identity, signal_ids, result, now) {
      checkOpen()
      const outcome: Completed = { completed: [], waited: [], already: [], unknown: [] }
      for (const signal_id of signal_ids) {
        const row = rows.get(signal_id)
        if (row?.signal.to !== identity || row.status === 'cancelled') outcome.unknown.push(signal_id)
        else if (row.status === 'completed') outcome.already.push(signal_id)
        else {
          if (row.status === 'pending') outcome.waited.push(signal_id)
          leave(row, 'completed')
          letGo(row)
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
      const over = [...rows.values()].filter(
        (row) => row.status === 'pending' && row.signal.expires_at <= now,
      )
      const notices = over.length === 0 ? [] : (noticesFor?.(over.map(({ signal }) => ({ ...signal }))) ?? [])
      const noticed = notices.map(accept)
      for (const row of over) leave(row, 'expired')
      return { expired: over.map(({ signal: { signal_id, to } }) => ({ signal_id, to })), notices: noticed }
    },
    expiredCount: (identity) =>
      [...rows.values()].filter(({ signal, status }) => signal.to === identity && status === 'expired')
        .length,
    untold: async (identity, limit) =>
      [...rows.values()]
        .filter(
          ({ signal, status, told_at }) =>
            signal.to === identity && status === 'expired' && told_at === undefined,
        )
        .slice(0, limit)
        .map(({ signal }) => structuredClone(signal)),
    async cancel(signal_id, now) {
      checkOpen()
      const row = rows.get(signal_id)
      if (row === undefined) return null
      const before = row.status
      if (before !== 'pending') return before
      leave(row, 'cancelled')
      letGo(row)
      row.stages.cancelled_at = now
      return before
    },
    async replay(signal_id, now) {
      checkOpen()
      const row = rows.get(signal_id)
      if (row === undefined || row.status === 'pending' || row.lease?.held === true) return false
      letGo(row)
      row.signal.expires_at = new Date(Date.parse(now) + row.life_ms).toISOString()
      row.deliveries = 0
      row.taken_by = null
      row.told = false
      row.stages = justCreated(row.signal)
      delete row.result
      delete row.told_at
      wait(row)
      return true
    },
    mark(signal_ids, stage, at) {
      for (const signal_id of signal_ids) {
        const row = rows.get(signal_id)
        if (row === undefined) continue
        if (stage === 'told_at') row.told_at ??= at
        else if (row.stages[stage] === null) setStage(row, stage, at)
      }
    },

    async read(signal_id) {
      const row = rows.get(signal_id)
      return row === undefined ? null : view(row)
    },
    async query(query) {
      const { to, from, status, in_reply_to, leased_to, before_seq = Infinity } = query
      const { page, takes } = openPage(query)
      const found = [...rows.values()]
        .reverse()
        .filter(
          (row) =>
            row.seq < before_seq &&
            (to === undefined || row.signal.to === to) &&
            (from === undefined || row.signal.from === from) &&
            (status === undefined || status.includes(row.status)) &&
            (in_reply_to === undefined || row.signal.in_reply_to === in_reply_to) &&
            (leased_to === undefined || (row.lease?.held === true && row.lease.session_id === leased_to)),
        )
      found.every((row) => takes(view(row)))
      return page
    },
    depths: () => new Map([...waiting].map(([identity, queue]) => [identity, queue.length])),

    async compact(now) {
      checkOpen()
      const finished_before = Date.parse(now) - retention.finished_retention_ms
      const created_before = Date.parse(now) - retention.idempotency_window_ms
      let forgotten = 0
      for (const [signal_id, row] of rows) {
        const finished_at = finishedAt(row)
        if (finished_at === null || Date.parse(finished_at) >= finished_before) continue
        const key = row.signal.idempotency_key
        // The key still has to answer for it.
        if (key !== undefined && Date.parse(row.signal.created_at) > created_before) continue
        letGo(row)
        rows.delete(signal_id)
        if (key !== undefined && keys.get(keyOf(row.signal.from, key)) === row) {
          keys.delete(keyOf(row.signal.from, key))
        }
        forgotten += 1
      }
      return { forgotten }
    },
    health: () => ({
      writable: !closed,
      reason: closed ? 'The store is closed.' : null,
      signals: rows.size,
      pending: [...waiting.values()].reduce((sum, queue) => sum + queue.length, 0),
      last_seq,
      last_signal_id,
    }),
    async close() {
      closed = true
    },
  }
}

/** Sets the time so that the stages of the row stay in order. */
function setStage({ signal, stages }: Row, stage: ObservedStage, at: string): void {
  const ms = timeInOrder(stage, Date.parse(at), Date.parse(signal.created_at), (other) => {
    const time = stages[other]
    return time === null ? null : Date.parse(time)
  })
  stages[stage] = new Date(ms).toISOString()
}

function isInProgress({ status, lease }: Row): boolean {
  return status === 'acked' && lease?.held !== true
}

function taken({ signal: { signal_id, from, intent }, stages }: Row): Taken {
  return { signal_id, from, intent, drained_at: stages.drained_at as string }
}

function payloadBytes({ signal }: Drained): number {
  return Buffer.byteLength(JSON.stringify(signal.payload))
}

function finishedAt({ status, lease, stages, signal }: Row): string | null {
  if (status === 'completed') return stages.completed_at
  if (status === 'expired') return signal.expires_at
  if (status === 'cancelled') return stages.cancelled_at ?? null
  return status === 'acked' && lease === null ? stages.confirmed_at : null
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

function justCreated({ created_at }: Signal): Row['stages'] {
  return {
    created_at,
    pushed_at: null,
    rung_at: null,
    seen_at: null,
    drained_at: null,
    confirmed_at: null,
    completed_at: null,
  }
}
