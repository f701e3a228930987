/** The simulated sockets of one machine: requests in both directions, in order, until either process ends. */
import { fromProblem, toProblem, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import type { LocalSockets, RpcHandlers, RpcParams, RpcPeer } from '../../../src/ports/rpc.ts'
import type { Host } from './host.ts'
import type { NetworkWorld } from './network.ts'

interface Listener {
  host: Host
  onPeer: (peer: RpcPeer) => RpcHandlers
  ends: Set<End>
}

const LATENCY_MS_MAX = 3

export class SimLocalSockets {
  private readonly listeners = new Map<string, Listener>()
  private readonly world: NetworkWorld

  constructor(world: NetworkWorld) {
    this.world = world
  }

  /** Returns the port as the daemon in this process receives it. */
  of(host: Host): LocalSockets {
    return {
      listen: ({ path }, onPeer) => {
        const listener: Listener = { host, onPeer, ends: new Set() }
        this.listeners.set(path, listener)
        const gone = () => {
          if (this.listeners.get(path) === listener) this.listeners.delete(path)
        }
        host.onEnd(gone)
        return Promise.resolve({
          isThere: () => true,
          stopAccepting: gone,
          close: async () => {
            gone()
            for (const end of listener.ends) end.close()
          },
        })
      },
    }
  }

  /** Returns null if no process listens. */
  connect(path: string, host: Host, handlersFor: (peer: RpcPeer) => RpcHandlers): RpcPeer | null {
    const listener = this.listeners.get(path)
    if (listener === undefined || !listener.host.alive) return null
    const near = new End(host, this.world)
    const far = new End(listener.host, this.world)
    near.other = far
    far.other = near
    listener.ends.add(far)
    near.handlers = handlersFor(near)
    listener.host.act(() => (far.handlers = listener.onPeer(far)))
    for (const end of [near, far]) end.host.onEnd(() => end.died())
    return near
  }
}

class End implements RpcPeer {
  readonly host: Host
  handlers: RpcHandlers | null = null
  other: End | null = null
  private open = true
  private last_arrival = 0
  private readonly waiting = new Set<(error: TurnbellError) => void>()
  private readonly world: NetworkWorld

  constructor(host: Host, world: NetworkWorld) {
    this.host = host
    this.world = world
  }

  request(method: string, params: RpcParams, timeout_ms: number): Promise<Json> {
    return new Promise((resolve, reject) => {
      const { other } = this
      if (!this.open || other === null) return reject(ended())
      const settle = (call: () => void) => {
        if (!this.waiting.delete(fail)) return
        timer.cancel()
        call()
      }
      const fail = (error: TurnbellError) => settle(() => reject(error))
      this.waiting.add(fail)
      const timer = this.host.clock.after(timeout_ms, () =>
        fail(new TurnbellError('timed_out', { detail: `no answer to ${method}` })),
      )
      const asked = structuredClone(params)
      this.carry(other, () => {
        // An exception is returned as an error response, as over the real sockets.
        const answer = new Promise<Json>((done) => done(other.answer(method, asked)))
        answer.then(
          (result) => other.carry(this, () => settle(() => resolve(structuredClone(result)))),
          (error: unknown) => {
            const problem = toProblem(error, 'simulation')
            if (!(error instanceof TurnbellError)) other.handlers?.onBug?.(error, 'simulation')
            other.carry(this, () => fail(fromProblem(problem)))
          },
        )
      })
    })
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.failAll()
    const { other } = this
    if (other !== null) this.carry(other, () => other.hungUp(), true)
  }

  /** Closes the connection after its process ended. Data sent before still arrives. */
  died(): void {
    const { other } = this
    if (this.open && other !== null) this.carry(other, () => other.hungUp(), true)
    this.open = false
  }

  /** Closes the connection because the other process ended. */
  hungUp(): void {
    if (!this.open) return
    this.open = false
    this.failAll()
    this.handlers?.onClose()
  }

  private answer(method: string, params: RpcParams): Json | Promise<Json> {
    if (this.handlers === null) throw ended()
    return this.handlers.onRequest(method, params)
  }

  private carry(to: End, call: () => void, last = false): void {
    const { timeline, dice } = this.world
    this.last_arrival = Math.max(this.last_arrival, timeline.now + dice.between(0, LATENCY_MS_MAX))
    to.host.reads(this.last_arrival - timeline.now, () => {
      if (to.open || last) to.host.act(call)
    })
  }

  private failAll(): void {
    for (const fail of [...this.waiting]) fail(ended())
  }
}

function ended(): TurnbellError {
  return new TurnbellError('daemon_unreachable', { detail: 'the connection ended' })
}
