/** The requests to the session's worker, and the epoch in which it knows the module. */
import type { EngineResponse } from './engine.ts'
import type { EventQueue } from './event-queue.ts'
import type { Hello, HelloAnswer, WaitAnswer } from './messages.ts'

export interface WorkerClientDeps {
  /** Returns the path of the worker's socket, or null before a worker serves one. */
  locate: () => Promise<string | null>
  post: (socket: string, request: 'hello' | 'events' | 'wait', body: object) => Promise<EngineResponse>
  hello: () => Promise<Hello>
  queue: EventQueue
}

/** `on`: everything that waited is sent. Otherwise the worker wants nothing, for the named reason. */
export type Delivery = 'on' | 'protocol' | 'configured' | 'headless'

export interface WorkerClient {
  /**
   * Finds and greets the worker, if necessary, and sends everything that waits; one batch even if nothing waits.
   * Rejects if that failed; the next call looks for the worker again.
   */
  deliver: () => Promise<Delivery>
  /** Null until the worker was greeted. */
  epoch: () => string | null
  /** Resolves with a doorbell or another view, or after some seconds. Rejects if the worker does not answer, or does not know the epoch. */
  wait: () => Promise<WaitAnswer>
  /** The next call looks for the worker again, because another one may have another socket. */
  disconnect: () => void
}

export function createWorkerClient({ locate, post, hello, queue }: WorkerClientDeps): WorkerClient {
  let socket: string | null = null
  let epoch: string | null = null
  /** Version of the worker's view on the screen; 0 if the screen may have been cleared. */
  let view = 0

  async function greet(to: string): Promise<Delivery> {
    const answer = parsed<HelloAnswer>(await post(to, 'hello', await hello()))
    epoch = answer.mode === 'on' ? answer.epoch : null
    queue.setContent(answer.mode === 'on' && answer.content === true)
    queue.renumber()
    view = 0
    return answer.mode === 'on' ? 'on' : answer.reason
  }

  /** Returns false if the worker does not know the epoch. */
  async function sendAll(to: string, of: string): Promise<boolean> {
    do {
      const { status } = await post(to, 'events', queue.batch(of))
      if (status === 409) return false
      // A batch that the worker cannot read is dropped, because the later ones would wait behind it.
      if (status >= 400 && status < 500) queue.rejected()
      else if (status !== 200) throw new Error(`events: status ${status}`)
      else queue.sent()
    } while (queue.waiting() > 0)
    return true
  }

  async function deliver(): Promise<Delivery> {
    const to = (socket ??= await locate())
    if (to === null) throw new Error('no worker')
    if (epoch !== null && (await sendAll(to, epoch))) return 'on'
    // The first greeting, or the worker was replaced.
    const delivery = await greet(to)
    if (epoch === null) return delivery
    if (!(await sendAll(to, epoch))) throw new Error('the worker does not know its own epoch')
    return 'on'
  }

  function disconnect(): void {
    socket = null
    view = 0
  }

  return {
    async deliver() {
      try {
        return await deliver()
      } catch (error) {
        disconnect()
        throw error
      }
    },
    epoch: () => epoch,
    async wait() {
      if (socket === null || epoch === null) throw new Error('no worker')
      const of = epoch
      const answer = parsed<WaitAnswer>(await post(socket, 'wait', { epoch: of, holds: queue.bells(), view }))
      if (of === epoch) view = answer.view?.version ?? view
      return answer
    },
    disconnect,
  }
}

function parsed<T>({ status, text }: EngineResponse): T {
  if (status !== 200) throw new Error(`status ${status}`)
  return JSON.parse(text) as T
}
