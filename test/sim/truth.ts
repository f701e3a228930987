/**
 * What must be true, kept apart from the product: what clients asked for and were told, and what the hub said of each
 * signal. Everything that comes to be known is held against it at once.
 */
import type { DrainResult, Receipt, SignalView } from '../../src/contracts/signal.ts'
import type { HubEvent } from '../../src/contracts/events.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { ReleaseCause } from '../../src/modules/signals/events.ts'
import type { SignalStore } from '../../src/ports/signal-store.ts'
import type { MemoryDisk } from '../support/memory-disk.ts'
import type { Asked, Told } from './network.ts'
import { HUB_DIRECTORY, SIM_RETENTION, type SimHub } from './sim-hub.ts'
import { Violation } from './violation.ts'

/** Whom a broadcast is for, and whom it is from. */
export const EVERYBODY = '*'
export const HERALD = 'herald'

/** One thing that somebody wanted to say, however often they tried. */
export interface Wish {
  n: number
  from: string
  to: string
  priority: number
  key: string | null
  to_session: string | null
  ttl_s: number
  at: number
  /** The hub has said no, and never yes: nothing may come of it. */
  refused: boolean
}

/** A hub that comes up is asked for all that goes on, and for so large a part of what is over. */
const LOOKS_AT_WHAT_IS_OVER = 10

interface Known {
  signal_id: string
  to: string
  /** Null until somebody was told. */
  seq: number | null
  wish: Wish | null
  /** An operator asked for it to be sent anew, and nobody knows whether it was. */
  replay_asked: boolean
  told_at: number
  /** What the hub last said of it. `unsure`: it was killed since, and may not have come to say more. */
  state: 'pending' | 'leased' | 'given back' | 'final' | 'expired' | 'dead'
  unsure: boolean
  drain_id: string | null
  /** Since when it is in this state, for all that was told. */
  since: number
  /** Handed to an agent that has it. */
  received: number
  /** How many deliveries each agent was told of that has it. */
  deliveries: Set<number>
  handed_out: number
  given_back: number
  /** When nothing can come of it any more. */
  final_at: number | null
  /** It was over, and a hub that came up said so too. */
  found_over: boolean
}

export interface TruthWorld {
  now(): number
  /** The disk that is in the machine now. */
  platters(): MemoryDisk
}

interface DrainAsked {
  limit?: number
}

/** After these nobody knows whether it was kept. */
const UNSURE_CODES = ['store_unavailable', 'store_fenced', 'hub_stopping']
/** A hub's clock may have been set, and set again. */
const CLOCK_SLACK_MS = 30 * 60_000
const JUST_JOINED_MS = 5 * 60_000

interface Sent {
  payload: { n: number }
  idempotency_key?: string
  to: string
}

export class Truth {
  readonly signals = new Map<string, Known>()
  readonly wishes: Wish[] = []
  /** By wish: the signal that its receipt named, and when it cannot have been there yet, or just was. */
  private readonly receipts = new Map<string, { signal_id: string; at: number }>()
  private readonly received = new Set<string>()
  private readonly world: TruthWorld
  /** The highest position that a receipt named. */
  private last_seq = 0
  readonly counts = { receipts: 0, handed_out: 0, released: 0, received: 0, repeated: 0, restarts: 0 }

  constructor(world: TruthWorld) {
    this.world = world
  }

  wish(wish: Omit<Wish, 'n' | 'at' | 'refused'>): Wish {
    const made = { n: this.wishes.length, at: this.world.now(), refused: false, ...wish }
    this.wishes.push(made)
    return made
  }

  /** Somebody wants it sent anew; whether that has happened is known when the hub says so. */
  onReplayAsked(signal_id: string): void {
    const known = this.signals.get(signal_id)
    if (known === undefined) return
    known.replay_asked = true
    known.deliveries.clear()
  }

  // --- what leaves the hub

  /** `began` is when the hub heard of it. */
  onAnswer(hub: SimHub, asked: Asked, told: Told, began: number): void {
    if (told.status !== 200) {
      const { code = '' } = told.body as { code?: string }
      if (code === 'internal')
        throw new Violation('the hub never breaks', `${asked.path}: ${JSON.stringify(told.body)}`)
      if (asked.path === '/api/signals/send' && !UNSURE_CODES.includes(code))
        (this.wishes[(asked.body as Sent).payload.n] as Wish).refused = true
      return
    }
    if (asked.path === '/api/signals/send') this.receipt(asked.body as Sent, told.body as Receipt)
    if (asked.path === '/api/signals/broadcast') {
      const { receipts } = told.body as { receipts: (Receipt & { to?: string })[] }
      for (const receipt of receipts) this.durable(receipt.signal_id)
    }
    if (asked.path === '/api/signals/pending')
      this.handsOut(hub, asked.body as DrainAsked, told.body as DrainResult, began)
    if (asked.path === '/api/signals/ack') {
      for (const signal_id of (told.body as { completed: string[] }).completed) this.durableChange(signal_id)
    }
  }

  private receipt(sent: Sent, { signal_id, seq, durable }: Receipt): void {
    if (!durable) throw new Violation('a receipt is durable', signal_id)
    this.durable(signal_id)
    this.counts.receipts += 1
    const wish = this.wishes[sent.payload.n] as Wish
    wish.refused = false
    const name = wish.key ?? `wish ${wish.n}`
    const before = this.receipts.get(name)
    const remembered =
      before !== undefined && this.world.now() - before.at < SIM_RETENTION.idempotency_window_ms / 2
    if (wish.key !== null && remembered && before.signal_id !== signal_id)
      throw new Violation('one key, one signal', `${wish.key}: ${before.signal_id}, then ${signal_id}`)
    const known = this.signals.get(signal_id)
    if (known !== undefined && known.seq !== null && known.seq !== seq)
      throw new Violation('a seq belongs to one signal', `${signal_id}: ${known.seq}, then ${seq}`)
    if (known === undefined || known.wish === null) this.know(signal_id, sent.to, seq).wish = wish
    // A key stands from when its signal was made, which may be long before the receipt arrives.
    const at = Math.min(wish.at, known?.told_at ?? Infinity)
    this.receipts.set(name, before?.signal_id === signal_id ? before : { signal_id, at })
    this.last_seq = Math.max(this.last_seq, seq)
  }

  /** Cut the power now, and it is still there. */
  private durable(signal_id: string): void {
    if (!this.world.platters().keeps(`${HUB_DIRECTORY}/journal`, signal_id))
      throw new Violation('a receipt leaves after the sync', signal_id)
  }

  private durableChange(signal_id: string): void {
    if (!this.world.platters().keeps(`${HUB_DIRECTORY}/journal`, signal_id))
      throw new Violation('an answer leaves after the sync', signal_id)
  }

  private handsOut(hub: SimHub, { limit }: DrainAsked, drain: DrainResult, began: number): void {
    const { signals } = drain
    if (limit !== undefined && signals.length > limit)
      throw new Violation('a drain gives no more than was asked for', `${signals.length} of ${limit}`)
    if (drain.drain_id !== null) this.leavesNothingBehind(signals, began)
    let last: { priority: number; seq: number | null } = { priority: Infinity, seq: null }
    for (const { signal_id, priority } of signals) {
      const seq = this.signals.get(signal_id)?.seq ?? null
      const older = seq !== null && last.seq !== null && seq < last.seq
      if (priority > last.priority || (priority === last.priority && older))
        throw new Violation(
          'highest priority first, then oldest',
          JSON.stringify(
            signals.map((one) => [one.signal_id, one.priority, this.signals.get(one.signal_id)?.seq ?? null]),
          ),
        )
      last = { priority, seq }
    }
    if (drain.drain_id === null) return
    const lease = hub.store.leases().find(({ drain_id }) => drain_id === drain.drain_id)
    for (const { signal_id } of signals) {
      const known = this.signals.get(signal_id)
      if (known?.drain_id !== drain.drain_id && known?.state === 'leased')
        throw new Violation(
          'what is handed out is leased',
          `${signal_id} is under ${known.drain_id ?? 'nothing'}`,
        )
    }
    if (lease === undefined) return
    this.isForThisSession(hub, signals, lease.session_id)
    const to = signals[0]?.to
    if (lease.identity !== to)
      throw new Violation('a queue is its persona’s', `${lease.identity} drained ${to ?? ''}`)
  }

  /** What waited before it was asked for, and comes before the last that was given, was given too. */
  private leavesNothingBehind(signals: DrainResult['signals'], began: number): void {
    const last = signals.at(-1)
    const last_seq = this.signals.get(last?.signal_id ?? '')?.seq ?? null
    if (last === undefined || last_seq === null) return
    const given = new Set(signals.map(({ signal_id }) => signal_id))
    for (const known of this.signals.values()) {
      const { signal_id, to, seq, wish, state, unsure, since, replay_asked } = known
      if (to !== last.to || given.has(signal_id) || state !== 'pending' || unsure || replay_asked) continue
      if (seq === null || wish === null || wish.to_session !== null || since >= began) continue
      if (this.world.now() - wish.at > wish.ttl_s * 1000 - CLOCK_SLACK_MS) continue
      const before = wish.priority > last.priority || (wish.priority === last.priority && seq < last_seq)
      if (before) throw new Violation('the oldest is not left behind', `${signal_id} for ${last.signal_id}`)
    }
  }

  /** What is for one session goes to no other while that one is there. */
  private isForThisSession(hub: SimHub, signals: DrainResult['signals'], session_id: string): void {
    for (const { signal_id, to } of signals) {
      const wanted = this.signals.get(signal_id)?.wish?.to_session ?? session_id
      if (wanted === session_id) continue
      const rows = hub.hub.personas.list().find(({ identity }) => identity === to)?.registrations ?? []
      const row = rows.find((one) => one.kind === 'agent' && one.connected && one.session_id === wanted)
      // One that has joined while this was drained came too late for it.
      if (row !== undefined && hub.host.clock.now() - Date.parse(row.joined_at) > JUST_JOINED_MS)
        throw new Violation('what is for a session is kept for it', `${signal_id}: ${wanted}, ${session_id}`)
    }
  }

  // --- what the hub says of its signals

  onEvent({ type, data, agent_id }: HubEvent): void {
    const ids = (data['signal_ids'] ??
      (data['signal_id'] === undefined ? [] : [data['signal_id']])) as string[]
    switch (type) {
      case 'signal.pushed':
        this.know(ids[0] as string, agent_id as string, data['seq'] as number)
        return
      case 'signal.drained':
        return ids.forEach((id) => {
          this.know(id, agent_id as string, null)
          this.drained(id, data['drain_id'] as string)
        })
      case 'signal.confirmed':
        return this.confirmed(ids, data['drain_id'] as string)
      case 'signal.released':
        return ids.forEach((id) => {
          // It may have been killed before it told of the signal at all.
          this.know(id, agent_id as string, null)
          this.released(id, data['cause'] as ReleaseCause)
        })
      case 'signal.completed':
        return ids.forEach((id) => this.change(id, { state: 'final', drain_id: null }))
      case 'signal.expired':
        return ids.forEach((id) => this.expired(id))
      case 'signal.dead':
        return ids.forEach((id) => {
          this.know(id, agent_id as string, null)
          this.died(id)
        })
      case 'signal.replayed':
        return ids.forEach((id) => {
          const known = this.signals.get(id)
          if (known !== undefined)
            Object.assign(known, { given_back: known.given_back + 1, replay_asked: false })
          this.change(id, { state: 'pending', drain_id: null })
        })
    }
  }

  private know(signal_id: string, to: string, seq: number | null): Known {
    const known = this.signals.get(signal_id) ?? {
      ...{ signal_id, to, seq, wish: null, replay_asked: false, told_at: this.world.now() },
      ...{ state: 'pending' as const, unsure: false, drain_id: null, since: this.world.now() },
      deliveries: new Set<number>(),
      ...{ received: 0, handed_out: 0, given_back: 0, final_at: null, found_over: false },
    }
    known.seq ??= seq
    this.signals.set(signal_id, known)
    return known
  }

  private change(signal_id: string, { state, drain_id }: Pick<Known, 'state' | 'drain_id'>): void {
    const known = this.signals.get(signal_id)
    if (known === undefined) return
    known.state = state
    known.since = this.world.now()
    known.drain_id = drain_id
    known.unsure = false
    known.found_over = false
    known.final_at = state === 'pending' || state === 'leased' ? null : this.world.now()
  }

  private drained(signal_id: string, drain_id: string): void {
    const known = this.signals.get(signal_id)
    if (known === undefined) return
    if (known.state === 'leased' && !known.unsure)
      throw new Violation(
        'a signal is in one live lease',
        `${signal_id}: ${known.drain_id ?? ''}, then ${drain_id}`,
      )
    if (known.replay_asked)
      Object.assign(known, { state: 'pending', replay_asked: false, given_back: known.given_back + 1 })
    // Both became durable in one commit, the drain first; the other was told sooner.
    if (known.state === 'final' && known.final_at === this.world.now()) return
    if (known.state === 'final') throw new Violation('what is final is not handed out again', signal_id)
    if (known.state === 'expired') throw new Violation('what is over is not handed out', signal_id)
    if (known.state === 'dead' && !known.unsure)
      throw new Violation('what is dead is not handed out', signal_id)
    const { wish } = known
    if (wish !== null && known.given_back === 0 && this.world.now() > endOf(wish) + CLOCK_SLACK_MS)
      throw new Violation('what is over is not handed out', signal_id)
    // It had gone back when the hub was killed, before anybody could be told.
    if (known.state === 'leased') known.given_back += 1
    known.handed_out += 1
    this.counts.handed_out += 1
    this.change(signal_id, { state: 'leased', drain_id })
  }

  private confirmed(signal_ids: string[], drain_id: string): void {
    for (const signal_id of signal_ids) {
      if (!this.received.has(`${drain_id} ${signal_id}`))
        throw new Violation(
          'nothing is marked read before the agent has it',
          `${signal_id} under ${drain_id}`,
        )
      this.change(signal_id, { state: 'final', drain_id: null })
    }
  }

  private released(signal_id: string, cause: ReleaseCause): void {
    const known = this.signals.get(signal_id)
    if (known === undefined) return
    const leased_ms = this.world.now() - known.since
    if (cause === 'lease_timed_out' && known.state === 'leased' && leased_ms < LIMITS.lease_ms)
      throw new Violation('a lease lives as long as it may', `${signal_id}: ${leased_ms} ms`)
    // Both in one commit, the release first.
    if (known.state === 'final' && known.final_at === this.world.now()) return
    if (known.state === 'final' && !known.unsure)
      throw new Violation('what is final does not come back', signal_id)
    // It had been handed out when the hub was killed or the session lost, before anybody could be told.
    if (known.state === 'pending') known.handed_out += 1
    known.given_back += 1
    this.counts.released += 1
    this.change(signal_id, { state: 'pending', drain_id: null })
  }

  private expired(signal_id: string): void {
    const known = this.signals.get(signal_id)
    if (known?.wish && !known.replay_asked && this.world.now() < endOf(known.wish) - CLOCK_SLACK_MS)
      throw new Violation('nothing is over before its time', signal_id)
    if (known?.state === 'leased' && !known.unsure)
      throw new Violation('what is leased does not expire', signal_id)
    if (known?.state === 'final' && !known.unsure)
      throw new Violation('what is final does not expire', signal_id)
    this.change(signal_id, { state: 'expired', drain_id: null })
  }

  private died(signal_id: string): void {
    const known = this.signals.get(signal_id)
    // It was lost with its session while it was drained, before anybody could be told of the drain.
    if (known?.state === 'pending') known.handed_out += 1
    if (known !== undefined && !known.unsure && known.handed_out <= SIM_RETENTION.deliveries_max)
      throw new Violation(
        'only what came back too often is dead',
        `${signal_id}: ${known.handed_out} deliveries`,
      )
    if (known !== undefined) known.given_back += 1
    this.change(signal_id, { state: 'dead', drain_id: null })
  }

  // --- what agents have

  onReceived(drain: DrainResult): void {
    for (const signal of drain.signals) {
      this.isAsSent(signal)
      const { signal_id, deliveries } = signal
      if (drain.drain_id === null) continue
      this.received.add(`${drain.drain_id} ${signal_id}`)
      this.counts.received += 1
      const known = this.signals.get(signal_id)
      if (known === undefined) continue
      if (known.received > 0) this.counts.repeated += 1
      known.received += 1
      if (known.received > known.given_back + 1)
        throw new Violation(
          'nothing is said twice',
          `${signal_id}: received ${known.received} times, given back ${known.given_back}`,
        )
      if (deliveries < 1 || (known.deliveries.has(deliveries) && !known.replay_asked))
        throw new Violation('deliveries are counted', `${signal_id}: ${deliveries}`)
      known.deliveries.add(deliveries)
    }
  }

  private isAsSent({ signal_id, to, payload, priority }: DrainResult['signals'][number]): void {
    const wish = this.wishes[(payload as { n: number }).n]
    const known = this.signals.get(signal_id)?.wish ?? wish
    const same = wish === known && (wish?.to === to || wish?.to === EVERYBODY) && wish.priority === priority
    if (!same) throw new Violation('an agent has what was sent', `${signal_id}: ${JSON.stringify(payload)}`)
    if (wish.refused) throw new Violation('what was refused is not kept', signal_id)
  }

  // --- over time

  /** The hub is gone without a word. */
  onHubGone(): void {
    for (const known of this.signals.values()) known.unsure = true
  }

  /** No two leases share a signal. */
  checkLeases({ store }: SimHub): void {
    const seen = new Map<string, string>()
    for (const { drain_id, signal_ids } of store.leases()) {
      for (const signal_id of signal_ids) {
        const other = seen.get(signal_id)
        if (other !== undefined)
          throw new Violation('a signal is in one live lease', `${signal_id}: ${other} and ${drain_id}`)
        seen.set(signal_id, drain_id)
      }
    }
  }

  /** A hub has come up: whatever was promised is there, and nothing came back that was over. */
  async checkKept(
    { store }: SimHub,
    personas: readonly string[],
    { of_what_is_over }: { of_what_is_over: 'some' | 'all' },
  ): Promise<void> {
    this.counts.restarts += 1
    await this.checkBroadcasts(store, personas)
    const health = store.health()
    if (health.last_seq < this.last_seq)
      throw new Violation(
        'what has a receipt is kept',
        `seq ${this.last_seq}; the store knows ${health.last_seq}`,
      )
    let nth = this.counts.restarts
    for (const known of this.signals.values()) {
      nth += 1
      const looks = of_what_is_over === 'all' || nth % LOOKS_AT_WHAT_IS_OVER === 0
      if (known.found_over && !looks) continue
      const forgettable =
        known.final_at !== null && this.world.now() - known.final_at > SIM_RETENTION.idempotency_window_ms / 2
      const view = await store.read(known.signal_id)
      if (view === null) {
        // What was pending for a whole life may have expired, and been forgotten, without anybody being told.
        const old =
          this.world.now() - known.told_at >
          (known.wish?.ttl_s ?? 0) * 1000 + SIM_RETENTION.finished_retention_ms / 2
        if (!forgettable && !(known.unsure && old))
          throw new Violation('what has a receipt is kept', `${JSON.stringify(known)} at ${this.world.now()}`)
        continue
      }
      if ((known.seq !== null && view.seq !== known.seq) || view.to !== known.to)
        throw new Violation(
          'a signal stays what it was',
          `${known.signal_id}: seq ${known.seq ?? 0}, now ${view.seq}`,
        )
      const n = (view.payload as { n?: number } | null)?.n
      if (known.wish !== null && n !== known.wish.n)
        throw new Violation(
          'a signal stays what it was',
          `${known.signal_id}: ${known.wish.n}, now ${n ?? 'nothing'}`,
        )
      if (known.replay_asked) continue
      if (known.unsure && known.final_at === null) this.learn(known, view)
      if (
        known.state === 'final' &&
        (view.status === 'pending' || view.status === 'expired' || view.status === 'dead')
      )
        throw new Violation('what is final stays so', `${known.signal_id} is ${view.status}`)
      if (known.state === 'expired' && view.status !== 'expired' && view.status !== 'completed')
        throw new Violation('what is over stays so', `${known.signal_id} is ${view.status}`)
      known.found_over = known.state === 'final' || known.state === 'expired'
    }
  }

  /** The former hub did more than it came to say. */
  private learn({ signal_id, drain_id, received }: Known, { status, stages }: SignalView): void {
    if (status === 'expired' || status === 'dead') this.change(signal_id, { state: status, drain_id: null })
    if (status === 'completed') this.change(signal_id, { state: 'final', drain_id: null })
    if (status === 'acked' && stages.confirmed_at !== null) {
      if (received === 0)
        throw new Violation(
          'nothing is marked read before the agent has it',
          `${signal_id} under ${drain_id}`,
        )
      this.change(signal_id, { state: 'final', drain_id: null })
    }
  }

  /** Of one broadcast everybody has a signal, or nobody. */
  private async checkBroadcasts(store: SignalStore, personas: readonly string[]): Promise<void> {
    const since = this.world.now() - SIM_RETENTION.idempotency_window_ms / 2
    if (!this.wishes.some(({ at, to }) => to === EVERYBODY && at >= since)) return
    const reached = new Map<number, Set<string>>()
    const all = await store.query({ from: HERALD, limit: Number.MAX_SAFE_INTEGER })
    for (const { payload, to } of all) {
      const n = (payload as { n?: number } | null)?.n
      if (n === undefined || this.wishes[n]?.to !== EVERYBODY) continue
      reached.set(n, (reached.get(n) ?? new Set()).add(to))
    }
    for (const [n, to] of reached) {
      // What was told long ago may be forgotten for one and not for another.
      if ((this.wishes[n] as Wish).at < since) continue
      const left_out = personas.filter((identity) => !to.has(identity))
      if (left_out.length > 0)
        throw new Violation(
          'all of a broadcast or nothing',
          `${n} is at ${[...to].join(', ')} and not at ${left_out.join(', ')}`,
        )
    }
  }

  /** Everything has healed and come to rest: nothing waits that an agent should have. */
  async checkDelivered({ store }: SimHub, which: 'loud' | 'all'): Promise<void> {
    for (const known of this.signals.values()) {
      const view = await store.read(known.signal_id)
      if (view === null) continue
      if (view.status === 'pending' && (which === 'all' || view.priority > 0))
        throw new Violation(
          'everything arrives',
          `${JSON.stringify(known)} waits still, ${JSON.stringify(view)}`,
        )
      if (view.status === 'acked' && known.received === 0)
        throw new Violation('nothing is marked read before the agent has it', known.signal_id)
    }
  }
}

function endOf({ at, ttl_s }: Wish): number {
  return at + ttl_s * 1000
}
