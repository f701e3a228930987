/** Checks that no drain is confirmed before its turn has ended, according to the reports that the hub received. */
import type { HubEvent } from '../../../src/contracts/events.ts'
import type { Registration } from '../../../src/contracts/registry.ts'
import type { DrainResult } from '../../../src/contracts/signal.ts'
import { Violation } from '../../support/violation.ts'
import type { SimHub } from '../world/sim-hub.ts'
import { turnOf } from '../world/surface.ts'

/** A drain made while the hub knew that its session was in a turn. */
interface InTurn {
  hub: SimHub
  identity: string
  session_id: string
  epoch: number
  /** The turn number, from any shim. */
  turn_seq: number
  signal_ids: Set<string>
}

export class LeaseWatch {
  /** By drain id. */
  private readonly in_turn = new Map<string, InTurn>()

  /** Called when the hub responds to a drain. */
  onDrained(hub: SimHub, { drain_id, signals }: DrainResult): void {
    const lease = hub.store.leases().find((one) => one.drain_id === drain_id)
    if (lease === undefined) return
    const { identity, session_id } = lease
    const row = agentRow(hub, identity, session_id)
    if (row?.facts?.turn !== 'busy') return
    const signal_ids = new Set(signals.map(({ signal_id }) => signal_id))
    const turn_seq = turnOf(row.facts)
    this.in_turn.set(lease.drain_id, { hub, identity, session_id, epoch: row.epoch, turn_seq, signal_ids })
  }

  onEvent(hub: SimHub | null, { type, data }: HubEvent): void {
    if (type === 'signal.released') this.released(data['signal_ids'] as string[])
    if (type !== 'signal.confirmed') return
    const drain_id = data['drain_id'] as string
    const made = this.in_turn.get(drain_id)
    if (made === undefined || made.hub !== hub) return
    const row = agentRow(hub, made.identity, made.session_id)
    if (row?.epoch === made.epoch && row.facts?.turn === 'busy' && turnOf(row.facts) === made.turn_seq)
      throw new Violation('nothing is final before its turn has ended', `${drain_id} of ${made.session_id}`)
  }

  /** Late confirmation of released signals is checked by other rules. */
  private released(signal_ids: readonly string[]): void {
    for (const [drain_id, made] of this.in_turn) {
      for (const signal_id of signal_ids) made.signal_ids.delete(signal_id)
      if (made.signal_ids.size === 0) this.in_turn.delete(drain_id)
    }
  }
}

/** Returns the registration of the session if a daemon reports on its surface. */
export function agentRow(hub: SimHub, identity: string, session_id: string): Registration | undefined {
  const rows = hub.hub.personas.list().find((one) => one.identity === identity)?.registrations ?? []
  return rows.find((row) => row.kind === 'agent' && row.session_id === session_id)
}
