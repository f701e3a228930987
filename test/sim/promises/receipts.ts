/** Checks receipts: all attempts of one wish receive the same signal and the same seq. */
import type { Receipt } from '../../../src/contracts/signal.ts'
import type { BroadcastResult } from '../../../src/modules/signals/types.ts'
import { Violation } from '../../support/violation.ts'
import type { Ledger, Wish } from './ledger.ts'
import { SIM_RETENTION } from '../world/sim-hub.ts'

export interface Sent {
  payload: { n: number }
}

export class Receipts {
  /** By wish: the signal of its receipt, and the latest time at which it was not yet created. */
  private readonly told = new Map<string, { signal_id: string; at: number }>()
  /** By idempotency key. */
  private readonly broadcasts = new Map<string, string>()
  private readonly ledger: Ledger
  private readonly checkDurable: (signal_id: string) => void
  /** Highest position in any receipt. */
  last_seq = 0

  /** `checkDurable` throws if a signal with a receipt is not on disk. */
  constructor(ledger: Ledger, checkDurable: (signal_id: string) => void) {
    this.ledger = ledger
    this.checkDurable = checkDurable
  }

  one({ payload }: Sent, to: string, { signal_id, seq, durable }: Receipt): void {
    const { ledger } = this
    if (!durable) throw new Violation('a receipt is durable', signal_id)
    this.checkDurable(signal_id)
    const wish = ledger.wishes[payload.n] as Wish
    wish.accepted = true
    const name = `${wish.key ?? `wish ${wish.n}`}>${to}`
    const before = this.told.get(name)
    if (wish.key !== null && before !== undefined && before.signal_id !== signal_id && this.isKept(before.at))
      throw new Violation('one key, one signal', `${wish.key}: ${before.signal_id}, then ${signal_id}`)
    const known = ledger.signals.get(signal_id)
    if (known !== undefined && known.seq !== null && known.seq !== seq)
      throw new Violation('a seq belongs to one signal', `${signal_id}: ${known.seq}, then ${seq}`)
    if (known === undefined || known.wish === null) ledger.know(signal_id, to, seq).wish = wish
    // A key is valid from the creation of its signal, which may be long before the receipt arrives.
    const at = Math.min(wish.at, known?.told_at ?? Infinity)
    this.told.set(name, before?.signal_id === signal_id ? before : { signal_id, at })
    this.last_seq = Math.max(this.last_seq, seq)
  }

  /** One signal for each receiver; repeating the key returns the same broadcast. */
  all(
    sent: Sent,
    { broadcast_id, receipts }: BroadcastResult,
    addressee: (signal_id: string) => string,
  ): void {
    for (const receipt of receipts) this.one(sent, addressee(receipt.signal_id), receipt)
    const { key, at } = this.ledger.wishes[sent.payload.n] as Wish
    if (key === null || receipts.length === 0) return
    const before = this.broadcasts.get(key) ?? broadcast_id
    this.broadcasts.set(key, before)
    if (before !== broadcast_id && this.isKept(at))
      throw new Violation('one key, one broadcast', `${key}: ${before}, then ${broadcast_id}`)
  }

  /** Returns whether a key from that time must still be known, whatever the clocks show. */
  private isKept(at: number): boolean {
    return this.ledger.passedAtMost(at) < SIM_RETENTION.idempotency_window_ms / 2
  }
}
