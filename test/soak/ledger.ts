/**
 * What must be true of every signal, kept apart from the product: what senders were told, what agents have, and what
 * the hub said happened. A promise that is broken is told at once.
 */
import type { HubEvent } from '../../src/contracts/events.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { DrainedSignal, Receipt, SignalView } from '../../src/contracts/signal.ts'
import { Violation } from '../support/violation.ts'

/** One thing that somebody wants to say, however often they try. */
export interface Wish {
  n: number
  to: string
  /** Null where nobody may try twice. */
  key: string | null
}

interface Known {
  /** Null until the hub has said for whom it is. */
  to: string | null
  seq: number | null
  wish: Wish | null
  state: 'pending' | 'leased' | 'final' | 'over'
  /** Whose lease it is, while it is leased. */
  session_id: string | null
  /** The hub has had a row for that session at some time since it drained: the end of the row ends the lease. */
  vouched: boolean
  /** The hub was killed since, and may not have come to say more. */
  unsure: boolean
  given_back: number
  /** Drains by which an agent has it, and the numbers of the deliveries. */
  received: Set<string>
  deliveries: Set<number>
  /** An agent was answered that it is completed. */
  acked: boolean
}

/** What became of all receipts. */
export interface Fate {
  delivered: number
  /** Expired or dead, by what the hub says of them. */
  explained: number
  /**
   * Handed to a session that nobody vouched for, and that died before anybody did: its shim or its daemon had fallen,
   * or the hub had just come back. The hub waits for a sign of life for `lease_ms`, longer than a soak does.
   */
  held: number
  lost: number
}

export interface LedgerWorld {
  /** Whether it is the session that the persona's agent has now. */
  lives(identity: string, session_id: string): boolean
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
  /** Of `released`: taken back by a hub that was killed before it could say so. */
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
  /** Sessions that have rows at the hub, and which. */
  private readonly joined = new Map<string, Set<string>>()
  /** Signals of which a notice has said that they expired. */
  private readonly noticed = new Set<string>()
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

  /** An agent has these. */
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

  /** In the order in which it happened, without gaps but for what a killed hub could not say any more. */
  event({ type, agent_id, data }: HubEvent): void {
    const ids = (data['signal_ids'] ??
      (data['signal_id'] === undefined ? [] : [data['signal_id']])) as string[]
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

  /** The hub was killed, and all that it could say has been heard. */
  onHubGone(): void {
    for (const known of this.signals.values()) if (known.state !== 'final') known.unsure = true
  }

  /** Signals whose fate no event has settled, and of which somebody must still hear. */
  open(): number {
    return [...this.signals.values()].filter((known) => {
      // The hub may have been killed between its end and the word of it; the queue and the audit will tell.
      if (known.unsure) return false
      if (known.state === 'leased') return !this.isHeld(known)
      return known.state === 'pending'
    }).length
  }

  /** Everything has come to rest: what became of each receipt, as the hub shows the signals. */
  audit(views: ReadonlyMap<string, SignalView>): Fate {
    const found = { delivered: 0, explained: 0, held: 0, lost: 0 }
    for (const [signal_id, known] of this.signals) {
      const times = known.received.size
      if (times - 1 > known.given_back)
        this.broken(
          'deliveries beyond the first need a released lease each',
          `${signal_id}: ${times} deliveries, ${known.given_back} releases`,
        )
      if (known.wish === null) continue
      const view = views.get(signal_id)
      if (this.noticed.has(signal_id) && view?.status !== 'expired')
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
      else if (view.status === 'expired' && Date.parse(view.expires_at) > Date.now())
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

  /** By a session that is over without the hub having known of it. */
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
      // It had gone back when the hub was killed, before anybody could be told.
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

/** No identity has a space. */
function keyOf(identity: string | null, session_id: string): string {
  return `${identity ?? ''} ${session_id}`
}

function rowOf(data: HubEvent['data']): string {
  return `${data['kind'] as string} ${data['surface'] as string}`
}
