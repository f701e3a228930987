/**
 * Checks wrapping: a wrapped persona drains nothing and receives nothing, and an active one receives its signals. Both
 * hold from the hub's confirmation on, whatever happens to that hub.
 */
import type { DrainResult, Receipt } from '../../../src/contracts/signal.ts'
import { Violation } from '../../support/violation.ts'
import type { Asked, Told } from '../world/network.ts'
import type { SimHub } from '../world/sim-hub.ts'

/** A confirmation of a hub and its time, valid until the opposite is requested. */
interface Said {
  over: boolean
  hub: SimHub
  at: number
}

/** A call that a hub has received and not answered. */
interface UnderWay {
  identity: string
  over: boolean
  hub: SimHub
}

interface Away {
  from: number
  until: number
}

const OVER_BY_PATH = new Map([
  ['/api/personas/wrap', true],
  ['/api/personas/remove', true],
  ['/api/personas/add', false],
])
const REFUSALS = ['target_wrapped', 'target_unknown']

interface Addressed {
  to: string
}

/** The operations that must fail for a persona in this state. */
interface Rule {
  over: boolean
  promise: string
}

const TAKES_SIGNALS: Rule = { over: false, promise: 'who is there takes signals' }
const TAKES_NOTHING: Rule = { over: true, promise: 'who is wrapped takes nothing' }
const IS_HANDED_NOTHING: Rule = { over: true, promise: 'who is wrapped is handed nothing' }

export interface WrapWorld {
  now(): number
  /** Returns whether this hub is known to be the current one; calls to another one have no effect. */
  isCurrent(hub: SimHub): boolean
  /** Returns the receiver of a signal that a hub has reported. */
  addressee(signal_id: string): string
}

export class WrapWatch {
  private readonly said = new Map<string, Said>()
  private readonly under_way = new Map<Asked, UnderWay>()
  /** By persona, oldest first: the periods in which it may have been wrapped. */
  private readonly away = new Map<string, Away[]>()
  private readonly world: WrapWorld
  readonly counts = { wrapped: 0 }

  constructor(world: WrapWorld) {
    this.world = world
  }

  /** Called before a client sends this request. */
  onAsking(path: string, body: object): void {
    if (OVER_BY_PATH.get(`/api/${path}`) === true) this.leaves((body as { identity: string }).identity)
  }

  /** Called when the request has reached this hub. */
  onReached(hub: SimHub, asked: Asked): void {
    const over = OVER_BY_PATH.get(asked.path)
    if (over === undefined || !this.world.isCurrent(hub)) return
    const { identity } = asked.body as { identity: string }
    if (this.said.get(identity)?.over !== over) this.said.delete(identity)
    if (over) this.leaves(identity)
    this.under_way.set(asked, { identity, over, hub })
  }

  /** `began` is when the hub received the request. */
  onAnswer(hub: SimHub, asked: Asked, { status, body: told }: Told, began: number): void {
    const change = this.under_way.get(asked)
    this.under_way.delete(asked)
    if (change !== undefined && status === 200) this.onChanged(change)
    const { path, body } = asked
    if (path === '/api/signals/send') this.onSent(hub, began, body as Addressed, { status, body: told })
    if (status !== 200) return
    // A known key is answered whatever the state of its personas.
    if (path === '/api/signals/broadcast' && !('idempotency_key' in (body as object))) {
      const { receipts } = told as { receipts: Receipt[] }
      const addressed = receipts.map(({ signal_id }) => ({ to: this.world.addressee(signal_id) }))
      this.holds(hub, began, addressed, TAKES_NOTHING)
    }
    if (path === '/api/signals/pending')
      this.holds(hub, began, (told as DrainResult).signals, IS_HANDED_NOTHING)
  }

  private onSent(hub: SimHub, began: number, sent: Addressed, { status, body }: Told): void {
    const { code = '' } = body as { code?: string }
    if (code === 'target_wrapped' && !this.away.has(sent.to))
      throw new Violation(TAKES_SIGNALS.promise, `${sent.to} was never wrapped`)
    if (REFUSALS.includes(code)) this.holds(hub, began, [sent], TAKES_SIGNALS)
    if (status !== 200 || 'idempotency_key' in sent) return
    this.holds(hub, began, [sent], TAKES_NOTHING)
    if (!this.away.has(sent.to) && !this.said.has(sent.to))
      this.said.set(sent.to, { over: false, hub, at: this.world.now() })
  }

  private onChanged({ identity, over, hub }: UnderWay): void {
    if (!this.world.isCurrent(hub)) return
    if (over) this.counts.wrapped += 1
    const others = [...this.under_way.values()]
    // The order of the two calls is unknown.
    if (others.some((one) => one.hub === hub && one.identity === identity && one.over !== over)) return
    this.said.set(identity, { over, hub, at: this.world.now() })
    if (!over) this.returns(identity)
  }

  /** Applies to the hub that confirmed, and to hubs that started later and read the state from disk. */
  private holds(hub: SimHub, began: number, addressed: readonly Addressed[], { over, promise }: Rule): void {
    for (const { to } of addressed) {
      const said = this.said.get(to)
      if (said?.over !== over || began <= said.at) continue
      if (hub === said.hub || hub.since > said.at)
        throw new Violation(promise, `${to} at ${began}; ${said.hub.host.name} said so at ${said.at}`)
    }
  }

  // --- who was there

  /** Returns whether the persona existed during the whole period: it was never wrapped before, or was restored. */
  wasThere(identity: string, from: number, until: number): boolean {
    return !(this.away.get(identity) ?? []).some((away) => away.from <= until && away.until >= from)
  }

  private leaves(identity: string): void {
    const before = this.away.get(identity) ?? []
    if (before.at(-1)?.until === Infinity) return
    this.away.set(identity, [...before, { from: this.world.now(), until: Infinity }])
  }

  private returns(identity: string): void {
    const last = this.away.get(identity)?.at(-1)
    if (last !== undefined) last.until = Math.min(last.until, this.world.now())
  }
}
