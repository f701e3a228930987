/** Runs simulations on a thread of its own, one at a time. Speaks with `pool.ts`. */
import { parentPort } from 'node:worker_threads'
import { simulate, type SimulationOptions } from './simulate.ts'

parentPort?.on('message', (options: SimulationOptions) => {
  void simulate(options).then((result) => parentPort?.postMessage(result))
})
