/**
 * Calls the hub as one session of an agent. Drains like turnbell's own bridge: if a response is lost, signals may still
 * be leased, so they are released before the next drain and before the turn ends. A plain client releases nothing and
 * relies on the hub to detect the broken response.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { DrainResult } from '../../src/contracts/signal.ts'
import type { BridgeProcess } from './bridge-process.ts'
import { AnswerLost, HubAway, Refused, type Break, type Door, type Way } from './door.ts'
import type { Ledger } from './ledger.ts'

export interface CallerWorld {
  door: Door
  ledger: Ledger
  operatorToken(): string
}

interface Held {
  signals: { signal_id: string; drain_id?: string }[]
  next: number | null
}

const RETRY_MS = 250

export class Caller {
  readonly identity: string
  readonly session_id: string
  readonly plain: boolean
  /** Whether a drain was lost with its bridge, or was given up while the bridge may still process it. */
  bridge_lost = false
  /** The last error of a call, for a failure message. */
  last_trouble: string | null = null
  private readonly bridge: BridgeProcess | null
  private token: Promise<string> | null = null
  /** Whether a response was lost; its signals may be leased to this session. */
  private lost = false
  /** Received drains that are not confirmed. */
  private readonly open = new Set<string>()
  private readonly gone = new AbortController()
  private readonly world: CallerWorld

  /** With a bridge every call uses the bridge, which also handles lost responses. */
  constructor(
    identity: string,
    session_id: string,
    { plain, bridge = null }: { plain: boolean; bridge?: BridgeProcess | null },
    world: CallerWorld,
  ) {
    this.identity = identity
    this.session_id = session_id
    this.plain = plain || bridge !== null
    this.bridge = bridge
    // A burst makes many concurrent calls.
    setMaxListeners(0, this.gone.signal)
    this.world = world
  }

  /** Breaks the connections and makes no more calls. */
  die(): void {
    this.gone.abort()
    this.bridge?.close()
  }

  get dead(): boolean {
    return this.gone.signal.aborted
  }

  async act<T>(
    action: string,
    params: object,
    { way = 'route', breaks = null }: { way?: Way; breaks?: Break } = {},
  ): Promise<T> {
    if (this.bridge !== null) {
      const after_ms = typeof breaks === 'object' ? breaks?.after_ms : undefined
      return await this.bridge.call<T>({ facade: 'signals', action, params, after_ms })
    }
    const token = await this.ownToken()
    const gone = this.gone.signal
    return await this.world.door.act<T>({ facade: 'signals', action, params, token, way, breaks, gone })
  }

  /** Returns null if the drain failed; no signal is lost by that. */
  async drain(limit: number, way: Way, breaks: Break): Promise<DrainResult | null> {
    await this.settled()
    if (this.dead) return null
    try {
      const drain = await this.act<DrainResult>('pending', { limit }, { way, breaks })
      if (drain.drain_id !== null) {
        this.open.add(drain.drain_id)
        this.world.ledger.received(drain.drain_id, drain.signals)
      }
      return drain
    } catch (error) {
      this.last_trouble = String(error)
      if (error instanceof AnswerLost) {
        this.lost = !this.plain
        this.bridge_lost = this.bridge !== null
      } else if (!isTrouble(error)) throw error
      await this.settled()
      return null
    }
  }

  /** Confirms that this drain arrived, unless a bridge does. A missing confirmation costs at most a repetition. */
  async confirm(drain_id: string): Promise<void> {
    if (this.bridge !== null) return
    await this.attempt(() => this.act('pending', { peek: true, limit: 1, confirm: drain_id }))
  }

  async ack(signal_ids: readonly string[], way: Way): Promise<void> {
    const acked = await this.attempt(() => this.act<{ completed: string[] }>('ack', { signal_ids }, { way }))
    if (acked !== null) this.world.ledger.acked(acked.completed)
  }

  /** Resolves when no signals that never arrived can be leased to this session. */
  async settled(): Promise<void> {
    while (this.lost && !this.dead) {
      await this.attempt(async () => {
        for (let before_seq: number | undefined; ;) {
          const params = { leased_to: this.session_id, limit: LIMITS.inbox_limit_max, before_seq }
          const held = await this.act<Held>('inbox', params)
          const left = held.signals.filter(
            ({ drain_id }) => drain_id === undefined || !this.open.has(drain_id),
          )
          if (left.length > 0)
            await this.act('release', { signal_ids: left.map(({ signal_id }) => signal_id) })
          if (held.next === null) break
          before_seq = held.next
        }
        this.lost = false
      })
      if (this.lost) await pause(RETRY_MS)
    }
  }

  /** Returns null if the hub was down, the response lost, or the call rejected. */
  async attempt<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      this.last_trouble = String(error)
      if (isTrouble(error)) return null
      throw error
    }
  }

  private ownToken(): Promise<string> {
    this.token ??= this.askToken().catch((error: unknown) => {
      this.token = null
      throw error
    })
    return this.token
  }

  private async askToken(): Promise<string> {
    const { identity, session_id, world } = this
    const { token } = await world.door.post<{ token: string }>(
      '/auth/token',
      { identity, kind: 'agent', session_id },
      { token: world.operatorToken(), gone: this.gone.signal },
    )
    return token
  }
}

/** Returns whether clients must tolerate the error; an internal error of the hub is not one of these. */
export function isTrouble(error: unknown): boolean {
  if (error instanceof Refused) return error.problem.code !== 'internal'
  return error instanceof AnswerLost || error instanceof HubAway
}
