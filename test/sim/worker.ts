/** Runs simulations on a worker thread, one at a time. Communicates with `pool.ts`. */
import { parentPort } from 'node:worker_threads'
import type { SimulationOptions } from './simulate.ts'
import { simulateWatched } from './promises/watched.ts'

// Faults create thousands of errors, and a stack costs more than the error. A single run with --trace has full stacks.
Error.stackTraceLimit = 4
// The bundle is removed before a stack trace is read.
process.setSourceMapsEnabled(true)

parentPort?.on('message', (options: SimulationOptions) => {
  void simulateWatched(options).then((result) => parentPort?.postMessage(result))
})
