/** Runs simulations on a thread of its own, one at a time. Speaks with `pool.ts`. */
import { parentPort } from 'node:worker_threads'
import { simulate, type SimulationOptions } from './simulate.ts'
import { asViolation } from './excuses.ts'

// Faults make errors by the thousand, and a stack costs more than the error. A single run with --trace has them whole.
Error.stackTraceLimit = 4
// The bundle is gone by the time that somebody reads where it broke.
process.setSourceMapsEnabled(true)

/** What nobody waits for, and what went wrong with it. */
const left: unknown[] = []
process.on('unhandledRejection', (error) => left.push(error))

parentPort?.on('message', (options: SimulationOptions) => {
  void run(options).then((result) => parentPort?.postMessage(result))
})

async function run(options: SimulationOptions) {
  left.length = 0
  const result = await simulate(options)
  // Node tells of them in the next turn of the loop.
  await new Promise<void>((resolve) => setImmediate(resolve))
  const [error] = left
  if (error === undefined || result.broken !== null) return result
  const { promise, message } = asViolation(error)
  return { ...result, broken: { promise, detail: message, step: options.steps } }
}
