/** Runs simulations on a thread of its own, one at a time. Speaks with `pool.ts`. */
import { parentPort } from 'node:worker_threads'
import { simulate, type SimulationOptions } from './simulate.ts'

// Faults make errors by the thousand, and a stack costs more than the error. A single run with --trace has them whole.
Error.stackTraceLimit = 4

parentPort?.on('message', (options: SimulationOptions) => {
  void simulate(options).then((result) => parentPort?.postMessage(result))
})
