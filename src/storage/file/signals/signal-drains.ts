/** Operations on leases: draining signals, and confirming or releasing what was drained. */
import type { Drained, Released, SignalStore } from '../../../ports/signal-store.ts'
import type { ReleaseEntry } from '../journal/journal-entries.ts'
import type { OperationContext } from './operation-context.ts'
import { FLAG, type Row } from './index/signal-rows.ts'

export function createDrains(
  context: OperationContext,
): Pick<SignalStore, 'drain' | 'confirm' | 'release' | 'releaseSignals' | 'markNotified'> {
  const { index, journal, retention, reader } = context
  const { rows } = index

  const releaseRows = async (leased: Row[], how: Pick<ReleaseEntry, 'for_good'>): Promise<Released[]> => {
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
    await context.change({ kind: 'release', pending: ids('pending'), dead: ids('dead'), ...how })
    return released
  }

  return {
    async drain(identity, request) {
      journal.checkAlive()
      const { drain_id, session_id, limit, now, bytes_max = Infinity, bytesOf, except_sessions } = request
      let bytes = 0
      const drained: Drained[] = []
      // Bodies are read before anything is leased, because an unreadable signal must not be leased.
      for (const row of context.selectPending(identity, limit, except_sessions)) {
        const { line, payload_bytes } = reader.readBody(row)
        const one = reader.asDrained(row, line)
        bytes += bytesOf?.(one) ?? payload_bytes
        if (drained.length > 0 && bytes > bytes_max) break
        drained.push(one)
      }
      if (drained.length === 0) return []
      const signal_ids = drained.map(({ signal }) => signal.signal_id)
      await context.change({ kind: 'lease', drain_id, session_id, identity, at: now, signal_ids })
      return drained
    },
    async confirm(drain_id, now) {
      journal.checkAlive()
      const leased = [...(index.leases.find(drain_id)?.rows ?? [])]
      const signal_ids = context.idsOf(leased)
      const waited = context.idsOf(leased.filter((row) => context.isPending(row)))
      if (signal_ids.length > 0) await context.change({ kind: 'confirm', drain_id, at: now, signal_ids })
      return { confirmed: signal_ids, waited }
    },
    async release(drain_id) {
      journal.checkAlive()
      const leased = [...(index.leases.find(drain_id)?.rows ?? [])]
      return releaseRows(
        leased.filter((row) => rows.has(row, FLAG.held)),
        {},
      )
    },
    async releaseSignals(identity, signals) {
      journal.checkAlive()
      const leased = new Set<Row>()
      for (const { signal_id, drain_id } of signals) {
        const row = index.find(signal_id)
        if (row === -1 || index.to(row) !== identity || !rows.has(row, FLAG.held)) continue
        if (index.leases.find(drain_id)?.rows.has(row)) leased.add(row)
      }
      return releaseRows([...leased], { for_good: true })
    },
    async markNotified(candidates) {
      journal.checkAlive()
      const signal_ids = candidates.filter((signal_id) => {
        const row = index.find(signal_id)
        return row !== -1 && index.isInProgress(row)
      })
      if (signal_ids.length > 0) await context.change({ kind: 'told', signal_ids })
    },
  }
}
