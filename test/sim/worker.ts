/** Runs simulations on a thread of its own, one at a time. Speaks with `pool.ts`. */
import { parentPort } from 'node:worker_threads'
import type { SimulationOptions } from './simulate.ts'
import { simulateWatched } from './watched.ts'

// Faults make errors by the thousand, and a stack costs more than the error. A single run with --trace has them whole.
Error.stackTraceLimit = 4
// The bundle is gone by the time that somebody reads where it broke.
process.setSourceMapsEnabled(true)

parentPort?.on('message', (options: SimulationOptions) => {
  void simulateWatched(options).then((result) => parentPort?.postMessage(result))
})
