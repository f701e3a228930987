/**
 * The person whose machine it is: asks daemons at their control sockets, wraps personas and brings them back. Nobody
 * starts the daemon of a wrapped persona again until then.
 */
import type { ControlVerb } from '../../src/contracts/control.ts'
import type { Json } from '../../src/contracts/ids.ts'
import { Host, type HostWorld } from './host.ts'
import type { SimLocalSockets } from './local-sockets.ts'
import { controlSocket } from './sim-daemon.ts'

export interface OperatorWorld extends HostWorld {
  sockets: SimLocalSockets
  /** Null where the hub refused, or could not be reached so often. */
  asOperator<T>(path: string, body: object, tries?: number): Promise<T | null>
  startDaemon(identity: string): void
}

/** A daemon answers at once, or stands still. */
const CONTROL_MS = 5_000
const TRIES = 4

export class Operator {
  readonly host: Host
  /** Whoever was wrapped or removed in this run, or may have been. */
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

  async wrap(identity: string, how: 'wrap' | 'remove'): Promise<void> {
    this.wrapped.add(identity)
    this.ever_wrapped.add(identity)
    // Once: another try might come after it was brought back.
    await this.world.asOperator(`personas/${how}`, { identity })
  }

  /** Until the hub has said so, however long that takes. */
  async bringBack(identity: string): Promise<void> {
    this.wrapped.delete(identity)
    const persona = { identity, surface: 'claude-code' }
    while ((await this.world.asOperator('personas/add', persona, TRIES)) === null) {
      if (this.wrapped.has(identity)) return
    }
    if (this.dismissed.delete(identity)) this.world.startDaemon(identity)
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
