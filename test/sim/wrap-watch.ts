/**
 * Who is wrapped takes nothing and is handed nothing, who is there takes signals: from the moment in which a hub has said
 * so, whatever becomes of that hub.
 */
import type { DrainResult, Receipt } from '../../src/contracts/signal.ts'
import { Violation } from '../support/violation.ts'
import type { Asked, Told } from './network.ts'
import type { SimHub } from './sim-hub.ts'

/** What a hub has said, and since when; nobody has asked it for the opposite since. */
interface Said {
  over: boolean
  hub: SimHub
  at: number
}

/** A call that a hub has heard and not answered. */
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

/** What a persona that is over, or is not, may not meet with. */
interface Rule {
  over: boolean
  promise: string
}

const TAKES_SIGNALS: Rule = { over: false, promise: 'who is there takes signals' }
const TAKES_NOTHING: Rule = { over: true, promise: 'who is wrapped takes nothing' }
const IS_HANDED_NOTHING: Rule = { over: true, promise: 'who is wrapped is handed nothing' }

export interface WrapWorld {
  now(): number
  /** Whether this hub is the one that is there, as far as anybody knows; what another one hears comes to nothing. */
  isCurrent(hub: SimHub): boolean
  /** Whom a signal of which a hub has told is for. */
  addressee(signal_id: string): string
}

export class WrapWatch {
  private readonly said = new Map<string, Said>()
  private readonly under_way = new Map<Asked, UnderWay>()
  /** By persona, oldest first: when it may have been wrapped. */
  private readonly away = new Map<string, Away[]>()
  private readonly world: WrapWorld
  readonly counts = { wrapped: 0 }

  constructor(world: WrapWorld) {
    this.world = world
  }

  /** Somebody is about to ask for this. */
  onAsking(path: string, body: object): void {
    if (OVER_BY_PATH.get(`/api/${path}`) === true) this.leaves((body as { identity: string }).identity)
  }

  /** It has reached this hub. */
  onReached(hub: SimHub, asked: Asked): void {
    const over = OVER_BY_PATH.get(asked.path)
    if (over === undefined || !this.world.isCurrent(hub)) return
    const { identity } = asked.body as { identity: string }
    if (this.said.get(identity)?.over !== over) this.said.delete(identity)
    if (over) this.leaves(identity)
    this.under_way.set(asked, { identity, over, hub })
  }

  /** `began` is when the hub heard of it. */
  onAnswer(hub: SimHub, asked: Asked, { status, body: told }: Told, began: number): void {
    const change = this.under_way.get(asked)
    this.under_way.delete(asked)
    if (change !== undefined && status === 200) this.onChanged(change)
    const { path, body } = asked
    if (path === '/api/signals/send') this.onSent(hub, began, body as Addressed, { status, body: told })
    if (status !== 200) return
    // A key that is known is answered whatever has become of its personas.
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
    // Nobody knows which of the two comes last.
    if (others.some((one) => one.hub === hub && one.identity === identity && one.over !== over)) return
    this.said.set(identity, { over, hub, at: this.world.now() })
    if (!over) this.returns(identity)
  }

  /** Of a hub that said so, and of one that began later, and so has read of it. */
  private holds(hub: SimHub, began: number, addressed: readonly Addressed[], { over, promise }: Rule): void {
    for (const { to } of addressed) {
      const said = this.said.get(to)
      if (said?.over !== over || began <= said.at) continue
      if (hub === said.hub || hub.since > said.at)
        throw new Violation(promise, `${to} at ${began}; ${said.hub.host.name} said so at ${said.at}`)
    }
  }

  // --- who was there

  /** Nobody had asked to wrap it before, or it was back, and that all the while. */
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
