/**
 * An agent's surface with its shim and its agent: a process that has turns, receives doorbells and drains. Its manners
 * determine how well it behaves.
 */
import type { RingResult, SurfaceReport } from '../../../src/contracts/control.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { RpcParams, RpcPeer } from '../../../src/ports/rpc.ts'
import type { Dice } from '../../support/dice.ts'
import { Caller, type CallerWatch } from './caller.ts'
import type { Host } from './host.ts'
import type { SimLocalSockets } from './local-sockets.ts'
import type { Network } from './network.ts'
import { ackResult } from './senders.ts'
import { surfaceSocket } from './sim-daemon.ts'

/** What happens to a doorbell that reaches an idle surface. */
export type BellFate =
  | 'turn'
  | 'swallowed'
  | 'late'
  | 'twice'
  | 'refused'
  | 'unanswered'
  /** Accepted without a response in time: its prompt is stored and begins its turn much later. */
  | 'slow'
/** The agent's behaviour in a turn. */
export type TurnHabit =
  | 'drain all'
  | 'drain one'
  | 'drain and die'
  | 'nothing'
  | 'drain and ack'
  | 'drain and confirm'
  /** The user ends the turn while the agent waits for the response, which still arrives. */
  | 'drain and be interrupted'
  /** Another shim attaches to the same session before the turn ends. */
  | 'drain and change shims'

export interface Manners {
  bells: Partial<Record<BellFate, number>>
  habits: Partial<Record<TurnHabit, number>>
  /** Probability that the end of a turn requests a doorbell in its response. */
  takes: number
  /** Probability that a turn that no doorbell began checks the queue. */
  looks: number
  delivery: 'push' | 'pull'
  /** Whether its client never releases signals of a response that it did not receive. */
  plain: boolean
}

export const GOOD: Manners = {
  bells: { turn: 1 },
  // The end of a turn confirms a drain just like an explicit confirmation.
  habits: { 'drain and confirm': 1, 'drain all': 1 },
  takes: 0,
  looks: 1,
  delivery: 'push',
  plain: false,
}

export interface SurfaceWorld {
  dice: Dice
  replies: 'sender' | 'operator' | null
  network: Network
  sockets: SimLocalSockets
  callers: CallerWatch
  /** Called when a turn began; `bell` is the doorbell that began it, or null. */
  onTurn(surface: Surface, bell: Doorbell | null): void
}

const HABIT_LIMIT: Record<TurnHabit, number> = {
  'drain all': 50,
  'drain one': 1,
  'drain and die': 20,
  nothing: 0,
  'drain and ack': 20,
  'drain and confirm': 20,
  'drain and be interrupted': 20,
  'drain and change shims': 20,
}

const INTERRUPTED_MS_MAX = 3_000
/** Maximum time that two shims of one session coexist. */
const OVERLAP_MS_MAX = 5_000
/** Delay after the response to the doorbell has arrived. */
const SHIM_CHANGES_MS = 500
/** Larger than the number of turns of any session. */
const COUNTED_BY_A_SHIM = 1_000_000

/** Returns the turn of a report, independent of the shim that counted it. */
export function turnOf({ turn_seq }: Pick<SurfaceReport, 'turn_seq'>): number {
  return turn_seq % COUNTED_BY_A_SHIM
}

export class Surface {
  readonly host: Host
  readonly caller: Caller
  manners: Manners
  turn: 'idle' | 'busy' = 'idle'
  turn_seq = 0
  /** Whether the end of a turn waits for its response. The response may contain a doorbell, so no other is accepted. */
  private asking = false
  private hang_ups = 0
  /** The last doorbell that began a turn; included in every report. */
  private seen: string | null = null
  private peer: RpcPeer | null = null
  /** Accepted doorbells that have not begun their turns. */
  private bells: Doorbell[] = []
  /** Doorbells in its client that have not begun a turn, newest last. */
  private readonly holding: Doorbell[] = []
  private readonly world: SurfaceWorld

  constructor(host: Host, identity: string, manners: Manners, world: SurfaceWorld) {
    this.host = host
    this.manners = manners
    this.world = world
    this.caller = new Caller(host, identity, `session-${host.ids.next()}`, world.network, world.callers)
    this.connect()
  }

  get identity(): string {
    return this.caller.identity
  }

  /** Whether its client has a doorbell that has not begun a turn. */
  get holds(): boolean {
    return this.holding.length > 0
  }

  /** The user submits a prompt. */
  prompt(): void {
    this.host.act(() => {
      if (this.turn === 'idle') this.beginTurn(null)
    })
  }

  /**
   * Breaks the shim's connection. The shim reconnects, alternately as a new process that counts from a higher number.
   * The new one may attach before the old one is gone.
   */
  hangUp(): void {
    this.host.act(() => {
      this.hang_ups += 1
      const { peer } = this
      this.peer = null
      if (this.hang_ups % 2 === 0) this.turn_seq += COUNTED_BY_A_SHIM
      if (this.hang_ups % 4 === 0 && peer !== null) {
        this.connect()
        this.host.clock.after(this.world.dice.between(1, OVERLAP_MS_MAX), () => peer.close())
        return
      }
      peer?.close()
      this.reconnect()
    })
  }

  private connect(): void {
    if (this.manners.delivery === 'pull') return
    this.peer = this.world.sockets.connect(surfaceSocket(this.identity), this.host, (peer) => ({
      // A shim that was replaced no longer responds.
      onRequest: (method, params) =>
        this.peer === peer ? this.asked(method, params) : new Promise(() => {}),
      onClose: () => {
        if (this.peer !== peer) return
        this.peer = null
        this.reconnect()
      },
    }))
    if (this.peer === null) this.reconnect()
    else void this.report()
  }

  private reconnect(): void {
    const { dice } = this.world
    this.host.clock.after(dice.between(LIMITS.shim_reconnect_min_ms, LIMITS.shim_reconnect_max_ms), () => {
      if (this.peer === null) this.connect()
    })
  }

  private asked(method: string, params: RpcParams): Json | Promise<Json> {
    switch (method) {
      case 'status':
        return JSON.parse(JSON.stringify(this.standing())) as Json
      case 'notify_surface':
        return this.rung(params['doorbell'] as unknown as Doorbell)
      default:
        return {}
    }
  }

  private standing(): SurfaceReport {
    const { turn_seq, manners, seen } = this
    const outstanding = this.holding.at(-1)
    const { session_id } = this.caller
    const turn = this.asking ? 'idle' : this.turn
    return {
      ...{ surface: 'claude-code', session_id, delivery: manners.delivery, turn, turn_seq },
      ...(seen !== null && { seen_doorbell_id: seen }),
      ...(outstanding !== undefined && { outstanding_doorbell_id: outstanding.doorbell_id }),
    }
  }

  private async report(more: Partial<SurfaceReport> = {}): Promise<Doorbell | null> {
    // A pull surface is connected only while it requests a doorbell.
    const pulls = this.manners.delivery === 'pull'
    const peer = pulls
      ? this.world.sockets.connect(surfaceSocket(this.identity), this.host, () => ({
          onRequest: () => ({}),
          onClose() {},
        }))
      : this.peer
    if (peer === null) return null
    const params = JSON.parse(JSON.stringify({ ...this.standing(), ...more })) as RpcParams
    const answer = await peer.request('status', params, LIMITS.shim_take_ms).catch(() => null)
    if (pulls) peer.close()
    return (answer as { doorbell: Doorbell | null } | null)?.doorbell ?? null
  }

  private async rung(bell: Doorbell): Promise<RingResult> {
    const { dice } = this.world
    if (this.turn === 'busy') return { accepted: false, proof: 'deferred' }
    const fate = dice.weighted(this.manners.bells)
    switch (fate) {
      case 'refused':
        return { accepted: false, proof: 'failed' }
      case 'unanswered':
        return new Promise(() => {})
      case 'swallowed':
        if (this.manners.habits['drain and change shims'] !== undefined)
          this.host.clock.after(SHIM_CHANGES_MS, () => this.hangUp())
        return { accepted: true, proof: 'sent' }
      case 'late':
        this.holding.push(bell)
        this.host.clock.after(dice.between(1_000, 40_000), () => this.take(bell))
        return { accepted: true, proof: 'sent' }
      case 'slow':
        this.holding.push(bell)
        this.host.clock.after(dice.between(1_000, 40_000), () => this.take(bell))
        return new Promise(() => {})
      case 'twice':
        this.bells.push(bell)
        break
      case 'turn':
    }
    this.holding.push(bell)
    this.host.clock.after(dice.between(1, 400), () => this.take(bell))
    return { accepted: true, proof: 'sent' }
  }

  private take(bell: Doorbell): void {
    if (this.turn === 'idle') this.beginTurn(bell)
    else this.bells.push(bell)
  }

  private beginTurn(bell: Doorbell | null): void {
    this.turn = 'busy'
    this.turn_seq += 1
    this.seen = bell?.doorbell_id ?? this.seen
    if (bell !== null && this.holding.includes(bell)) this.holding.splice(this.holding.indexOf(bell), 1)
    this.world.onTurn(this, bell)
    void this.report()
    this.host.clock.after(this.world.dice.between(1, 2_000), () => void this.work(bell))
  }

  private async work(bell: Doorbell | null): Promise<void> {
    const { dice } = this.world
    const habit =
      bell === null && !dice.chance(this.manners.looks) ? 'nothing' : dice.weighted(this.manners.habits)
    const limit = HABIT_LIMIT[habit]
    this.caller.plain = this.manners.plain
    if (habit === 'drain and be interrupted') {
      void this.caller.drain(limit)
      this.host.clock.after(dice.between(1, INTERRUPTED_MS_MAX), () => void this.endTurn())
      return
    }
    if (limit > 0) {
      const drain = await this.caller.drain(limit)
      if (drain !== null && drain.drain_id !== null) {
        const { drain_id } = drain
        const signal_ids = drain.signals.map(({ signal_id }) => signal_id)
        if (habit === 'drain and die') return this.host.kill()
        if (habit === 'drain and change shims') this.hangUp()
        if (habit === 'drain and confirm') await this.caller.confirm(drain_id)
        if (habit === 'drain and ack')
          await this.caller.attempt(() =>
            this.caller.call('signals/ack', { signal_ids, ...ackResult(this.world) }),
          )
        if (habit !== 'drain one' && drain.remaining > 0 && dice.chance(0.5)) return this.work(bell)
      }
    }
    await this.caller.settled()
    this.host.clock.after(dice.between(1, 3_000), () => void this.endTurn())
  }

  private async endTurn(): Promise<void> {
    await this.caller.arrived()
    const take = this.world.dice.chance(this.manners.takes)
    if (take) {
      this.asking = true
      const taken = await this.report({ take: true })
      this.asking = false
      if (taken !== null) {
        this.bells.unshift(taken)
        this.holding.push(taken)
      }
    }
    this.turn = 'idle'
    if (!take) void this.report()
    const next = this.bells.shift()
    if (next !== undefined) this.host.clock.after(this.world.dice.between(0, 300), () => this.take(next))
  }
}
