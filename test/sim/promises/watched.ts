/** Runs a simulation and also reports failures of promises that no code awaits. */
import { asViolation } from './excuses.ts'
import { simulate, type SimulationOptions, type SimulationResult } from '../simulate.ts'

/** Unhandled rejections and uncaught exceptions. */
const left: unknown[] = []
process.on('unhandledRejection', (error) => left.push(error))

/** Only one simulation runs at a time on a thread, because the source of an unhandled rejection would be ambiguous. */
export async function simulateWatched(options: SimulationOptions): Promise<SimulationResult> {
  left.length = 0
  const result = await simulate(options)
  // Node reports unhandled rejections in the next tick of the event loop.
  await new Promise<void>((resolve) => setImmediate(resolve))
  const [error] = left
  if (error === undefined || result.broken !== null) return result
  const { promise, message } = asViolation(error)
  return { ...result, broken: { promise, detail: message, step: options.steps } }
}
