/**
 * Who calls the hub as one session of an agent. Drains as turnbell's own bridge does: an answer that was lost may have
 * left something leased, and that goes back before anything else is drained and before the turn ends.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { DrainResult } from '../../src/contracts/signal.ts'
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
  private token: Promise<string> | null = null
  /** An answer was lost; what it carried may be leased to us. */
  private lost = false
  /** What we were given and have not confirmed. */
  private readonly open = new Set<string>()
  private readonly gone = new AbortController()
  private readonly world: CallerWorld

  constructor(identity: string, session_id: string, world: CallerWorld) {
    this.identity = identity
    this.session_id = session_id
    this.world = world
  }

  /** Dies: its connections break, and nothing more is asked. */
  die(): void {
    this.gone.abort()
  }

  get dead(): boolean {
    return this.gone.signal.aborted
  }

  async act<T>(
    action: string,
    params: object,
    { way = 'route', breaks = null }: { way?: Way; breaks?: Break } = {},
  ): Promise<T> {
    const token = await this.ownToken()
    const gone = this.gone.signal
    return await this.world.door.act<T>({ facade: 'signals', action, params, token, way, breaks, gone })
  }

  /** Null where it could not be had; nothing is lost by that. */
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
      if (error instanceof AnswerLost) this.lost = true
      else if (!isTrouble(error)) throw error
      await this.settled()
      return null
    }
  }

  /** Says that this one arrived. Not saying it costs at most a repetition. */
  async confirm(drain_id: string): Promise<void> {
    await this.attempt(() => this.act('pending', { peek: true, limit: 1, confirm: drain_id }))
  }

  async ack(signal_ids: readonly string[], way: Way): Promise<void> {
    const acked = await this.attempt(() => this.act<{ completed: string[] }>('ack', { signal_ids }, { way }))
    if (acked !== null) this.world.ledger.acked(acked.completed)
  }

  /** Resolves once nothing may be leased to us that we never saw. */
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

  /** Null where the hub was away, the answer lost, or the call refused. */
  async attempt<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
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

/** What clients live with; a refusal that says the hub itself broke is none of it. */
export function isTrouble(error: unknown): boolean {
  if (error instanceof Refused) return error.problem.code !== 'internal'
  return error instanceof AnswerLost || error instanceof HubAway
}
