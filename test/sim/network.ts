/**
 * The network between hub, daemons and clients: WebSockets and calls over HTTP, with everything that goes wrong on
 * the way. On a connection that holds, bytes arrive once and in order, as TCP promises; a connection can be slow, be
 * cut, or fall silent without being cut.
 *
 * A middlebox may be told to lose, repeat and reorder frames. No WebSocket does that; whoever stands it loses nothing
 * by an ordinary one.
 */
import { EventEmitter } from 'node:events'
import { SOCKET, type FrameSocket } from '../../src/ports/frame-socket.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import type { Dice } from '../support/dice.ts'
import type { Host } from './host.ts'
import type { Timeline } from './timeline.ts'

export interface NetworkWorld {
  timeline: Timeline
  dice: Dice
}

/** A call over HTTP. */
export interface Asked {
  path: string
  token: string | null
  body: unknown
  /** Who asks waits for the end of an answer that has begun, however long that takes, and nothing cuts it off. */
  to_the_end?: boolean
  /** The answer is on its way. */
  written?: (() => void) | undefined
  /** The system of who asked has it, whatever that process does just now. */
  arrived?: ((told: Told) => void) | undefined
}

export interface Told {
  status: number
  body: unknown
}

/** Whoever takes calls. `answered` settles once it is known whether the answer has left. */
export interface Service {
  host: Host
  open(socket: FrameSocket, token: string | null): void
  serve(asked: Asked, answered: Promise<'written' | 'broken'>): Promise<Told>
}

/** The faults that are on just now, as probabilities of each message unless it says otherwise. */
export interface NetworkFaults {
  latency_ms_max: number
  /** Of a frame that only tells news. */
  lose: number
  repeat: number
  reorder: number
  /** Of a call that never arrives, and of an answer that is cut off: before it was written, or after. */
  call_lost: number
  answer_lost: number
  /** Of an answer that takes long to be written, as to a client that reads slowly. */
  answer_slow: number
}

export const CALM: NetworkFaults = {
  latency_ms_max: 5,
  lose: 0,
  repeat: 0,
  reorder: 0,
  call_lost: 0,
  answer_lost: 0,
  answer_slow: 0,
}

const SLOW_ANSWER_MS_MAX = 5_000

/** To or from a host. */
export type Way = 'out' | 'in'

/** The answer may have been given, and never came. */
export class AnswerLost extends Error {}

export class Network {
  faults: NetworkFaults = CALM
  private service: Service | null = null
  /** Hosts that cannot be heard, that cannot hear, or both; one may be parted several times at once. */
  private readonly parted = new Set<{ host: Host; ways: readonly Way[] }>()
  private readonly held: { call: () => void; host: Host; way: Way }[] = []
  private readonly sockets = new Set<SimSocket>()
  private readonly world: NetworkWorld

  constructor(world: NetworkWorld) {
    this.world = world
  }

  listen(service: Service): void {
    this.service = service
    service.host.onEnd(() => {
      if (this.service === service) this.service = null
    })
  }

  dial(from: Host, token: string): FrameSocket {
    const near = new SimSocket(from, this)
    this.track(near)
    this.later(from, 'out', () => {
      const { service } = this
      if (service === null || !service.host.alive) return near.refused('connect ECONNREFUSED')
      // A process that stands still has its connections taken by the system.
      const far = new SimSocket(service.host, this)
      this.track(far)
      near.peer = far
      far.peer = near
      far.readyState = SOCKET.open
      service.host.act(() => service.open(far, token))
      this.carry(far, near, () => near.opened())
    })
    return near
  }

  /** Rejects with `hub_unreachable` where nothing was asked, with AnswerLost where nobody knows. */
  ask(from: Host, asked: Asked, timeout_ms: number): Promise<Told> {
    const { dice } = this.world
    return new Promise<Told>((resolve, reject) => {
      let open = true
      const end = (settle: () => void) => {
        if (!open) return
        open = false
        patience.cancel()
        from.act(settle)
      }
      const patience = this.world.timeline.at(timeout_ms, () =>
        end(() => reject(new AnswerLost('no answer in time'))),
      )
      const unreachable = () =>
        end(() => reject(new TurnbellError('hub_unreachable', { detail: 'nobody listens' })))
      this.later(from, 'out', () => {
        const { service } = this
        if (service === null || !service.host.alive) return unreachable()
        if (dice.chance(this.faults.call_lost))
          return end(() => reject(new AnswerLost('reset before it arrived')))
        service.host.onEnd(() =>
          this.later(from, 'in', () => end(() => reject(new AnswerLost('reset by the hub')))),
        )
        service.host.act(() => {
          let settle!: (how: 'written' | 'broken') => void
          const answered = new Promise<'written' | 'broken'>((done) => (settle = done))
          const lost = asked.to_the_end === true ? (['before'] as const) : (['before', 'after'] as const)
          const cut = dice.chance(this.faults.answer_lost) ? dice.pick(lost) : 'never'
          const write = (told: Told) => {
            if (!service.host.alive) return
            if (!open || !from.alive || cut === 'before') {
              settle('broken')
              return end(() => reject(new AnswerLost('cut before the answer was written')))
            }
            settle('written')
            asked.written?.()
            if (asked.to_the_end === true) patience.cancel()
            // What was handed to the other side's system arrives, even if the hub is gone by then.
            const arrive = () => {
              if (open && from.alive && cut !== 'after') asked.arrived?.(told)
              end(() => (cut === 'after' ? reject(new AnswerLost('cut on its way')) : resolve(told)))
            }
            this.later(from, 'in', arrive)
          }
          void service.serve(asked, answered).then((told) => {
            const slow_ms = dice.chance(this.faults.answer_slow) ? dice.between(1, SLOW_ANSWER_MS_MAX) : 0
            if (slow_ms === 0) write(told)
            else this.world.timeline.at(slow_ms, () => service.host.act(() => write(told)))
          })
        })
      })
    })
  }

  /** Nothing gets through these ways, and nobody is told, until what this answers is called. */
  part(host: Host, ways: readonly Way[]): () => void {
    const parting = { host, ways }
    this.parted.add(parting)
    return () => {
      if (this.parted.delete(parting)) this.letThrough()
    }
  }

  /** Nobody is parted any more. */
  heal(): void {
    this.parted.clear()
    this.letThrough()
  }

  /** What was held up arrives, in order, before anything that is sent or arrives later. */
  private letThrough(): void {
    for (const one of this.held.splice(0)) this.cross(one.host, one.way, one.call)
  }

  private isParted(host: Host, way: Way): boolean {
    for (const parting of this.parted) if (parting.host === host && parting.ways.includes(way)) return true
    return false
  }

  /** Cuts the links of a host; both ends hear of it. */
  cut(host: Host): void {
    for (const socket of [...this.sockets]) {
      if (socket.host === host) socket.terminate()
    }
  }

  cutAll(): void {
    for (const socket of [...this.sockets]) socket.terminate()
  }

  // --- for sockets

  latency(): number {
    return this.world.dice.between(0, this.faults.latency_ms_max)
  }

  /** Something that crosses the network between the hub and this host. */
  later(host: Host, way: Way, call: () => void): void {
    this.world.timeline.at(this.latency(), () => this.cross(host, way, call))
  }

  /** One message on a connection, behind those before it. `arrives` is when it is there, read or not. */
  carry(from: SimSocket, to: SimSocket, call: () => void, arrives = () => {}): void {
    from.last_arrival = Math.max(from.last_arrival, this.world.timeline.now + this.latency())
    this.world.timeline.at(from.last_arrival - this.world.timeline.now, () => {
      const arrive = () => {
        arrives()
        to.host.act(call)
      }
      this.cross(from.host, 'out', () => this.cross(to.host, 'in', arrive))
    })
  }

  /** Now, or once it is no longer parted. */
  private cross(host: Host, way: Way, call: () => void): void {
    if (this.isParted(host, way)) this.held.push({ call, host, way })
    else call()
  }

  frame(from: SimSocket, to: SimSocket, text: string): void {
    const { dice } = this.world
    const { lose, repeat, reorder } = this.faults
    const deliver = () => to.told(text)
    if (lose + repeat + reorder > 0 && NEWS.test(text)) {
      if (dice.chance(lose)) return
      if (dice.chance(repeat)) this.carry(from, to, deliver)
      if (dice.chance(reorder)) {
        // Overtaken by what comes within the next moments.
        this.world.timeline.at(dice.between(1, 200), () => to.host.act(deliver))
        return
      }
    }
    this.carry(from, to, deliver)
  }

  soon(call: () => void): void {
    this.world.timeline.at(0, call)
  }

  private track(socket: SimSocket): void {
    this.sockets.add(socket)
    socket.gone = () => void this.sockets.delete(socket)
    socket.host.onEnd(() => socket.died())
  }
}

/** What a hub tells on its own account. */
const NEWS = /^\{"type":"(?:signal\.|event|peer\.)/

const CLOSING = 2
const ABNORMAL = 1006

export class SimSocket extends EventEmitter implements FrameSocket {
  readyState: number = 0
  readonly bufferedAmount = 0
  peer: SimSocket | null = null
  last_arrival = 0
  gone: () => void = () => {}
  readonly host: Host
  private readonly network: Network

  constructor(host: Host, network: Network) {
    super()
    this.host = host
    this.network = network
  }

  send(text: string, done?: (error?: Error | null) => void): void {
    const { peer } = this
    if (this.readyState !== SOCKET.open || peer === null) {
      this.network.soon(() => this.host.act(() => done?.(new Error('not open'))))
      return
    }
    this.network.frame(this, peer, text)
    if (done !== undefined) this.network.soon(() => this.host.act(() => done()))
  }

  ping(data = ''): void {
    const { peer } = this
    if (peer === null) return
    const told = Buffer.from(data)
    const answer = () => {
      if (peer.readyState !== SOCKET.open) return
      peer.emit('ping', told)
      this.network.carry(peer, this, () => this.readyState === SOCKET.open && this.emit('pong', told))
    }
    this.network.carry(this, peer, answer, () => peer.host.readUp())
  }

  close(code = 1005, reason = ''): void {
    if (this.readyState >= CLOSING) return
    const { peer } = this
    if (peer === null) return this.terminate()
    this.readyState = CLOSING
    this.network.carry(this, peer, () => {
      peer.ended(code, reason)
      this.network.carry(peer, this, () => this.ended(code, reason))
    })
  }

  terminate(): void {
    if (this.readyState === SOCKET.closed) return
    this.hangUp()
    this.readyState = CLOSING
    this.network.soon(() => this.host.act(() => this.ended(ABNORMAL, '')))
  }

  // --- from the network

  opened(): void {
    if (this.readyState !== 0) return
    this.readyState = SOCKET.open
    this.emit('open')
  }

  refused(why: string): void {
    if (this.readyState === SOCKET.closed) return
    this.host.act(() => {
      // As `ws` does: told of the error, then of the end.
      if (this.listenerCount('error') > 0) this.emit('error', new Error(why))
      this.ended(ABNORMAL, '')
    })
  }

  told(text: string): void {
    if (this.readyState === SOCKET.open) this.emit('message', Buffer.from(text), false)
  }

  /** Its process is gone; the system hangs up. */
  died(): void {
    if (this.readyState !== SOCKET.closed) this.hangUp()
    this.readyState = SOCKET.closed
    this.gone()
  }

  private hangUp(): void {
    const { peer } = this
    if (peer !== null) this.network.carry(this, peer, () => peer.ended(ABNORMAL, ''))
  }

  private ended(code: number, reason: string): void {
    if (this.readyState === SOCKET.closed) return
    this.readyState = SOCKET.closed
    this.gone()
    // As with `ws`: what arrived before it has been handled by then, promises and all.
    const told = Buffer.from(reason)
    this.network.soon(() => this.host.act(() => this.emit('close', code, told)))
  }
}
