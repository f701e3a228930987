/** Who is wrapped takes nothing and is handed nothing, from the moment in which the hub has said so. */
import type { DrainResult, Receipt } from '../../src/contracts/signal.ts'
import type { Asked, Told } from './network.ts'
import type { SimHub } from './sim-hub.ts'
import { Violation } from './violation.ts'

interface Ended {
  /** Another hub may have read of it, or not. */
  hub: SimHub
  at: number
}

const ENDINGS = ['/api/personas/wrap', '/api/personas/remove']

export class WrapWatch {
  private readonly ended = new Map<string, Ended>()
  /** By persona: calls to bring it back of which no hub has said that they are over. */
  private readonly returning = new Map<string, number>()
  private readonly now: () => number
  readonly counts = { wrapped: 0 }

  constructor(now: () => number) {
    this.now = now
  }

  onAsking(path: string, body: object): void {
    if (path !== 'personas/add') return
    const { identity } = body as { identity: string }
    this.count(identity, 1)
    this.ended.delete(identity)
  }

  /** `began` is when the hub heard of it. */
  onAnswer(hub: SimHub, { path, body }: Asked, { status, body: told }: Told, began: number): void {
    if (path === '/api/personas/add') this.count((body as { identity: string }).identity, -1)
    if (status !== 200) return
    if (ENDINGS.includes(path)) this.onEnded(hub, (body as { identity: string }).identity)
    // A key that is known is answered whatever has become of the persona.
    if (path === '/api/signals/send' && !('idempotency_key' in (body as object)))
      this.refuses(hub, began, [(body as { to: string }).to], 'takes nothing')
    if (path === '/api/signals/broadcast') {
      const { receipts } = told as { receipts: (Receipt & { to: string })[] }
      const to = receipts.map((receipt) => receipt.to)
      this.refuses(hub, began, to, 'takes nothing')
    }
    if (path === '/api/signals/pending') {
      const to = (told as DrainResult).signals.map((signal) => signal.to)
      this.refuses(hub, began, to, 'is handed nothing')
    }
  }

  private onEnded(hub: SimHub, identity: string): void {
    this.counts.wrapped += 1
    // It may have been brought back in the same moment.
    if ((this.returning.get(identity) ?? 0) === 0) this.ended.set(identity, { hub, at: this.now() })
  }

  private refuses(hub: SimHub, began: number, personas: readonly string[], promise: string): void {
    for (const identity of personas) {
      const ended = this.ended.get(identity)
      if (ended?.hub === hub && began > ended.at)
        throw new Violation(`who is wrapped ${promise}`, `${identity} at ${began}, wrapped at ${ended.at}`)
    }
  }

  private count(identity: string, by: number): void {
    this.returning.set(identity, (this.returning.get(identity) ?? 0) + by)
  }
}
