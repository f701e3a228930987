/** Starts the hub's activity thread from its own bundle. */
import { Worker } from 'node:worker_threads'

/** `onEnd` is called once, also if the thread never ran. */
export function startActivityWorker<Message>(
  settings: object,
  on: { onMessage: (message: Message) => void; onEnd: (error: Error) => void },
): { post(request: object): void; end(): Promise<void> } {
  // Next to the bundle that contains this file.
  const worker = new Worker(new URL('./activity.js', import.meta.url), { workerData: settings })
  // The hub ends when its server has ended.
  worker.unref()
  let failed: Error | null = null
  worker.on('error', (error) => (failed = error instanceof Error ? error : new Error(String(error))))
  worker.on('exit', (code) => on.onEnd(failed ?? new Error(`it exited with code ${code}`)))
  worker.on('message', on.onMessage)
  return {
    post: (request) => worker.postMessage(request),
    async end() {
      await worker.terminate()
    },
  }
}
