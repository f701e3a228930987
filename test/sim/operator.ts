/**
 * The person whose machine it is: asks daemons at their control sockets, wraps personas and brings them back. Nobody
 * starts the daemon of a wrapped persona again until then. Whoever sends from a shell calls the hub in this name too.
 */
import type { ControlVerb } from '../../src/contracts/control.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import type { Json } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
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
    /** That was not asked: nobody could be reached. */
    onNotAsked(path: string, body: object): void
  }
  startDaemon(identity: string): void
}

/** A daemon answers at once, or stands still. */
const CONTROL_MS = 5_000
const TRIES = 4
/** A hub that refuses may be about to end. */
const AFTER_NO_MS = 1_000

export class Operator {
  readonly host: Host
  /** Whom somebody has wrapped or removed in this run, or tried to. */
  readonly ever_wrapped = new Set<string>()
  private readonly wrapped = new Set<string>()
  /** Their daemons ended because they were told to. */
  private readonly dismissed = new Set<string>()
  private readonly world: OperatorWorld

  constructor(world: OperatorWorld) {
    this.world = world
    this.host = new Host('operator', world)
  }

  /** Null where nobody listens, or nobody answers. */
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

  /** Calls the hub. Null where it refused, or could not be reached so often. */
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
    // Once: another try might come after it was brought back.
    await this.call(`personas/${how}`, { identity })
  }

  /** Until the hub has said so, however long that takes. */
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

  /** A daemon ended because its hub said that its persona is over. */
  onDismissed(identity: string): void {
    if (this.wrapped.has(identity)) this.dismissed.add(identity)
  }

  /** Whoever supervises the daemon of this persona leaves it at that. */
  keepsAway(identity: string): boolean {
    return this.dismissed.has(identity)
  }
}
