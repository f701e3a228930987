/** The known facts about each wish to send and about the signals created from it. */
import type { Wall } from '../world/wall.ts'

/** Receiver name of a broadcast, and its sender name. */
export const EVERYBODY = '*'
export const HERALD = 'herald'

/** One signal or broadcast that a client wants to send, over all its attempts. */
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
  /** Number of attempts, and number of rejections. If all attempts were rejected, no signal may be created. */
  tries: number
  noes: number
  /** Whether the hub has accepted it. */
  accepted: boolean
}

export interface Known {
  signal_id: string
  to: string
  /** Null until a client received it. */
  seq: number | null
  wish: Wish | null
  /** Number of replays that an operator requested and whose outcome is unknown. */
  replays_open: number
  /** Number of replays whose drain was reported before the replay itself. */
  replays_seen: number
  told_at: number
  /** Last reported state. `unsure`: the hub was killed afterwards and may not have reported a later change. */
  state: 'pending' | 'leased' | 'final' | 'expired' | 'cancelled' | 'dead'
  /** Whether it has expired at least once. */
  ever_expired: boolean
  unsure: boolean
  drain_id: string | null
  /** Time of the last reported state change. */
  since: number
  /** When a drain skipped it and returned later signals. */
  passed_over_at: number | null
  /** A later signal of the same sender that was handed out while this one waited. */
  overtaken_by: string | null
  /** Whether it has reached the agent's machine; the hub does not know whether the agent reads it. */
  arrived: boolean
  /** Number of times that an agent received it. */
  received: number
  /** Delivery numbers that agents received with it. */
  deliveries: Set<number>
  /**
   * Number of drains since it was accepted or replayed: those that the hub reported, and those that only their release
   * shows.
   */
  leases_seen: number
  leases_unseen: number
  handed_out: number
  given_back: number
  /** Number of hubs killed since it was reported, and how many of them before its last replay. */
  kills: number
  kills_before: number
  /** When its state became final. */
  final_at: number | null
  /** It was cancelled while it was leased, so the release of that lease must be reported at the same moment. */
  release_due: boolean
  /** Whether its life had ended and a restarted hub reported that, too. */
  found_over: boolean
}

/** Tolerance for a hub clock that was set, possibly twice. */
export const CLOCK_SLACK_MS = 30 * 60_000

export class Ledger {
  readonly signals = new Map<string, Known>()
  readonly wishes: Wish[] = []
  /** Signals that the hub itself sent. */
  readonly notices = new Set<string>()
  /** Expiry notices, by receiver, signal and end of its life. */
  readonly told_expiries = new Map<string, string>()
  /** Times at which hubs were killed. */
  readonly kills_at: number[] = []
  /** Waiting signals by receiver. */
  private readonly queues = new Map<string, Set<Known>>()
  readonly now: () => number
  readonly wall: Wall

  constructor(now: () => number, wall: Wall) {
    this.now = now
    this.wall = wall
  }

  /**
   * Returns whether its lifetime may have ended. A hub's own clock may be off by minutes, the machine's clock by hours.
   */
  mayBeOver({ at, ttl_s }: Wish): boolean {
    return this.passedAtMost(at) >= ttl_s * 1000 - CLOCK_SLACK_MS
  }

  /** Returns the maximum time passed since `at` by the wall clock. */
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

  /** Returns the signals known to wait for this receiver. */
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
