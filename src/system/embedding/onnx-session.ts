/** ONNX session in a worker thread. See `onnx-worker.js`. */
import { Worker } from 'node:worker_threads'

/** Integer matrix. */
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
  /** False after its thread has ended. */
  alive(): boolean
  /** Rejects with the error of the runtime. */
  run(feeds: Readonly<Record<string, Feed>>, output: string): Promise<Output>
  close(): Promise<void>
}

/** `runtime` is the URL of onnxruntime-node, `network` the path of a model. */
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
    // Next to this file, and next to the bundle that contains this file.
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
        // The worker keeps the process alive only while it computes.
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
          // A caller waits for this.
          worker.ref()
          worker.postMessage({ id, feeds, output })
        }),
      async close() {
        await worker.terminate()
      },
    })
  })
