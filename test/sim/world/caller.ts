/**
 * Calls the hub over HTTP for one session of an agent. Drains like turnbell's own bridge: if a response is lost,
 * signals may still be leased, so they are released before the next drain and before the turn ends. A plain client
 * releases nothing and relies on the hub to detect the broken response.
 */
import type { DrainResult } from '../../../src/contracts/signal.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { signToken } from '../../../src/kernel/sign-token.ts'
import type { Host } from './host.ts'
import { AnswerLost, type Asked, type Network } from './network.ts'
import { resultOf, SECRETS } from './sim-hub.ts'

export interface CallerWatch {
  /** Called when a drain has arrived at the agent's machine. */
  onArrived(drain: DrainResult): void
  /** Called when the agent has read the signals of a drain. */
  onReceived(session_id: string, drain: DrainResult): void
  /** Called before an agent or an operator sends this request. */
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
  /** The drain in progress, or the last one. */
  private last: Promise<unknown> = Promise.resolve()
  /** Whether its response was written and has not arrived yet. */
  private arriving = false
  /** Whether a response was lost; its signals may be leased to this session. */
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

  /** Makes one attempt. Rejects with AnswerLost, `hub_unreachable`, or the error of the hub. */
  async call<T>(path: string, body: object, way: Pick<Asked, 'written' | 'arrived'> = {}): Promise<T> {
    const asked = { path: `/api/${path}`, token: this.token(), body, ...way }
    this.watch.onAsking(path, body)
    return resultOf<T>(await this.network.ask(this.host, asked, LIMITS.hub_answer_ms))
  }

  /** Returns null if the drain failed; no signal is lost by that. Drains run one at a time, as on one connection. */
  drain(limit: number): Promise<DrainResult | null> {
    const drain = this.last.then(() => this.drainNow(limit))
    this.last = drain
    return drain
  }

  /** Data written to a local connection arrives immediately; the simulated network is slower. */
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

  /** Confirms that this drain arrived. A missing confirmation costs at most a repetition. */
  async confirm(drain_id: string): Promise<void> {
    await this.attempt(() => this.call('signals/pending', { peek: true, limit: 1, confirm: drain_id }))
  }

  /** Resolves when no signals that never arrived can be leased to this session. */
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

  /** Returns null on any failure: the hub may be down or reject the request. */
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
