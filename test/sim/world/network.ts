/**
 * The network between hub, daemons and clients: WebSockets and HTTP calls, with their faults. On an intact connection
 * bytes arrive once and in order, as TCP guarantees. A connection can be slow, be cut, or go silent without being cut.
 *
 * A middlebox can be configured to lose, repeat and reorder frames. Real WebSockets do not do this, but a client that
 * survives it also survives an ordinary connection.
 */
import { EventEmitter } from 'node:events'
import { SOCKET, type FrameSocket } from '../../../src/ports/frame-socket.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { SentAnswer } from '../../../src/ports/sent-answer.ts'
import type { Dice } from '../../support/dice.ts'
import { playedAnswer, type Fate } from '../../support/fakes/fake-answers.ts'
import type { Host } from './host.ts'
import type { Timeline } from '../timeline.ts'

export interface NetworkWorld {
  timeline: Timeline
  dice: Dice
}

/** An HTTP call. */
export interface Asked {
  path: string
  token: string | null
  body: unknown
  /** Called when the response was written. */
  written?: (() => void) | undefined
  /** Called when the caller has received the response. */
  arrived?: ((told: Told) => void) | undefined
}

export interface Told {
  status: number
  body: unknown
}

/** An endpoint that accepts calls. */
export interface Service {
  host: Host
  open(socket: FrameSocket, token: string | null): void
  serve(asked: Asked, answer: SentAnswer): Promise<Told>
}

/** The active faults. Values are probabilities for each message unless noted otherwise. */
export interface NetworkFaults {
  latency_ms_max: number
  /** Probability that a frame that only carries news is lost. */
  lose: number
  repeat: number
  reorder: number
  /** Probabilities that a call never arrives, and that its response is cut off before or after it was written. */
  call_lost: number
  answer_lost: number
  /** Probability that writing a response takes long, as for a client that reads slowly. */
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

/** Maximum silence of a connection after a response before it carries the next call or is closed. */
const SILENT_MS_MAX = 10_000

/** Direction of a message, seen from a host. */
export type Way = 'out' | 'in'

/** The response may have been sent, but never arrived. */
export class AnswerLost extends Error {}

export class Network {
  faults: NetworkFaults = CALM
  private service: Service | null = null
  /** Hosts that cannot send, cannot receive, or both. One host may be partitioned several times at once. */
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
      // The operating system accepts connections for a stopped process.
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

  /** Rejects with `hub_unreachable` if the request was not sent, and with AnswerLost if its outcome is unknown. */
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
      /** The other end is notified when its process runs; its operating system receives the data at once. */
      let hear: (fate: Fate) => void = () => {}
      const giveUp = (why: string) => {
        if (open) hear('lost')
        end(() => reject(new AnswerLost(why)))
      }
      const patience = this.world.timeline.at(timeout_ms, () => giveUp('no answer in time'))
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
          const answer = playedAnswer()
          const cut = dice.chance(this.faults.answer_lost) ? dice.pick(['before', 'after']) : 'never'
          const write = (told: Told) => {
            if (!service.host.alive) return
            if (!open || !from.alive || cut === 'before') {
              answer.becomes('broken')
              return end(() => reject(new AnswerLost('cut before the answer was written')))
            }
            answer.becomes('written')
            hear = (fate) => service.host.act(() => answer.becomes(fate))
            asked.written?.()
            // Data handed to the other operating system arrives even if the hub ends before.
            this.later(from, 'in', () => {
              if (!open) return
              if (!from.alive || cut === 'after') return giveUp('cut on its way')
              let unread = true
              if (!from.awake) {
                from.onEnd(() => {
                  if (unread) hear('lost')
                })
              }
              end(() => {
                unread = false
                asked.arrived?.(told)
                resolve(told)
                this.world.timeline.at(dice.between(0, SILENT_MS_MAX), () => hear('received'))
              })
            })
          }
          void service.serve(asked, answer).then((told) => {
            const slow_ms = dice.chance(this.faults.answer_slow) ? dice.between(1, SLOW_ANSWER_MS_MAX) : 0
            if (slow_ms === 0) write(told)
            else this.world.timeline.at(slow_ms, () => service.host.act(() => write(told)))
          })
        })
      })
    })
  }

  /** Blocks these directions without notifying either end, until the returned function is called. */
  part(host: Host, ways: readonly Way[]): () => void {
    const parting = { host, ways }
    this.parted.add(parting)
    return () => {
      if (this.parted.delete(parting)) this.letThrough()
    }
  }

  /** Ends all partitions. */
  heal(): void {
    this.parted.clear()
    this.letThrough()
  }

  /** Delivers everything that was held up, in order, before later messages. */
  private letThrough(): void {
    for (const one of this.held.splice(0)) this.cross(one.host, one.way, one.call)
  }

  private isParted(host: Host, way: Way): boolean {
    for (const parting of this.parted) if (parting.host === host && parting.ways.includes(way)) return true
    return false
  }

  /** Cuts the links of a host and notifies both ends. */
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

  /** Carries a message between the hub and this host. */
  later(host: Host, way: Way, call: () => void): void {
    this.world.timeline.at(this.latency(), () => this.cross(host, way, call))
  }

  /** Carries one message on a connection, after earlier ones. `arrives` is called when it has arrived, read or not. */
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

  /** Delivers now, or after the partition ends. */
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
        // Messages of the next moments overtake it.
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

/** Frames that a hub sends without a request. */
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
      // Like `ws`: emits the error, then the close.
      if (this.listenerCount('error') > 0) this.emit('error', new Error(why))
      this.ended(ABNORMAL, '')
    })
  }

  told(text: string): void {
    if (this.readyState === SOCKET.open) this.emit('message', Buffer.from(text), false)
  }

  /** Closes the socket because its process ended. */
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
    // Like `ws`: frames that arrived before are handled first, including their promises.
    const told = Buffer.from(reason)
    this.network.soon(() => this.host.act(() => this.emit('close', code, told)))
  }
}
