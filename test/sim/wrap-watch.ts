/**
 * Who is wrapped takes nothing and is handed nothing, who is there takes signals: from the moment in which a hub has said
 * so, whatever becomes of that hub.
 */
import type { DrainResult, Receipt } from '../../src/contracts/signal.ts'
import type { Asked, Told } from './network.ts'
import type { SimHub } from './sim-hub.ts'
import { Violation } from './violation.ts'

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

export interface WrapWorld {
  now(): number
  /** Whether this hub is the one that is there, as far as anybody knows; what another one hears comes to nothing. */
  isCurrent(hub: SimHub): boolean
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
    const { code = '' } = told as { code?: string }
    if (
      path === '/api/signals/send' &&
      code === 'target_wrapped' &&
      !this.away.has((body as { to: string }).to)
    )
      throw new Violation('who is there takes signals', `${(body as { to: string }).to} was never wrapped`)
    if (path === '/api/signals/send' && REFUSALS.includes(code))
      this.holds(hub, began, [(body as { to: string }).to], {
        over: false,
        promise: 'who is there takes signals',
      })
    if (status !== 200) return
    // A key that is known is answered whatever has become of the persona.
    const takes = { over: true, promise: 'who is wrapped takes nothing' }
    if (path === '/api/signals/send' && !('idempotency_key' in (body as object)))
      this.holds(hub, began, [(body as { to: string }).to], takes)
    if (path === '/api/signals/broadcast') {
      const { receipts } = told as { receipts: (Receipt & { to: string })[] }
      this.holds(
        hub,
        began,
        receipts.map((receipt) => receipt.to),
        takes,
      )
    }
    if (path === '/api/signals/pending') {
      const to = (told as DrainResult).signals.map((signal) => signal.to)
      this.holds(hub, began, to, { over: true, promise: 'who is wrapped is handed nothing' })
    }
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

  /** What a hub did, is asked for after that moment: a hub that said so, or began later, and so has read of it. */
  private holds(
    hub: SimHub,
    began: number,
    personas: readonly string[],
    { over, promise }: { over: boolean; promise: string },
  ): void {
    for (const identity of personas) {
      const said = this.said.get(identity)
      if (said?.over !== over || began <= said.at) continue
      if (hub === said.hub || hub.since > said.at)
        throw new Violation(promise, `${identity} at ${began}; ${said.hub.host.name} said so at ${said.at}`)
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
