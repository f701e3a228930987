/** The stdio pipe from a simulated client to its worker: in order, and kept while the worker is replaced. */
import type { HookOutput, WorkerCall } from '../../../../adapters/claude-code/worker.ts'
import type { Drain } from '../../../../adapters/claude-code/unconfirmed-drains.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { pause as takes } from '../../../../src/ports/pause.ts'
import type { FakeClock } from '../fake-clock.ts'
import type { SimulatedWorker } from './simulated-worker.ts'

export interface PipeWorld {
  clock: FakeClock
  latency_ms: () => number
  /** The client has given up the call whose result this drain is. */
  unread: (drain_id: string) => void
}

interface Patience {
  signal: AbortSignal
  ms: number
}

/** Timeout of a tool call, as in the plugin. */
const CALL_MS = 8_000
/** Time until the client has read a response. */
const PIPE_MS = 1
const TURN_EVENT = 'turn_event'
const DRAIN = 'signals_pending'

export class SimulatedPipe {
  private readonly world: PipeWorld
  private worker: SimulatedWorker | null = null
  private waiting: ((worker: SimulatedWorker) => void)[] = []
  private free_at_ms = 0

  constructor(world: PipeWorld) {
    this.world = world
  }

  connect(worker: SimulatedWorker): void {
    this.worker = worker
    for (const deliver of this.waiting.splice(0)) deliver(worker)
  }

  disconnect(): void {
    this.worker = null
  }

  hook(fields: Record<string, string>, signal: AbortSignal): Promise<HookOutput | null> {
    return this.call(
      { name: TURN_EVENT, args: fields, meta: {} },
      { signal, ms: LIMITS.hook_timeout_ms },
      async (worker, call) => {
        const output = await worker.hook(call)
        await takes(this.world.clock, PIPE_MS)
        return output
      },
    )
  }

  drain(tool_use_id: string, signal: AbortSignal): Promise<Drain | null> {
    const meta = { 'claudecode/toolUseId': tool_use_id }
    let given_up = false
    const answered = this.call(
      { name: DRAIN, args: {}, meta },
      { signal, ms: CALL_MS },
      async (worker, call) => {
        const drain = await worker.drain(call)
        await takes(this.world.clock, PIPE_MS)
        if (drain !== null && (given_up || !worker.alive)) this.world.unread(drain.drain_id)
        return drain
      },
    )
    void answered.then((drain) => void (given_up = drain === null))
    return answered
  }

  /** Resolves with null if the call was lost, aborted or too late. */
  private call<T>(
    request: Omit<WorkerCall, 'signal'>,
    { signal, ms }: Patience,
    answer: (worker: SimulatedWorker, call: WorkerCall) => Promise<T | null>,
  ): Promise<T | null> {
    const { clock } = this.world
    const cancelled = new AbortController()
    const deliver = (worker: SimulatedWorker) =>
      answer(worker, { ...request, signal: cancelled.signal }).catch(() => null)
    return new Promise((resolve) => {
      const giveUp = () => {
        cancelled.abort()
        timeout.cancel()
        resolve(null)
      }
      const timeout = clock.after(ms, giveUp)
      signal.addEventListener('abort', giveUp, { once: true })
      this.send((worker) => {
        void deliver(worker).then((result) => {
          // The response of a worker that was killed is lost.
          if (!worker.alive) return
          timeout.cancel()
          signal.removeEventListener('abort', giveUp)
          resolve(result)
        })
      })
    })
  }

  private send(deliver: (worker: SimulatedWorker) => void): void {
    const { clock, latency_ms } = this.world
    this.free_at_ms = Math.max(this.free_at_ms, clock.monotonic() + latency_ms())
    clock.after(this.free_at_ms - clock.monotonic(), () => {
      if (this.worker === null) this.waiting.push(deliver)
      else deliver(this.worker)
    })
  }
}
