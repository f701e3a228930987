/** Checks replies: an ack completes its signal and sends the reply atomically; a rejected ack does neither. */
import type { DrainResult, SignalView } from '../../../src/contracts/signal.ts'
import type { SignalStore } from '../../../src/ports/signal-store.ts'
import { Violation } from '../../support/violation.ts'
import type { Known, Ledger, Wish } from './ledger.ts'

/** The result that every ack carries. */
export const RESULT = 'done'
const TOGETHER = 'a reply and its completion are stored together'
const REFUSED = 'a refused ack changes nothing'

type Shown = DrainResult['signals'][number] | SignalView

/**
 * Number of acks of one signal that were sent and rejected, and the replays that may have started another life of it.
 */
interface Acks {
  sent: number
  refused: number
  replays: number
  completed: boolean
  /** Whether a reply was found on disk. After a clock change the reply may end and be forgotten before its signal. */
  replied: boolean
}

export class Replies {
  private readonly acks = new Map<string, Acks>()
  private readonly ledger: Ledger
  private readonly isOnDisk: (in_reply_to: string) => boolean

  /** `isOnDisk` returns whether a reply to this signal survives a power cut. */
  constructor(ledger: Ledger, isOnDisk: (in_reply_to: string) => boolean) {
    this.ledger = ledger
    this.isOnDisk = isOnDisk
  }

  onAsking(path: string, signal_ids: readonly string[]): void {
    for (const signal_id of signal_ids) {
      if (path === 'signals/ack') this.of(signal_id).sent += 1
      if (path === 'signals/replay') this.of(signal_id).replays += 1
    }
  }

  onAckRefused(signal_ids: readonly string[]): void {
    for (const signal_id of signal_ids) {
      const acks = this.of(signal_id)
      acks.refused += 1
      if (isRefused(acks) && (acks.completed || this.isOnDisk(signal_id)))
        throw new Violation(REFUSED, signal_id)
    }
  }

  onCompleted(signal_id: string): void {
    const acks = this.of(signal_id)
    acks.completed = true
    if (isRefused(acks)) throw new Violation(REFUSED, signal_id)
    if (replyTo(this.ledger.signals.get(signal_id)) === null) return
    if (!this.isOnDisk(signal_id)) throw new Violation(TOGETHER, `${signal_id} is completed and has no reply`)
    acks.replied = true
  }

  /** Checks one reply, as received by an agent or as found in the store. */
  check({ signal_id, in_reply_to = '', to, from, payload, priority }: Shown): void {
    const known = this.ledger.signals.get(in_reply_to)
    const fail = (promise: string, detail: string) => {
      throw new Violation(promise, `${signal_id} to ${in_reply_to}: ${detail}`)
    }
    if (isRefused(this.of(in_reply_to))) fail(REFUSED, 'it was stored')
    // The receipt never arrived, so the wish of this signal is unknown.
    if (known === undefined || known.wish === null) return
    const { reply_to, priority: asked } = known.wish
    const sender = from === known.to || from === 'operator'
    if (to !== reply_to || !sender || priority !== asked || payload !== RESULT)
      fail('a reply says what was asked', JSON.stringify({ to, from, priority, payload }))
  }

  /**
   * Checks, after a hub has started, that a completed signal has its reply and each life of a signal has at most one.
   */
  async checkKept(store: SignalStore, { signal_id, status }: SignalView): Promise<void> {
    const acks = this.of(signal_id)
    if (status === 'completed' && isRefused(acks)) throw new Violation(REFUSED, `${signal_id} is completed`)
    if (replyTo(this.ledger.signals.get(signal_id)) === null) return
    const replies = await this.to(store, signal_id)
    for (const reply of replies) this.check(reply)
    acks.replied ||= replies.length > 0
    if (status === 'completed' && !acks.replied)
      throw new Violation(TOGETHER, `${signal_id} is completed and has no reply`)
    if (replies.length > 1 + acks.replays)
      throw new Violation('one reply for each life of a signal', `${signal_id}: ${replies.length}`)
  }

  private async to(store: SignalStore, in_reply_to: string): Promise<SignalView[]> {
    const query = { in_reply_to, limit: Number.MAX_SAFE_INTEGER } as Parameters<SignalStore['query']>[0]
    return (await store.query(query)).signals.filter(isReply)
  }

  private of(signal_id: string): Acks {
    const acks = this.acks.get(signal_id) ?? {
      ...{ sent: 0, refused: 0, replays: 0 },
      ...{ completed: false, replied: false },
    }
    this.acks.set(signal_id, acks)
    return acks
  }
}

export const isReply = ({ intent, in_reply_to }: Shown): boolean =>
  intent === 'reply' && in_reply_to !== undefined

function replyTo(known: Known | undefined): Wish['reply_to'] {
  return known?.wish?.reply_to ?? null
}

function isRefused({ sent, refused }: Acks): boolean {
  return sent === refused
}
