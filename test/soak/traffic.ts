/**
 * Generates the traffic along the day's curve: single signals, bursts to one persona, broadcasts, and user prompts.
 * Most senders have a key and retry until they have a receipt; some have none and try once.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Receipt } from '../../src/contracts/signal.ts'
import type { Dice } from '../support/dice.ts'
import { Violation } from '../support/violation.ts'
import { Caller, isTrouble, type CallerWorld } from './caller.ts'
import { busyAt } from './day.ts'
import { Refused, type Break, type Way } from './door.ts'

export interface TrafficWorld extends CallerWorld {
  dice: Dice
  personas: readonly string[]
  /** Elapsed share of the day, from 0 to 1. */
  share(): number
  /** Traffic as a multiple of an ordinary day. */
  times: number
  sessionOf(persona: string): string
  prompt(persona: string): void
  onThrown(error: unknown): void
}

/** Mean rate for one persona: 400 signals in a day of half an hour. */
const SIGNALS_PER_S = 400 / 1_800
const PROMPTS_PER_S = 0.03
const BURSTS_PER_S = 1 / 1_000
const BROADCASTS_PER_S = 1 / 5_000
const TRY_FOR_MS = 90_000
const WAYS: Record<Way, number> = { route: 6, mcp: 3, call: 1 }
const INTENTS = ['review.request', 'build.failed', 'question', 'task.done', 'note']

export class Traffic {
  private readonly senders: Map<string, Caller>
  private under_way = 0
  private readonly world: TrafficWorld

  constructor(world: TrafficWorld) {
    this.world = world
    this.senders = new Map(
      world.personas.map((name) => [name, new Caller(name, `sender-of-${name}`, { plain: false }, world)]),
    )
  }

  /** Number of sends without a receipt. */
  get waiting(): number {
    return this.under_way
  }

  /** Generates the traffic of this many milliseconds. */
  pass(ms: number): void {
    const { dice, personas } = this.world
    const busy = busyAt(this.world.share()) * this.world.times
    const expected = (per_s: number) => (per_s * personas.length * busy * ms) / 1000
    const times = (per_s: number) => {
      const count = expected(per_s)
      return Math.floor(count) + (dice.chance(count % 1) ? 1 : 0)
    }
    for (let left = times(SIGNALS_PER_S); left > 0; left -= 1) this.start(this.send(dice.pick(personas)))
    for (let left = times(PROMPTS_PER_S); left > 0; left -= 1) this.world.prompt(dice.pick(personas))
    for (let left = times(BURSTS_PER_S); left > 0; left -= 1) {
      const to = dice.pick(personas)
      for (let count = dice.between(10, 40); count > 0; count -= 1) this.start(this.send(to))
    }
    for (let left = times(BROADCASTS_PER_S); left > 0; left -= 1) this.start(this.broadcast())
  }

  /** Sends this many signals at once to random receivers. */
  storm(count: number): void {
    for (let left = count; left > 0; left -= 1)
      this.start(this.send(this.world.dice.pick(this.world.personas)))
  }

  private start(work: Promise<void>): void {
    this.under_way += 1
    work.catch((error: unknown) => this.world.onThrown(error)).finally(() => (this.under_way -= 1))
  }

  private async send(to: string): Promise<void> {
    const { dice, ledger } = this.world
    const wish = ledger.wish(to, dice.chance(0.8))
    const params = {
      ...{ to, intent: dice.pick(INTENTS), payload: { n: wish.n, text: 'x'.repeat(dice.between(0, 600)) } },
      ...{ priority: dice.weighted({ 0: 4, 1: 10, 3: 70, 5: 12, 9: 4 }) },
      ...(wish.key === null ? {} : { idempotency_key: wish.key }),
      // A short lifetime for some signals.
      ...(dice.chance(0.04) ? { ttl_s: dice.between(1, 20) } : {}),
      ...(dice.chance(0.02) ? { to_session: this.world.sessionOf(to) } : {}),
    }
    const sender = this.sender()
    const until = performance.now() + TRY_FOR_MS
    for (let known = false; ;) {
      const receipt = await this.once(sender, { ...params, priority: Number(params.priority) })
      if (receipt === 'refused') {
        if (known) throw new Violation('a key that has a receipt is answered', `${wish.key}: it was refused`)
        ledger.counts.refused += 1
        return
      }
      if (receipt !== null) {
        ledger.receipt(wish, receipt)
        known = true
        // Some clients repeat a completed send and must receive the same receipt.
        if (wish.key === null || !dice.chance(0.03)) return
      } else if (wish.key === null || performance.now() > until) {
        if (!known) ledger.counts.given_up += 1
        return
      }
      await pause(dice.between(100, 1_500))
    }
  }

  /** Returns null if the outcome is unknown or the hub is down. */
  private async once(sender: Caller, params: object): Promise<Receipt | 'refused' | null> {
    const { dice } = this.world
    try {
      return await sender.act<Receipt>('send', params, { way: dice.weighted(WAYS), breaks: this.breaks() })
    } catch (error) {
      if (!isTrouble(error)) throw error
      if (!(error instanceof Refused) || error.problem.retry === 'after_delay') return null
      // The session that it addresses may have ended.
      if (error.problem.code !== 'target_stale') throw error
      return 'refused'
    }
  }

  private async broadcast(): Promise<void> {
    const { dice, ledger } = this.world
    const wish = ledger.wish('*', false)
    const params = { intent: 'all.hands', payload: { n: wish.n }, priority: 2 }
    const sender = this.sender()
    const answer = await sender.attempt(() =>
      sender.act<{ receipts: Receipt[] }>('broadcast', params, { way: dice.weighted(WAYS) }),
    )
    if (answer === null) ledger.counts.given_up += 1
    else for (const receipt of answer.receipts) ledger.receipt(wish, receipt)
  }

  private sender(): Caller {
    return this.senders.get(this.world.dice.pick(this.world.personas)) as Caller
  }

  private breaks(): Break {
    const { dice } = this.world
    return dice.chance(0.03) ? { after_ms: dice.between(0, 10) } : null
  }
}
