/** What is known of what somebody wanted to say, and of the signals that came of it. */
import type { Wall } from './wall.ts'

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
  reply_to: string | null
  ttl_s: number
  at: number
  /** How often it was said, and how often the hub has said no: to all of them, and nothing may come of it. */
  tries: number
  noes: number
  /** The hub has said yes. */
  accepted: boolean
}

export interface Known {
  signal_id: string
  to: string
  /** Null until somebody was told. */
  seq: number | null
  wish: Wish | null
  /** How often an operator asked for it to be sent anew where nobody knows whether it was. */
  replays_open: number
  /** Those of which a drain was told before they were. */
  replays_seen: number
  told_at: number
  /** What the hub last said of it. `unsure`: it was killed since, and may not have come to say more. */
  state: 'pending' | 'leased' | 'final' | 'expired' | 'cancelled' | 'dead'
  /** It has expired at least once. */
  ever_expired: boolean
  unsure: boolean
  drain_id: string | null
  /** Since when it is in this state, for all that was told. */
  since: number
  /** When a drain left it behind that gave what comes later. */
  passed_over_at: number | null
  /** What its sender had sent later, and was handed out while this one waited. */
  overtaken_by: string | null
  /** It is at an agent's system: whether that reads it is beyond any server. */
  arrived: boolean
  /** Handed to an agent that has it. */
  received: number
  /** How many deliveries each agent was told of that has it. */
  deliveries: Set<number>
  /** Since it was accepted or replayed: drains that the hub told, and drains that only their release shows. */
  leases_seen: number
  leases_unseen: number
  handed_out: number
  given_back: number
  /** Hubs that were gone without a word since it was told of, and those of them before its last replay. */
  kills: number
  kills_before: number
  /** When nothing can come of it any more. */
  final_at: number | null
  /** It was cancelled while it was leased: the release of that lease has to be reported at the same moment. */
  release_due: boolean
  /** It was over, and a hub that came up said so too. */
  found_over: boolean
}

/** A hub's clock may have been set, and set again. */
export const CLOCK_SLACK_MS = 30 * 60_000

export class Ledger {
  readonly signals = new Map<string, Known>()
  readonly wishes: Wish[] = []
  /** Signals that the hub itself has sent. */
  readonly notices = new Set<string>()
  /** Notices, by whom they are for, the signal that they name and the end of its life. */
  readonly told_expiries = new Map<string, string>()
  /** When hubs were gone without a word. */
  readonly kills_at: number[] = []
  /** What waits, by whom it is for. */
  private readonly queues = new Map<string, Set<Known>>()
  readonly now: () => number
  readonly wall: Wall

  constructor(now: () => number, wall: Wall) {
    this.now = now
    this.wall = wall
  }

  /** Its time may be over: a hub’s own clock may have been set by some minutes, that of the machine by hours. */
  mayBeOver({ at, ttl_s }: Wish): boolean {
    return this.passedAtMost(at) >= ttl_s * 1000 - CLOCK_SLACK_MS
  }

  /** Since then, by the clock on the wall. */
  passedAtMost(at: number): number {
    return this.now() - at + this.wall.errorSince(at)
  }

  wish(wish: Omit<Wish, 'n' | 'at' | 'tries' | 'noes' | 'accepted'>): Wish {
    const made = { n: this.wishes.length, at: this.now(), tries: 0, noes: 0, accepted: false, ...wish }
    this.wishes.push(made)
    return made
  }

  know(signal_id: string, to: string, seq: number | null): Known {
    let known = this.signals.get(signal_id)
    if (known === undefined) {
      known = {
        ...{ signal_id, to, seq, wish: null, replays_open: 0, replays_seen: 0, told_at: this.now() },
        ...{ state: 'pending', unsure: false, drain_id: null, since: this.now(), ever_expired: false },
        deliveries: new Set(),
        ...{
          leases_seen: 0,
          leases_unseen: 0,
          arrived: false,
          received: 0,
          handed_out: 0,
          given_back: 0,
          kills: 0,
          kills_before: 0,
        },
        ...{
          final_at: null,
          release_due: false,
          found_over: false,
          passed_over_at: null,
          overtaken_by: null,
        },
      }
      this.signals.set(signal_id, known)
      this.queue(to).add(known)
    }
    known.seq ??= seq
    return known
  }

  /** What waits for it, as far as anybody was told. */
  queue(to: string): Set<Known> {
    const queue = this.queues.get(to) ?? new Set()
    this.queues.set(to, queue)
    return queue
  }

  change(signal_id: string, { state, drain_id }: Pick<Known, 'state' | 'drain_id'>): void {
    const known = this.signals.get(signal_id)
    if (known === undefined) return
    known.state = state
    known.ever_expired ||= state === 'expired'
    if (state === 'pending') this.queue(known.to).add(known)
    else this.queue(known.to).delete(known)
    known.since = this.now()
    known.drain_id = drain_id
    known.unsure = false
    known.found_over = false
    known.passed_over_at = null
    known.overtaken_by = null
    known.final_at = state === 'pending' || state === 'leased' ? null : this.now()
  }
}
