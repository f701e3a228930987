/** A network that is open for questions, on a thread of its own. See `onnx-worker.js`. */
import { Worker } from 'node:worker_threads'

/** Whole numbers, laid out in rows. */
export interface Feed {
  data: BigInt64Array
  dims: readonly number[]
}

export interface Output {
  data: Float32Array
  dims: readonly number[]
}

export interface Session {
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /** False once its thread has ended, for whatever reason. */
  alive(): boolean
  /** Rejects with what the runtime says. */
  run(feeds: Readonly<Record<string, Feed>>, output: string): Promise<Output>
  close(): Promise<void>
}

/** `runtime` is the address of the module onnxruntime-node, `network` the path of a model. */
export type OpenSession = (at: { runtime: string; network: string }) => Promise<Session>

type Answer =
  | { id?: undefined; failed?: undefined; inputs: string[]; outputs: string[] }
  | { id: number; failed?: undefined; data: Float32Array; dims: number[] }
  | { id?: number; failed: string }

interface Waiting {
  resolve: (output: Output) => void
  reject: (error: Error) => void
}

export const openSession: OpenSession = (at) =>
  new Promise((resolve, reject) => {
    // Beside this file, and beside the bundle that this file becomes part of.
    const worker = new Worker(new URL('./onnx-worker.js', import.meta.url), { workerData: at })
    const waiting = new Map<number, Waiting>()
    let next = 0
    let alive = true

    function end(error: Error): void {
      alive = false
      reject(error)
      for (const one of waiting.values()) one.reject(error)
      waiting.clear()
    }

    worker.on('error', (error) => end(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => end(new Error('the thread of the model has ended')))
    worker.on('message', (answer: Answer) => {
      if (answer.id === undefined) {
        // From now on it is waited for only while it computes: who closes the hub need not think of it.
        worker.unref()
        if (answer.failed === undefined) resolve(session(answer.inputs, answer.outputs))
        else end(new Error(answer.failed))
        return
      }
      const one = waiting.get(answer.id)
      waiting.delete(answer.id)
      if (waiting.size === 0) worker.unref()
      if (answer.failed === undefined) one?.resolve(answer)
      else one?.reject(new Error(answer.failed))
    })

    const session = (inputs: string[], outputs: string[]): Session => ({
      inputs,
      outputs,
      alive: () => alive,
      run: (feeds, output) =>
        new Promise((answered, failed) => {
          if (!alive) return failed(new Error('the thread of the model has ended'))
          const id = next++
          waiting.set(id, { resolve: answered, reject: failed })
          // Somebody waits for this.
          worker.ref()
          worker.postMessage({ id, feeds, output })
        }),
      async close() {
        await worker.terminate()
      },
    })
  })
