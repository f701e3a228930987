/** An agent with its own WebSocket and no daemon: it receives pushes and drains over its link. */
import type { HubFrame } from '../../../src/contracts/frames.ts'
import type { DrainResult } from '../../../src/contracts/signal.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { signToken } from '../../../src/kernel/sign-token.ts'
import { SOCKET, textOf, type FrameSocket } from '../../../src/ports/frame-socket.ts'
import type { Dice } from '../../support/dice.ts'
import type { CallerWatch } from './caller.ts'
import type { Host } from './host.ts'
import type { Network } from './network.ts'
import { SECRETS } from './sim-hub.ts'

export interface LinkAgentWorld {
  dice: Dice
  network: Network
  callers: CallerWatch
}

const HEARTBEAT_MS = 10_000
const WAIT_MS_MAX = 5_000

export class LinkAgent {
  readonly host: Host
  readonly identity: string
  private socket: FrameSocket | null = null
  /** Each link is a session of its own. What it drained is released when it breaks. */
  session = ''
  private asked = 0
  private draining: string | null = null
  private again = false
  private heard_at = 0
  private readonly world: LinkAgentWorld

  constructor(host: Host, identity: string, world: LinkAgentWorld) {
    this.host = host
    this.identity = identity
    this.world = world
    this.connect()
    host.clock.every(HEARTBEAT_MS, () => this.beat())
  }

  private connect(): void {
    const { identity, host } = this
    const exp = Math.floor(host.clock.now() / 1000) + LIMITS.token_ttl_s_max
    const token = signToken({ tenant_id: 'local', identity, kind: 'agent', exp }, SECRETS.signing_key)
    const socket = this.world.network.dial(host, token)
    this.socket = socket
    this.draining = null
    this.again = false
    this.heard_at = host.clock.monotonic()
    socket.on('open', () => this.say({ type: 'hello', protocol: 1, kind: 'agent', identity }))
    socket.on('message', (data) => {
      this.heard_at = host.clock.monotonic()
      if (this.socket === socket) this.hear(JSON.parse(textOf(data)) as HubFrame)
    })
    socket.on('ping', () => (this.heard_at = host.clock.monotonic()))
    socket.on('error', () => {})
    socket.on('close', () => {
      if (this.socket !== socket) return
      this.socket = null
      host.clock.after(this.world.dice.between(100, WAIT_MS_MAX), () => this.connect())
    })
  }

  private say(frame: object): void {
    if (this.socket?.readyState === SOCKET.open) this.socket.send(JSON.stringify(frame))
  }

  private beat(): void {
    if (this.host.clock.monotonic() - this.heard_at > LIMITS.link_silence_max_ms)
      return this.socket?.terminate()
    this.say({ type: 'heartbeat', seq: ++this.asked })
    this.say({ type: 'ping' })
  }

  private hear(frame: HubFrame): void {
    if (frame.type === 'welcome') {
      this.session = `agent:${frame.client_id}`
      this.drainSoon()
    }
    if (frame.type === 'signal.pushed' || frame.type === 'signal.released') this.drainSoon()
    if (frame.type === 'result') this.drained(frame)
    if (frame.type === 'error' && frame.id === this.draining) this.draining = null
  }

  private drainSoon(): void {
    this.again = true
    this.host.clock.after(this.world.dice.between(0, WAIT_MS_MAX), () => {
      if (this.draining !== null || !this.again) return
      this.again = false
      this.draining = `drain-${++this.asked}`
      const params = { limit: this.world.dice.pick([1, 5, 50]) }
      this.say({ type: 'call', id: this.draining, facade: 'signals', action: 'pending', params })
    })
  }

  private drained(frame: { id: string | number; result?: unknown }): void {
    if (frame.id !== this.draining) return
    this.draining = null
    const drain = frame.result as DrainResult
    this.world.callers.onArrived(drain)
    this.world.callers.onReceived(this.session, drain)
    // The next drain confirms this one.
    if (drain.signals.length > 0 || this.again) this.drainSoon()
  }
}
