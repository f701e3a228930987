/**
 * The shim of a persona's surface and its agent, on the daemon's real socket. The agent has turns, receives doorbells
 * and drains; its manners determine how well it behaves. When it dies, another one with a new session replaces it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { RingResult, SurfaceReport } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { Json } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { RpcParams, RpcPeer } from '../../src/ports/rpc.ts'
import { connectLocally } from '../../src/system/ipc/unix-socket.ts'
import type { Dice } from '../support/dice.ts'
import type { Violation } from '../support/violation.ts'
import { BellRules } from './bell-rules.ts'
import type { BridgeProcess } from './bridge-process.ts'
import { Caller, type CallerWorld } from './caller.ts'
import type { Break, Way } from './door.ts'

/** What happens to a doorbell that reaches an idle surface. */
type BellFate = 'turn' | 'swallowed' | 'late' | 'refused' | 'unanswered'
/** The agent's behaviour in a turn. */
type TurnHabit =
  | 'drain all'
  | 'drain one'
  | 'drain and die'
  | 'nothing'
  | 'drain and ack'
  | 'drain and confirm'
  | 'drain and release'

interface Manners {
  bells: Partial<Record<BellFate, number>>
  habits: Partial<Record<TurnHabit, number>>
  /**
   * Probabilities: that a response is lost, that the caller gives up while the hub is stopped, that the end of a turn
   * requests a doorbell in its response.
   */
  loses: number
  gives_up: number
  takes: number
}

const GOOD: Manners = {
  bells: { turn: 1 },
  habits: { 'drain and confirm': 1 },
  loses: 0,
  gives_up: 0,
  takes: 0,
}

/** Mostly well-behaved, with occasional misbehaviour. */
export const BAD: Manners = {
  bells: { turn: 88, swallowed: 3, late: 4, refused: 3, unanswered: 2 },
  habits: {
    ...{ 'drain all': 30, 'drain one': 12, 'drain and die': 3, nothing: 6 },
    ...{ 'drain and ack': 25, 'drain and confirm': 20, 'drain and release': 4 },
  },
  loses: 0.06,
  gives_up: 0.5,
  takes: 0.3,
}

const HABIT_LIMIT: Record<TurnHabit, number> = {
  'drain all': 50,
  'drain one': 1,
  'drain and die': 20,
  nothing: 0,
  'drain and ack': 20,
  'drain and confirm': 20,
  'drain and release': 5,
}
const WAYS: Record<Way, number> = { mcp: 5, route: 4, call: 1 }
const RETRY_MS_MAX = 1_500
const PATIENCE_MS_MAX = 4_000
/** Share of sessions whose clients never release signals. */
const PLAIN = 0.3

export interface AgentWorld extends CallerWorld {
  dice: Dice
  surface_socket: string
  newSession(): string
  /** Returns the bridge of a session that calls through one; null for a session that calls the hub directly. */
  newBridge(identity: string, session_id: string): BridgeProcess | null
  onBroken: (violation: Violation) => void
  /** Called for a bug of the soak test, or a response that no client should receive. */
  onThrown(error: unknown): void
}

export class Agent {
  readonly identity: string
  manners: Manners = BAD
  readonly counts = { bells: 0, taken: 0, turns: 0, deaths: 0, shims: 0, drains: 0 }
  private bridge: BridgeProcess | null = null
  private caller: Caller
  private peer: RpcPeer | null = null
  private turn: 'idle' | 'busy' = 'idle'
  private turn_seq = 0
  /** Accepted doorbells that have not begun their turns. */
  private bells: Doorbell[] = []
  private closed = false
  private readonly rules: BellRules
  /** Number of reports sent. */
  private reports = 0
  private readonly world: AgentWorld

  constructor(identity: string, world: AgentWorld) {
    this.identity = identity
    this.world = world
    this.rules = new BellRules(identity, world.onBroken)
    this.caller = this.newCaller()
    this.run(this.connect())
  }

  get session_id(): string {
    return this.caller.session_id
  }

  /** From this call on the agent behaves well. */
  behave(): void {
    this.manners = GOOD
  }

  get idle(): boolean {
    return this.turn === 'idle' && this.bells.length === 0 && this.peer !== null
  }

  /** Returns its state, for a failure message. */
  describe(): string {
    const { identity, turn, turn_seq, bells, peer, session_id } = this
    const { last_trouble } = this.caller
    return JSON.stringify({
      identity,
      session_id,
      turn,
      turn_seq,
      bells: bells.length,
      shim: peer !== null,
      last_trouble,
    })
  }

  /** The user submits a prompt. */
  prompt(): void {
    if (this.turn === 'idle') this.beginTurn(null)
  }

  /** Kills the shim; the agent survives and a new shim attaches. Returns whether there was one. */
  killShim(): boolean {
    if (this.peer === null) return false
    this.hangUp()
    this.run(this.connect())
    return true
  }

  /** Kills its bridge; the next call starts another. Returns false without a bridge. */
  killBridge(): boolean {
    return this.bridge?.kill() ?? false
  }

  bridgeStandsStill(ms: number): boolean {
    return this.bridge?.standStill(ms) ?? false
  }

  /** The daemon was stopped, so its timing is unreliable. */
  daemonStoodStill(): void {
    this.rules.forget()
  }

  close(): void {
    this.closed = true
    this.hangUp()
    this.caller.die()
  }

  private run(work: Promise<void>): void {
    work.catch((error: unknown) => this.world.onThrown(error))
  }

  private hangUp(): void {
    const { peer } = this
    this.peer = null
    this.rules.forget()
    peer?.close()
  }

  private async connect(): Promise<void> {
    const { caller, world } = this
    while (!this.closed && this.caller === caller && this.peer === null) {
      await pause(world.dice.between(LIMITS.shim_reconnect_min_ms, RETRY_MS_MAX))
      let peer: RpcPeer | null = null
      peer = await connectLocally(world.surface_socket, {
        onRequest: (method, params) => this.asked(peer, method, params),
        onClose: () => {
          if (this.peer !== peer) return
          this.peer = null
          this.rules.forget()
          this.run(this.connect())
        },
      }).catch(() => null)
      if (peer === null) continue
      if (this.closed || this.caller !== caller || this.peer !== null) return peer.close()
      this.counts.shims += 1
      this.peer = peer
      this.rules.forget()
      await this.report()
    }
  }

  private asked(peer: RpcPeer | null, method: string, params: RpcParams): Json | Promise<Json> {
    if (method === 'status') return { ...this.standing() } as Json
    if (method !== 'notify_surface' || peer !== this.peer) return {}
    const bell = params['doorbell'] as unknown as Doorbell
    this.counts.bells += 1
    this.rules.rung(bell, this.turn_seq, false)
    const result = this.answer(bell)
    if (result === null || !result.accepted) this.rules.notTaken(bell)
    return result === null ? new Promise<Json>(() => {}) : result
  }

  /** Returns null if no response is sent. */
  private answer(bell: Doorbell): RingResult | null {
    const { dice } = this.world
    if (this.turn === 'busy') return { accepted: false, proof: 'deferred' }
    const { caller } = this
    const take = (after_ms: number) =>
      this.run(
        pause(after_ms).then(() => {
          if (this.caller === caller && !this.closed) this.take(bell)
        }),
      )
    switch (dice.weighted(this.manners.bells)) {
      case 'refused':
        return { accepted: false, proof: 'failed' }
      case 'unanswered':
        return null
      case 'swallowed':
        break
      case 'late':
        take(dice.between(1_000, 15_000))
        break
      case 'turn':
        take(dice.between(1, 200))
    }
    return { accepted: true, proof: 'sent' }
  }

  private standing(): SurfaceReport {
    const { turn, turn_seq } = this
    return { surface: 'mcp', session_id: this.session_id, delivery: 'push', turn, turn_seq }
  }

  private async report(more: Partial<SurfaceReport> = {}): Promise<Doorbell | null> {
    const { peer } = this
    if (peer === null) return null
    const said = { ...this.standing(), ...more }
    if (said.turn === 'idle') this.rules.idleTold()
    const number = ++this.reports
    const answer = await peer.request('status', said as RpcParams, LIMITS.shim_take_ms).catch(() => null)
    // A late response does not apply to later reports.
    const still = this.peer === peer && this.turn === 'busy' && this.reports === number
    if (answer !== null && said.turn === 'busy' && still) this.rules.busyAnswered()
    return (answer as { doorbell: Doorbell | null } | null)?.doorbell ?? null
  }

  private take(bell: Doorbell): void {
    if (this.turn === 'idle') this.beginTurn(bell)
    else this.bells.push(bell)
  }

  private beginTurn(bell: Doorbell | null): void {
    this.turn = 'busy'
    this.turn_seq += 1
    this.counts.turns += 1
    this.run(this.haveTurn(bell))
  }

  private async haveTurn(bell: Doorbell | null): Promise<void> {
    const { dice } = this.world
    const { caller } = this
    void this.report(bell === null ? {} : { seen_doorbell_id: bell.doorbell_id })
    await pause(dice.between(5, 600))
    await this.work(caller)
    await caller.settled()
    await pause(dice.between(1, 400))
    if (!caller.dead) await this.endTurn(caller)
  }

  private async work(caller: Caller): Promise<void> {
    const { dice } = this.world
    for (;;) {
      if (caller.dead) return
      const habit = dice.weighted(this.manners.habits)
      const limit = HABIT_LIMIT[habit]
      if (limit === 0) return
      this.rules.drains()
      this.counts.drains += 1
      const drain = await caller.drain(limit, dice.weighted(WAYS), this.breaks(caller))
      // The response arrived after the first check of the rules.
      this.rules.drains()
      // The end of this turn would confirm signals that the bridge received or will receive and the agent never saw.
      if (caller.bridge_lost) return this.die()
      if (drain === null || drain.drain_id === null || caller.dead) return
      const { drain_id } = drain
      const signal_ids = drain.signals.map(({ signal_id }) => signal_id)
      if (habit === 'drain and die') return this.die()
      if (habit === 'drain and confirm') await caller.confirm(drain_id)
      if (habit === 'drain and ack') await caller.ack(signal_ids, dice.weighted(WAYS))
      if (habit === 'drain and release')
        await caller.attempt(() => caller.act('release', { signal_ids: signal_ids.slice(0, 1) }))
      if (habit === 'drain one' || drain.remaining === 0 || dice.chance(0.4)) return
    }
  }

  private newCaller(): Caller {
    const { dice } = this.world
    const session_id = this.world.newSession()
    this.bridge = this.world.newBridge(this.identity, session_id)
    const how = { plain: dice.chance(PLAIN), bridge: this.bridge }
    return new Caller(this.identity, session_id, how, this.world)
  }

  private breaks({ plain }: Caller): Break {
    const { dice } = this.world
    const { loses, gives_up } = this.manners
    if (dice.chance(loses)) {
      // An agent that ignores a received response has to release its signals, which a plain client never does.
      return !plain && dice.chance(0.5) ? 'in the answer' : { after_ms: dice.between(0, 12) }
    }
    return dice.chance(gives_up) ? { after_ms: dice.between(200, PATIENCE_MS_MAX) } : null
  }

  /** Dies during its turn with all leases. The next agent starts by itself. */
  private die(): void {
    this.counts.deaths += 1
    this.caller.die()
    this.hangUp()
    if (this.closed) return
    this.turn = 'idle'
    this.turn_seq = 0
    this.bells = []
    this.caller = this.newCaller()
    this.run(this.connect())
  }

  private async endTurn(caller: Caller): Promise<void> {
    const { dice } = this.world
    if (dice.chance(this.manners.takes)) {
      // The response determines whether the turn ends: the surface is still busy while it waits.
      const taken = await this.report({ turn: 'idle', take: true })
      if (this.caller !== caller) return
      if (taken !== null) {
        this.counts.taken += 1
        this.rules.rung(taken, this.turn_seq, true)
        this.bells.unshift(taken)
      }
      this.turn = 'idle'
    } else {
      this.turn = 'idle'
      void this.report()
    }
    const next = this.bells.shift()
    if (next === undefined) return
    await pause(dice.between(0, 200))
    if (this.caller === caller && !this.closed) this.take(next)
  }
}
