/**
 * The model of the system, independent of the product: the requests and responses of clients, and the hub's reports on
 * each signal. Each new fact is checked against it immediately.
 */
import type { DrainResult, Receipt } from '../../../src/contracts/signal.ts'
import type { BroadcastResult } from '../../../src/modules/signals/types.ts'
import type { HubEvent } from '../../../src/contracts/events.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { ReleaseCause } from '../../../src/modules/signals/types.ts'
import type { MemoryDisk } from '../../support/disk/memory-disk.ts'
import { Violation } from '../../support/violation.ts'
import { checkDeliveries, checkDrain, checkOvertaken, noteOvertaken, type DrainAsked } from './drain-rules.ts'
import { EVERYBODY, Ledger, type Known, type Wish } from './ledger.ts'
import type { Asked, Told } from '../world/network.ts'
import { checkNotice, isNotice } from './notices.ts'
import { Receipts, type Sent } from './receipts.ts'
import { isReply, Replies } from './replies.ts'
import { HUB_DIRECTORY, SIM_RETENTION, type SimHub } from '../world/sim-hub.ts'
import { checkKept, type KeptOptions, type WhoWasThere } from './store-rules.ts'
import type { Wall } from '../world/wall.ts'

export interface TruthWorld {
  now(): number
  wall: Wall
  /** Returns the disk that is currently in the machine. */
  platters(): MemoryDisk
}

/** A lease counts from the drain request; syncs and a stopped hub may delay the drain this long. */
const SLOW_DRAIN_MS = 3 * 60_000

/** Error codes after which the outcome of a write is unknown. */
const UNSURE_CODES = ['store_unavailable', 'store_fenced', 'hub_stopping']

export class Truth extends Ledger {
  private readonly receipts = new Receipts(this, (signal_id) => {
    this.durable('signal', signal_id)
    this.counts.receipts += 1
  })
  private readonly replies = new Replies(this, (signal_id) =>
    // Found by its key, because the notice of an expiry also has `in_reply_to`.
    this.keepsLine('signal', `"reply:${signal_id}:`),
  )
  /** By drain and signal. */
  private readonly arrived = new Set<string>()
  /** Drains and signals that were released because their response broke off. */
  private readonly broken_off = new Set<string>()
  /** By path and signal. */
  private readonly asked = new Set<string>()
  private readonly world: TruthWorld
  readonly counts = { receipts: 0, handed_out: 0, released: 0, received: 0, repeated: 0, restarts: 0 }

  constructor(world: TruthWorld) {
    super(() => world.now(), world.wall)
    this.world = world
  }

  /** Called before a client sends a request about these signals; its effect is known when the hub reports it. */
  onAsking(
    path: string,
    {
      signal_id,
      signal_ids = signal_id === undefined ? [] : [signal_id],
      payload,
    }: { signal_id?: string; signal_ids?: string[]; payload?: { n: number } },
  ): void {
    const wish = this.wishes[payload?.n ?? -1]
    if (wish !== undefined) wish.tries += 1
    this.replies.onAsking(path, signal_ids)
    for (const signal_id of signal_ids) {
      this.asked.add(`${path} ${signal_id}`)
      const known = this.signals.get(signal_id)
      if (path === 'signals/replay' && known !== undefined) known.replays_open += 1
    }
  }

  /** Called when the request reached no hub. */
  onNotAsked(path: string, { signal_ids = [] }: { signal_ids?: string[] }): void {
    if (path === 'signals/replay') this.replaysOver(signal_ids)
  }

  /** Returns the receiver of a signal; a hub reports each signal before it responds with a receipt. */
  addressee(signal_id: string): string {
    const known = this.signals.get(signal_id)
    if (known === undefined) throw new Violation('what has a receipt was told', signal_id)
    return known.to
  }

  private wasAsked(path: string, signal_id: string): void {
    if (!this.asked.has(`${path} ${signal_id}`))
      throw new Violation('a hub does nothing of its own accord', `${path} of ${signal_id}`)
  }

  // --- what leaves the hub

  /** `began` is when the hub received the request. */
  onAnswer(hub: SimHub, asked: Asked, told: Told, began: number): void {
    if (told.status !== 200) {
      const { code = '' } = told.body as { code?: string }
      if (code === 'internal')
        throw new Violation('the hub never breaks', `${asked.path}: ${JSON.stringify(told.body)}`)
      if (asked.path === '/api/signals/send' && !UNSURE_CODES.includes(code))
        (this.wishes[(asked.body as Sent).payload.n] as Wish).noes += 1
      if (asked.path === '/api/signals/replay' && !UNSURE_CODES.includes(code))
        this.replaysOver((asked.body as { signal_ids: string[] }).signal_ids)
      if (asked.path === '/api/signals/ack' && !UNSURE_CODES.includes(code))
        this.replies.onAckRefused((asked.body as { signal_ids: string[] }).signal_ids)
      return
    }
    if (asked.path === '/api/signals/send') {
      const sent = asked.body as Sent & { to: string }
      this.receipts.one(sent, sent.to, told.body as Receipt)
    }
    if (asked.path === '/api/signals/broadcast')
      this.receipts.all(asked.body as Sent, told.body as BroadcastResult, (id) => this.addressee(id))
    if (asked.path === '/api/signals/replay')
      this.replayed(asked.body as { signal_ids: string[] }, told.body as { replayed: string[] })
    if (asked.path === '/api/signals/pending')
      checkDrain(this, hub, asked.body as DrainAsked, told.body as DrainResult, began)
  }

  /** Throws unless the journal line for this change would survive a power cut now. */
  private durable(kind: 'signal' | 'lease' | 'confirm' | 'complete' | 'cancel' | 'replay', id: string): void {
    if (!this.keepsLine(kind, id)) throw new Violation('what is told is on disk', `${kind} of ${id}`)
  }

  private keepsLine(kind: string, word: string): boolean {
    return this.world.platters().keepsLine(`${HUB_DIRECTORY}/journal`, `{"kind":"${kind}"`, word)
  }

  // --- events of the hub about its signals

  onEvent({ type, data, agent_id }: HubEvent): void {
    const ids = (data['signal_ids'] ??
      (data['signal_id'] === undefined ? [] : [data['signal_id']])) as string[]
    switch (type) {
      case 'signal.pushed':
        if (data['from'] === 'turnbell') this.notices.add(ids[0] as string)
        this.know(ids[0] as string, agent_id as string, data['seq'] as number)
        return
      case 'signal.repeated':
        // Its hub may have been killed before it reported the signal.
        this.know(ids[0] as string, agent_id as string, null)
        return
      case 'signal.drained':
        this.durable('lease', data['drain_id'] as string)
        noteOvertaken(this, ids)
        return ids.forEach((id) => {
          this.know(id, agent_id as string, null)
          this.drained(id, data['drain_id'] as string)
        })
      case 'signal.confirmed':
        return this.confirmed(ids, data['drain_id'] as string)
      case 'signal.released':
        return ids.forEach((id) => {
          // The hub may have been killed before it reported the signal at all.
          this.know(id, agent_id as string, null)
          this.released(id, data['cause'] as ReleaseCause)
        })
      case 'signal.completed':
        return ids.forEach((id) => {
          this.wasAsked('signals/ack', id)
          this.durable('complete', id)
          this.replies.onCompleted(id)
          this.change(id, { state: 'final', drain_id: null })
        })
      case 'signal.cancelled':
        return ids.forEach((id) => {
          this.wasAsked('signals/cancel', id)
          this.durable('cancel', id)
          this.cancelled(id)
        })
      case 'signal.expired':
        return ids.forEach((id) => this.expired(id))
      case 'signal.dead':
        return ids.forEach((id) => {
          this.know(id, agent_id as string, null)
          this.died(id)
        })
      case 'signal.replayed':
        return ids.forEach((id) => {
          this.wasAsked('signals/replay', id)
          this.durable('replay', id)
          const known = this.signals.get(id)
          if (known === undefined) return
          // Both are in one commit, in unknown order.
          if (known.final_at === this.now()) return
          if (known.replays_seen > 0) {
            known.replays_seen -= 1
            return
          }
          this.replayOver(known)
          this.sentAnew(known)
        })
    }
  }

  /** Records the result of a replay: signals missing from it will not be sent again. */
  private replayed({ signal_ids }: { signal_ids: string[] }, { replayed }: { replayed: string[] }): void {
    this.replaysOver(signal_ids.filter((signal_id) => !replayed.includes(signal_id)))
  }

  private replaysOver(signal_ids: readonly string[]): void {
    for (const signal_id of signal_ids) {
      const known = this.signals.get(signal_id)
      if (known !== undefined) this.replayOver(known)
    }
  }

  private replayOver(known: Known): void {
    known.replays_open = Math.max(0, known.replays_open - 1)
  }

  private sentAnew(known: Known): void {
    known.given_back += 1
    known.deliveries.clear()
    Object.assign(known, { leases_seen: 0, leases_unseen: 0, kills_before: known.kills })
    this.change(known.signal_id, { state: 'pending', drain_id: null })
  }

  /** Drains before the replay count, unless the replay started a new life. */
  private perhapsSentAnew(known: Known): void {
    const { leases_seen, leases_unseen, kills_before } = known
    this.sentAnew(known)
    Object.assign(known, { leases_unseen: leases_unseen + leases_seen, kills_before })
  }

  private drained(signal_id: string, drain_id: string): void {
    const known = this.signals.get(signal_id)
    if (known === undefined) return
    if (known.state === 'leased' && !known.unsure)
      throw new Violation(
        'a signal is in one live lease',
        `${signal_id}: ${known.drain_id ?? ''}, then ${drain_id}`,
      )
    if (known.replays_open > 0) {
      if (known.state !== 'pending' && known.state !== 'leased') {
        // Only a replay explains it.
        this.replayOver(known)
        known.replays_seen += 1
        this.sentAnew(known)
      } else this.perhapsSentAnew(known)
    }
    known.leases_seen += 1
    checkOvertaken(this, known)
    // Both became durable in one commit, the drain first; the other was reported first.
    const is_over = known.state === 'final' || known.state === 'cancelled'
    if (is_over && known.final_at === this.now()) return
    if (known.state === 'final') throw new Violation('what is final is not handed out again', signal_id)
    if (known.state === 'cancelled') throw new Violation('what was taken back is not handed out', signal_id)
    if (known.state === 'expired') throw new Violation('what is over is not handed out', signal_id)
    if (known.state === 'dead' && !known.unsure)
      throw new Violation('what is dead is not handed out', signal_id)
    // It was released when the hub was killed, before the release was reported.
    if (known.state === 'leased') known.given_back += 1
    known.handed_out += 1
    this.counts.handed_out += 1
    this.change(signal_id, { state: 'leased', drain_id })
  }

  private confirmed(signal_ids: string[], drain_id: string): void {
    this.durable('confirm', drain_id)
    for (const signal_id of signal_ids) {
      if (!this.arrived.has(`${drain_id} ${signal_id}`))
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
    const leased_ms = this.now() - known.since
    if (
      cause === 'lease_timed_out' &&
      known.state === 'leased' &&
      leased_ms < LIMITS.lease_ms - SLOW_DRAIN_MS
    )
      throw new Violation('a lease lives as long as it may', `${signal_id}: ${leased_ms} ms`)
    if (cause === 'asked') this.wasAsked('signals/release', signal_id)
    if (cause === 'answer_broken' && known.state === 'leased') {
      const name = `${known.drain_id} ${signal_id}`
      this.broken_off.add(name)
      if (this.arrived.has(name)) throw new Violation('what has arrived does not go back', name)
    }
    // Both in one commit, the release first.
    const is_over = known.state === 'final' || known.state === 'cancelled'
    if (is_over && known.final_at === this.now()) {
      known.given_back += 1
      known.release_due = false
      return
    }
    if (is_over && known.replays_open === 0)
      throw new Violation('what is final does not come back', signal_id)
    // It was drained when the hub was killed or the session was lost, before the drain was reported.
    if (known.state === 'pending') {
      known.handed_out += 1
      known.leases_unseen += 1
    }
    known.given_back += 1
    this.counts.released += 1
    this.change(signal_id, { state: 'pending', drain_id: null })
  }

  private cancelled(signal_id: string): void {
    const known = this.signals.get(signal_id)
    // Both are in one commit, the release first; the cancel may be reported first. `checkKept` detects a missing
    // release.
    if (known?.state === 'leased' && !known.unsure) known.release_due = true
    if (known !== undefined && known.state === 'final' && known.replays_open === 0 && !known.unsure)
      throw new Violation('only what waits is taken back', signal_id)
    this.change(signal_id, { state: 'cancelled', drain_id: null })
  }

  private expired(signal_id: string): void {
    const known = this.signals.get(signal_id)
    if (known?.wish && known.replays_open === 0 && !this.mayBeOver(known.wish))
      throw new Violation('nothing is over before its time', signal_id)
    // Both are in one commit, the expiry first; a late confirmation still counts.
    if (known?.state === 'final' && known.final_at === this.now()) return
    if (known?.state === 'leased' && !known.unsure)
      throw new Violation('what is leased does not expire', signal_id)
    if ((known?.state === 'final' || known?.state === 'cancelled') && known.replays_open === 0)
      throw new Violation('what is final does not expire', signal_id)
    this.change(signal_id, { state: 'expired', drain_id: null })
  }

  private died(signal_id: string): void {
    const known = this.signals.get(signal_id)
    // Its session was lost during the drain, before the drain was reported.
    if (known?.state === 'pending') known.handed_out += 1
    // Each killed hub may have handed it out once more without reporting it.
    const handed_out = (known?.handed_out ?? Infinity) + (known?.kills ?? 0)
    if (known !== undefined && !known.unsure && handed_out <= SIM_RETENTION.deliveries_max)
      throw new Violation(
        'only what came back too often is dead',
        `${signal_id}: ${known.handed_out} deliveries`,
      )
    if (known !== undefined) known.given_back += 1
    // Same order as for an expiry.
    if (known?.state === 'final' && known.final_at === this.now()) return
    if (known?.state === 'final' && known.replays_open === 0)
      throw new Violation('what is final does not come back', signal_id)
    this.change(signal_id, { state: 'dead', drain_id: null })
  }

  // --- signals received by agents

  onArrived({ drain_id, signals }: DrainResult): void {
    for (const { signal_id } of signals) {
      const name = `${drain_id} ${signal_id}`
      this.arrived.add(name)
      if (this.broken_off.has(name)) throw new Violation('what has arrived does not go back', name)
      const known = this.signals.get(signal_id)
      if (known !== undefined) known.arrived = true
    }
  }

  onReceived(drain: DrainResult): void {
    for (const signal of drain.signals) {
      this.checkAsSent(signal)
      const { signal_id, deliveries } = signal
      if (drain.drain_id === null) continue
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
      // Drains before a replay are counted separately.
      if (known.drain_id !== drain.drain_id) continue
      const too_often = deliveries > SIM_RETENTION.deliveries_max + 1
      if (deliveries < 1 || too_often || known.deliveries.has(deliveries))
        throw new Violation('deliveries are counted', `${signal_id}: ${deliveries}`)
      known.deliveries.add(deliveries)
      checkDeliveries(this, known, deliveries)
    }
  }

  private checkAsSent(signal: DrainResult['signals'][number]): void {
    if (isNotice(signal)) return checkNotice(this, signal)
    if (isReply(signal)) return this.replies.check(signal)
    const { signal_id, to, payload, priority } = signal
    const wish = this.wishes[(payload as { n: number }).n]
    const known = this.signals.get(signal_id)?.wish ?? wish
    const same = wish === known && (wish?.to === to || wish?.to === EVERYBODY) && wish.priority === priority
    if (!same) throw new Violation('an agent has what was sent', `${signal_id}: ${JSON.stringify(payload)}`)
    if (!wish.accepted && wish.noes > 0 && wish.noes === wish.tries)
      throw new Violation('what was refused is not kept', signal_id)
  }

  // --- over time

  /** The hub was killed. */
  onHubGone(): void {
    this.kills_at.push(this.now())
    for (const known of this.signals.values()) {
      known.unsure = true
      // A killed hub reports nothing more.
      known.replays_seen = 0
      known.overtaken_by = null
      known.kills += 1
    }
  }

  /** Called after a hub has started. */
  async checkKept(
    hub: SimHub,
    whoWasThere: WhoWasThere,
    { of_what_is_over }: Pick<KeptOptions, 'of_what_is_over'>,
  ): Promise<void> {
    this.counts.restarts += 1
    const { last_seq } = this.receipts
    await checkKept(this, hub, whoWasThere, {
      ...{ last_seq, of_what_is_over, start: this.counts.restarts },
      checkView: (view) => this.replies.checkKept(hub.store, view),
    })
  }
}
