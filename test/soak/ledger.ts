/**
 * The model of every signal, independent of the product: the receipts of senders, the signals of agents, and the events
 * of the hub. A broken promise is reported at once.
 */
import type { HubEvent } from '../../src/contracts/events.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { DrainedSignal, Receipt, SignalView } from '../../src/contracts/signal.ts'
import { Violation } from '../support/violation.ts'

/** One signal that a client wants to send, over all its attempts. */
export interface Wish {
  n: number
  to: string
  /** Null if it may be sent only once. */
  key: string | null
}

interface Known {
  /** Null until the hub has reported the receiver. */
  to: string | null
  seq: number | null
  wish: Wish | null
  state: 'pending' | 'leased' | 'final' | 'over'
  /** Session of the lease while it is leased. */
  session_id: string | null
  /** Whether the hub has registered that session since its drain: the end of the registration ends the lease. */
  vouched: boolean
  /** Whether the hub was killed afterwards and may not have reported a later change. */
  unsure: boolean
  given_back: number
  /** Drains by which an agent received it, and its delivery numbers. */
  received: Set<string>
  deliveries: Set<number>
  /** Whether an agent received confirmation that it is completed. */
  acked: boolean
}

/** Final states of all receipts. */
export interface Fate {
  delivered: number
  /** Expired or dead according to the hub. */
  explained: number
  /**
   * Leased to a session that was never registered and died before: its shim or its daemon had ended, or the hub had
   * just restarted. The hub waits for a sign of life for `lease_ms`, longer than a soak run.
   */
  held: number
  lost: number
}

export interface LedgerWorld {
  /** Whether it is the current session of the persona's agent. */
  lives(identity: string, session_id: string): boolean
  /** Whether it belongs to the team; signals between others are ignored. */
  knows(identity: string): boolean
  /** Returns the latest time that the hub may have read from its clock. */
  latest(): number
  onBroken: (violation: Violation) => void
}

export const nothingCounted = () => ({
  wishes: 0,
  receipts: 0,
  repeated_receipts: 0,
  refused: 0,
  given_up: 0,
  received: 0,
  duplicates: 0,
  released: 0,
  /** Part of `released`: released by a hub that was killed before it reported them. */
  inferred: 0,
  died: 0,
  expired: 0,
  restart_released: 0,
})

export class Ledger {
  readonly counts = nothingCounted()
  private readonly signals = new Map<string, Known>()
  private readonly wishes: Wish[] = []
  private readonly keys = new Map<string, string>()
  /** Sessions registered at the hub. */
  private readonly joined = new Map<string, Set<string>>()
  /** Signals whose expiry a notice has reported. */
  private readonly noticed = new Set<string>()
  /** Signals to receivers outside of the team, such as those of a broadcast. */
  private readonly outside = new Set<string>()
  private readonly world: LedgerWorld

  constructor(world: LedgerWorld) {
    this.world = world
  }

  wish(to: string, key: boolean): Wish {
    const n = this.wishes.length
    const made = { n, to, key: key ? `soak-${n}` : null }
    this.wishes.push(made)
    this.counts.wishes += 1
    return made
  }

  receipt(wish: Wish, { signal_id, seq, durable }: Receipt): void {
    if (!durable) this.broken('a receipt is durable', signal_id)
    const known = this.know(signal_id)
    if (known.wish !== null) this.counts.repeated_receipts += 1
    else this.counts.receipts += 1
    known.wish ??= wish
    if (known.wish !== wish)
      this.broken('one signal, one wish', `${signal_id}: ${known.wish.n} and ${wish.n}`)
    this.seqIs(signal_id, known, seq)
    if (wish.key === null) return
    const before = this.keys.get(wish.key)
    if (before !== undefined && before !== signal_id)
      this.broken('one key, one signal', `${wish.key}: ${before}, then ${signal_id}`)
    this.keys.set(wish.key, signal_id)
  }

  /** Records signals received by an agent. */
  received(drain_id: string, signals: readonly DrainedSignal[]): void {
    for (const { signal_id, deliveries, payload, to, origin } of signals) {
      const known = this.know(signal_id)
      this.counts.received += 1
      if (known.received.size > 0) this.counts.duplicates += 1
      if (known.deliveries.has(deliveries))
        this.broken('a lease was released before it is said again', `${signal_id}, delivery ${deliveries}`)
      if (known.acked) this.broken('what is completed is not handed out again', signal_id)
      known.received.add(drain_id)
      known.deliveries.add(deliveries)
      if (origin === 'system') {
        for (const one of (payload as { signals: { signal_id: string }[] }).signals)
          this.noticed.add(one.signal_id)
        continue
      }
      const wish = this.wishes[(payload as { n?: number } | null)?.n ?? -1]
      if (wish === undefined || (known.wish !== null && known.wish !== wish))
        this.broken('a signal says what was sent', `${signal_id}: ${JSON.stringify(payload)}`)
      else if (wish.to !== '*' && wish.to !== to)
        this.broken('a signal reaches whom it is for', `${signal_id}: ${wish.to}, not ${to}`)
    }
  }

  acked(signal_ids: readonly string[]): void {
    for (const signal_id of signal_ids) this.know(signal_id).acked = true
  }

  /** Processes events in order; the only gaps are those of killed hubs. */
  event({ type, agent_id, data }: HubEvent): void {
    const ids = (data['signal_ids'] ??
      (data['signal_id'] === undefined ? [] : [data['signal_id']])) as string[]
    if (ids.length > 0 && agent_id !== null && !this.world.knows(agent_id))
      return ids.forEach((id) => this.outside.add(id))
    switch (type) {
      case 'hub.started':
        this.counts.restart_released += data['released'] as number
        return this.joined.clear()
      case 'peer.joined':
        return this.joins(agent_id, data['session_id'] as string, rowOf(data))
      case 'peer.left':
        return this.leaves(agent_id, data['session_id'] as string, rowOf(data))
      case 'signal.pushed':
        return ids.forEach((id) => this.seqIs(id, this.know(id, agent_id), data['seq'] as number))
      case 'signal.drained':
        return ids.forEach((id) => this.drained(id, agent_id, data['session_id'] as string))
      case 'signal.confirmed':
        return ids.forEach((id) => this.confirmed(id, data['drain_id'] as string))
      case 'signal.completed':
        return ids.forEach((id) => this.change(id, 'final'))
      case 'signal.released':
        return ids.forEach((id) => this.released(id, 'pending'))
      case 'signal.dead':
        this.counts.died += ids.length
        return ids.forEach((id) => this.released(id, 'over'))
      case 'signal.expired':
        this.counts.expired += ids.length
        return ids.forEach((id) => {
          const { state, unsure } = this.know(id)
          if (!unsure && state !== 'pending') this.broken('only what waits expires', `${id} is ${state}`)
          this.change(id, 'over')
        })
    }
  }

  /** Called when the hub was killed and all its events have been read. */
  onHubGone(): void {
    for (const known of this.signals.values()) if (known.state !== 'final') known.unsure = true
  }

  /** Returns the number of signals without a final state that must still be delivered. */
  open(): number {
    return [...this.signals].filter(([signal_id, known]) => {
      if (this.outside.has(signal_id)) return false
      // The hub may have been killed before it reported the final state; the queue and the audit show it.
      if (known.unsure) return false
      if (known.state === 'leased') return !this.isHeld(known)
      return known.state === 'pending'
    }).length
  }

  /** Computes the final state of each receipt when the system is at rest, from the hub's data. */
  audit(views: ReadonlyMap<string, SignalView>): Fate {
    const found = { delivered: 0, explained: 0, held: 0, lost: 0 }
    for (const [signal_id, known] of this.signals) {
      const to = views.get(signal_id)?.to
      // It is stored, which is the only promise for a queue that no client drains.
      if (to !== undefined && !this.world.knows(to)) continue
      const times = known.received.size
      if (times - 1 > known.given_back)
        this.broken(
          'deliveries beyond the first need a released lease each',
          `${signal_id}: ${times} deliveries, ${known.given_back} releases`,
        )
      if (known.wish === null) continue
      const view = views.get(signal_id)
      // A lease released before it expired can still be confirmed by its client.
      const overtaken = times > 0 && known.given_back > 0 && view?.status === 'acked'
      if (this.noticed.has(signal_id) && view?.status !== 'expired' && !overtaken)
        this.broken('a notice of expiry is true', `${signal_id} is ${view?.status}`)
      const explained = view !== undefined && (view.status === 'expired' || view.status === 'dead')
      const held = view?.leased_to !== undefined && view.leased_to === known.session_id && this.isHeld(known)
      if (held) found.held += 1
      if (times > 0) found.delivered += 1
      else if (explained || held) found.explained += 1
      else found.lost += 1
      const deliveries = [...known.deliveries]
      const whole = JSON.stringify({
        ...known,
        received: [...known.received],
        deliveries,
        status: view?.status,
      })
      if (view === undefined) this.broken('what has a receipt is kept', `${signal_id}: ${whole}`)
      else if (view.status === 'pending')
        this.broken('everything arrives', `${signal_id} waits still: ${whole}`)
      else if (held) continue
      else if (times === 0 && !explained)
        this.broken(
          'nothing is marked read before the agent has it',
          `${signal_id} is ${view.status}: ${whole}`,
        )
      else if (view.leased_to !== undefined)
        this.broken('a lease comes to an end', `${signal_id} is with ${view.leased_to}: ${whole}`)
      else if (view.status === 'dead' && view.deliveries <= LIMITS.deliveries_max)
        this.broken('only what came back too often is dead', `${signal_id}: ${view.deliveries} deliveries`)
      else if (view.status === 'expired' && Date.parse(view.expires_at) > this.world.latest())
        this.broken('nothing expires before its time', `${signal_id}: ${view.expires_at}`)
      else if (view.seq !== known.seq || (view.payload as { n?: number }).n !== known.wish.n)
        this.broken('a signal stays what it was', `${signal_id}: ${whole}`)
    }
    return found
  }

  private leaves(identity: string | null, session_id: string, row: string): void {
    const key = keyOf(identity, session_id)
    const rows = this.joined.get(key)
    rows?.delete(row)
    if (rows?.size === 0) this.joined.delete(key)
  }

  private joins(identity: string | null, session_id: string, row: string): void {
    const key = keyOf(identity, session_id)
    this.joined.set(key, (this.joined.get(key) ?? new Set()).add(row))
    for (const known of this.signals.values())
      if (known.state === 'leased' && known.to === identity && known.session_id === session_id)
        known.vouched = true
  }

  /** Leased by a session that ended unknown to the hub. */
  private isHeld({ to, session_id, vouched }: Known): boolean {
    return to !== null && session_id !== null && !vouched && !this.world.lives(to, session_id)
  }

  private know(signal_id: string, to: string | null = null): Known {
    let known = this.signals.get(signal_id)
    if (known === undefined) {
      known = {
        ...{ to: null, session_id: null, vouched: false },
        ...{ seq: null, wish: null, state: 'pending', unsure: false, given_back: 0 },
        ...{ received: new Set<string>(), deliveries: new Set<number>(), acked: false },
      }
      this.signals.set(signal_id, known)
    }
    known.to ??= to
    return known
  }

  private seqIs(signal_id: string, known: Known, seq: number): void {
    if (known.seq !== null && known.seq !== seq)
      this.broken('a seq belongs to one signal', `${signal_id}: ${known.seq}, then ${seq}`)
    known.seq = seq
  }

  private change(signal_id: string, state: Known['state']): void {
    const known = this.know(signal_id)
    known.state = state
    known.unsure = false
  }

  private drained(signal_id: string, to: string | null, session_id: string): void {
    const known = this.know(signal_id, to)
    if (known.state === 'final' || (known.state === 'over' && !known.unsure))
      this.broken('what is over is not handed out again', `${signal_id} is ${known.state}`)
    if (known.state === 'leased') {
      if (!known.unsure) this.broken('a signal is in one live lease', signal_id)
      // It was released when the hub was killed, before the release was reported.
      this.givenBack(known)
      this.counts.inferred += 1
    }
    this.change(signal_id, 'leased')
    known.session_id = session_id
    known.vouched = this.joined.has(keyOf(known.to, session_id))
  }

  private confirmed(signal_id: string, drain_id: string): void {
    if (!this.know(signal_id).received.has(drain_id))
      this.broken('nothing is marked read before the agent has it', `${signal_id} under ${drain_id}`)
    this.change(signal_id, 'final')
  }

  private released(signal_id: string, state: Known['state']): void {
    const known = this.know(signal_id)
    if (known.state === 'final') this.broken('what is final does not come back', signal_id)
    this.givenBack(known)
    this.change(signal_id, state)
  }

  private givenBack(known: Known): void {
    known.given_back += 1
    this.counts.released += 1
  }

  private broken(promise: string, detail: string): void {
    this.world.onBroken(new Violation(promise, detail))
  }
}

/** Identities contain no spaces, so the key is unambiguous. */
function keyOf(identity: string | null, session_id: string): string {
  return `${identity ?? ''} ${session_id}`
}

function rowOf(data: HubEvent['data']): string {
  return `${data['kind'] as string} ${data['surface'] as string}`
}
