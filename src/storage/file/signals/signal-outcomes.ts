/** Operations that end signals (complete, expire, cancel), and the replay that makes one pending again. */
import type { SignalId } from '../../../contracts/ids.ts'
import type { Signal } from '../../../contracts/signal.ts'
import type { Appended, SignalStore } from '../../../ports/signal-store.ts'
import { emptyHead, entryText, type ChangeEntry } from '../journal/journal-entries.ts'
import type { OperationContext } from './operation-context.ts'
import { FLAG, STATUS, type Row } from './index/signal-rows.ts'

/** Maximum number of signals named by one journal line. */
const IDS_PER_LINE_MAX = 1000

export function createOutcomes(
  context: OperationContext,
): Pick<SignalStore, 'complete' | 'expire' | 'cancel' | 'replay'> {
  const { index, journal, marks, reader } = context
  const { rows } = index

  return {
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
          if (context.isPending(row)) outcome.waited.push(signal_id)
        }
      }
      if (completed.size === 0) await journal.committed()
      else {
        await context.change({
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
      const overdue = index.overdue(Date.parse(now))
      const notices: Appended[] = []
      const commits: Promise<void>[] = []
      for (let at = 0; at < overdue.length; at += IDS_PER_LINE_MAX) {
        const part = overdue.slice(at, at + IDS_PER_LINE_MAX)
        const signals = noticesFor?.(part.flatMap((row) => context.readIfIntact(row))) ?? []
        addExpiry(context, part, signals, now)
        commits.push(journal.committed())
        for (const [place, { signal_id }] of signals.entries()) {
          const seq = index.last_seq - signals.length + 1 + place
          notices.push({ seq, signal_id, repeated: false })
        }
      }
      const expired = overdue.map((row) => ({ signal_id: rows.idText(row), to: index.to(row) }))
      await Promise.all(commits)
      return { expired, notices }
    },
    async cancel(signal_id, now) {
      journal.checkAlive()
      const row = index.find(signal_id)
      if (row === -1) return null
      const before = reader.status(row)
      if (before === 'pending') await context.change({ kind: 'cancel', at: now, signal_ids: [signal_id] })
      else await journal.committed()
      return before
    },
    async replay(signal_id, now) {
      journal.checkAlive()
      const row = index.find(signal_id)
      if (row === -1 || context.isPending(row) || rows.has(row, FLAG.held)) return false
      // Buffered marks belong to the time before the replay, so they must be written before it.
      marks.writeTo(journal)
      const expires_at = new Date(Date.parse(now) + reader.lifeMs(row)).toISOString()
      await context.change({ kind: 'replay', expires_at, signal_ids: [signal_id] })
      return true
    },
  }
}

/** Adds the expiry of these rows and its notices to the journal, as one group. */
function addExpiry(
  context: OperationContext,
  expired: readonly Row[],
  notices: readonly Signal[],
  now: string,
): void {
  const { index, journal } = context
  const prepared = notices.map((signal, place) => {
    const head = emptyHead()
    // The expiry line is the last line of the group, so a torn write keeps all of the group or nothing.
    const left = notices.length - place
    return { head, text: context.prepare(head, signal, index.last_seq + 1 + place, left) }
  })
  const entry: ChangeEntry = { kind: 'expire', at: now, signal_ids: context.idsOf(expired) }
  journal.begin()
  for (const { text, head } of prepared) context.addSignal(text, head, -1)
  index.applyUnsynced(entry, journal.add(entryText(entry)))
}
