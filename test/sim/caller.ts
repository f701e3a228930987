/**
 * Who calls the hub over HTTP as one agent's session. Drains as turnbell's own bridge does: an answer that was lost
 * may have left something leased, and that goes back before anything else is drained and before the turn ends. A plain
 * client gives nothing back; it relies on the hub to notice that an answer broke.
 */
import type { DrainResult } from '../../src/contracts/signal.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { signToken } from '../../src/kernel/sign-token.ts'
import type { Host } from './host.ts'
import { AnswerLost, type Asked, type Network } from './network.ts'
import { resultOf, SECRETS } from './sim-hub.ts'

export interface CallerWatch {
  /** The agent's system has these; the agent may stand still. */
  onArrived(drain: DrainResult): void
  /** The agent has these now. */
  onReceived(session_id: string, drain: DrainResult): void
  /** An agent, or an operator, is about to ask for this. */
  onAsking(path: string, body: object): void
}

interface Held {
  signals: { signal_id: string; drain_id?: string }[]
}

const RETRY_MS = 250

export class Caller {
  readonly host: Host
  readonly identity: string
  readonly session_id: string
  plain = false
  /** The drain that is under way, or was last. */
  private last: Promise<unknown> = Promise.resolve()
  /** Its answer was written, and has not come yet. */
  private arriving = false
  /** An answer was lost; what it carried may be leased to us. */
  private lost = false
  /** Drains that arrived. The hub holds their leases until the turn ends, confirmed or not. */
  private readonly open = new Map<string, readonly string[]>()
  private readonly network: Network
  private readonly watch: CallerWatch

  constructor(host: Host, identity: string, session_id: string, network: Network, watch: CallerWatch) {
    this.host = host
    this.identity = identity
    this.session_id = session_id
    this.network = network
    this.watch = watch
  }

  /** One try. Rejects with AnswerLost, `hub_unreachable`, or what the hub refuses. */
  async call<T>(path: string, body: object, way: Pick<Asked, 'written' | 'arrived'> = {}): Promise<T> {
    const asked = { path: `/api/${path}`, token: this.token(), body, to_the_end: this.plain, ...way }
    this.watch.onAsking(path, body)
    return resultOf<T>(await this.network.ask(this.host, asked, LIMITS.hub_answer_ms))
  }

  /** Null where it could not be had; nothing is lost by that. One after the other, as on one connection. */
  drain(limit: number): Promise<DrainResult | null> {
    const drain = this.last.then(() => this.drainNow(limit))
    this.last = drain
    return drain
  }

  /** What was written to a connection of one's own machine is there in no time; the network here is slower. */
  async arrived(): Promise<void> {
    if (this.arriving) await this.last
  }

  private async drainNow(limit: number): Promise<DrainResult | null> {
    await this.settled()
    try {
      const drain = await this.call<DrainResult>(
        'signals/pending',
        { limit },
        {
          written: () => void (this.arriving = true),
          arrived: ({ status, body }) => status === 200 && this.watch.onArrived(body as DrainResult),
        },
      )
      if (drain.drain_id !== null) {
        this.open.set(
          drain.drain_id,
          drain.signals.map(({ signal_id }) => signal_id),
        )
      }
      this.watch.onReceived(this.session_id, drain)
      return drain
    } catch (error) {
      if (error instanceof AnswerLost && !this.plain) this.lost = true
      await this.settled()
      return null
    } finally {
      this.arriving = false
    }
  }

  /** Says that this one arrived. Not saying it costs at most a repetition. */
  async confirm(drain_id: string): Promise<void> {
    await this.attempt(() => this.call('signals/pending', { peek: true, limit: 1, confirm: drain_id }))
  }

  /** Resolves once nothing may be leased to us that we never saw. */
  async settled(): Promise<void> {
    while (this.lost) {
      await this.attempt(async () => {
        const held = await this.call<Held>('signals/inbox', {
          leased_to: this.session_id,
          limit: LIMITS.inbox_limit_max,
        })
        const left = held.signals.filter(({ drain_id }) => drain_id === undefined || !this.open.has(drain_id))
        if (left.length > 0) {
          await this.call('signals/release', { signal_ids: left.map(({ signal_id }) => signal_id) })
        }
        this.lost = false
      })
      if (this.lost) await new Promise<void>((resolve) => this.host.clock.after(RETRY_MS, resolve))
    }
  }

  /** Whatever goes wrong with it: the hub may be away, or refuse. */
  async attempt<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AnswerLost || error instanceof TurnbellError) return null
      throw error
    }
  }

  private token(): string {
    const { identity, session_id } = this
    const exp = Math.floor(this.host.clock.now() / 1000) + LIMITS.token_ttl_s_max
    return signToken({ tenant_id: 'local', identity, kind: 'agent', session_id, exp }, SECRETS.signing_key)
  }
}
