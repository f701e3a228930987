/**
 * The operator of the machine: queries daemons at their control sockets, wraps personas and restores them. The daemon
 * of a wrapped persona is not restarted until it is restored. Calls from a shell also use this identity.
 */
import type { ControlVerb } from '../../../src/contracts/control.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { CallerWatch } from './caller.ts'
import { Host, type HostWorld } from './host.ts'
import type { SimLocalSockets } from './local-sockets.ts'
import { AnswerLost, type Network } from './network.ts'
import { controlSocket } from './sim-daemon.ts'
import { resultOf, SECRETS } from './sim-hub.ts'

export interface OperatorWorld extends HostWorld {
  sockets: SimLocalSockets
  network: Network
  callers: Pick<CallerWatch, 'onAsking'> & {
    /** Called if a request was not sent because the hub was unreachable. */
    onNotAsked(path: string, body: object): void
  }
  startDaemon(identity: string): void
}

/** Time limit for a daemon: it responds at once or is stopped. */
const CONTROL_MS = 5_000
const TRIES = 4
/** Pause after a rejection: the hub may be about to end. */
const AFTER_NO_MS = 1_000

export class Operator {
  readonly host: Host
  /** Personas that were wrapped or removed in this run, or that an operator tried to wrap or remove. */
  readonly ever_wrapped = new Set<string>()
  private readonly wrapped = new Set<string>()
  /** Personas whose daemons ended at the request of the hub. */
  private readonly dismissed = new Set<string>()
  private readonly world: OperatorWorld

  constructor(world: OperatorWorld) {
    this.world = world
    this.host = new Host('operator', world)
  }

  /** Returns null if no process listens or no response arrives. */
  async ask(identity: string, verb: ControlVerb): Promise<Json | null> {
    const peer = this.world.sockets.connect(controlSocket(identity), this.host, () => ({
      onRequest: () => ({}),
      onClose() {},
    }))
    if (peer === null) return null
    const answer = await peer.request(verb, { identity }, CONTROL_MS).catch(() => null)
    peer.close()
    return answer
  }

  /** Calls the hub. Returns null if it rejected the call or was unreachable in all `tries`. */
  async call<T>(path: string, body: object, tries = 1): Promise<T | null> {
    const { callers, dice, network } = this.world
    const asked = () => ({ path: `/api/${path}`, token: SECRETS.operator_token, body })
    for (let left = tries; left > 0; left--) {
      callers.onAsking(path, body)
      try {
        return resultOf<T>(await network.ask(this.host, asked(), LIMITS.hub_answer_ms))
      } catch (error) {
        if (!(error instanceof AnswerLost)) {
          if (!(error instanceof TurnbellError)) throw error
          if (error.code !== 'hub_unreachable') return null
          callers.onNotAsked(path, body)
        }
        await this.after(dice.between(10, 2_000))
      }
    }
    return null
  }

  async wrap(identity: string, how: 'wrap' | 'remove'): Promise<void> {
    this.wrapped.add(identity)
    this.ever_wrapped.add(identity)
    // Only one attempt is made, because a second one might arrive after the persona was restored.
    await this.call(`personas/${how}`, { identity })
  }

  /** Retries until the hub has confirmed. */
  async bringBack(identity: string): Promise<void> {
    this.wrapped.delete(identity)
    const persona = { identity, surface: 'claude-code' }
    while ((await this.call('personas/add', persona, TRIES)) === null) {
      if (this.wrapped.has(identity)) return
      await this.after(AFTER_NO_MS)
    }
    if (this.dismissed.delete(identity)) this.world.startDaemon(identity)
  }

  private after(ms: number): Promise<void> {
    return new Promise((resolve) => this.host.clock.after(ms, resolve))
  }

  /** Called when a daemon ended because its persona was wrapped or removed. */
  onDismissed(identity: string): void {
    if (this.wrapped.has(identity)) this.dismissed.add(identity)
  }

  /** Whether the supervisor does not restart the daemon of this persona. */
  keepsAway(identity: string): boolean {
    return this.dismissed.has(identity)
  }
}
