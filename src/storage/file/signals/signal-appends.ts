/** Operations that store signals, and the lookup of a signal by its idempotency key. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { Seq } from '../../../contracts/ids.ts'
import type { Signal } from '../../../contracts/signal.ts'
import type { Appended, SignalStore } from '../../../ports/signal-store.ts'
import { reuseRefusal } from '../../same-request.ts'
import { emptyHead } from '../journal/journal-entries.ts'
import type { OperationContext } from './operation-context.ts'
import type { Row } from './index/signal-rows.ts'

export function createAppends(
  context: OperationContext,
): Pick<SignalStore, 'append' | 'appendAll' | 'findByKey'> {
  const { index, journal, clock } = context
  const { rows } = index
  const head = emptyHead()

  /**
   * Rejects the reuse of a key once the signal that owns the key is durable. If that signal cannot be made durable, this
   * throws `store_unavailable` instead: the key is then unused, and the sender may retry.
   */
  const rejectReuse = async (refusal: TurnbellError): Promise<never> => {
    await journal.committed()
    throw refusal
  }

  return {
    async append(signal) {
      journal.checkAlive()
      const same_key = findKey(context, signal)
      if (isInWindow(context, same_key, Date.parse(signal.created_at))) {
        const first = signalAt(context, same_key)
        const refusal = reuseRefusal(first.signal, signal)
        if (refusal !== null) return await rejectReuse(refusal)
        await journal.committed()
        return { seq: first.seq, signal_id: first.signal_id, repeated: true }
      }
      const seq = index.last_seq + 1
      const text = context.prepare(head, signal, seq, 0)
      journal.begin()
      context.addSignal(text, head, same_key)
      await journal.committed()
      return { seq, signal_id: signal.signal_id, repeated: false }
    },
    async appendAll(signals) {
      journal.checkAlive()
      const planned = planAppends(context, signals)
      if (planned instanceof TurnbellError) return await rejectReuse(planned)
      const { appended, fresh } = planned
      const prepared = fresh.map(({ signal, seq, same_key }, place) => {
        const head = emptyHead()
        return { head, same_key, text: context.prepare(head, signal, seq, fresh.length - 1 - place) }
      })
      if (prepared.length > 0) journal.begin()
      for (const { text, head, same_key } of prepared) context.addSignal(text, head, same_key)
      await journal.committed()
      return appended
    },
    findByKey(from, idempotency_key, at) {
      const row = findKey(context, { from, idempotency_key })
      if (!isInWindow(context, row, at === undefined ? clock.now() : Date.parse(at))) return null
      const request_digest = context.readIfIntact(row)[0]?.request_digest
      return { seq: rows.seq(row), signal_id: rows.idText(row), request_digest }
    },
  }
}

/**
 * Assigns seqs to the signals of a broadcast that are not repeats. Returns the refusal if a key was used for another
 * request.
 */
function planAppends(context: OperationContext, signals: readonly Signal[]) {
  const appended: Appended[] = []
  const fresh: { signal: Signal; seq: Seq; same_key: Row }[] = []
  const keysInCall = new Map<string, Appended & { signal: Signal }>()
  for (const signal of signals) {
    const { from, idempotency_key: key, created_at } = signal
    const same_key = findKey(context, signal)
    const in_same_call = key === undefined ? undefined : keysInCall.get(`${from} ${key}`)
    const first = isInWindow(context, same_key, Date.parse(created_at))
      ? signalAt(context, same_key)
      : in_same_call
    if (first !== undefined) {
      const refusal = reuseRefusal(first.signal, signal)
      if (refusal !== null) return refusal
      appended.push({ seq: first.seq, signal_id: first.signal_id, repeated: true })
      continue
    }
    const seq = context.index.last_seq + fresh.length + 1
    const one = { seq, signal_id: signal.signal_id, repeated: false }
    fresh.push({ signal, seq, same_key })
    if (key !== undefined) keysInCall.set(`${from} ${key}`, { ...one, signal })
    appended.push(one)
  }
  return { appended, fresh }
}

/** Returns the row that used the key last; -1 if there is none. */
function findKey(
  { keys }: OperationContext,
  { from, idempotency_key }: Pick<Signal, 'from' | 'idempotency_key'>,
): Row {
  return idempotency_key === undefined ? -1 : keys.find(from, idempotency_key)
}

/** Returns whether this row, found by its key, is still within the idempotency window. */
function isInWindow({ index: { rows }, retention }: OperationContext, row: Row, now_ms: number): boolean {
  return (
    row !== -1 &&
    now_ms - (rows.page(row).created_ms[rows.slot(row)] as number) < retention.idempotency_window_ms
  )
}

function signalAt({ index: { rows }, reader }: OperationContext, row: Row) {
  return { seq: rows.seq(row), signal_id: rows.idText(row), signal: reader.asQueued(row).signal }
}
