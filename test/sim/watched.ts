/** A simulation in which what nobody waits for counts as well. */
import { asViolation } from './excuses.ts'
import { simulate, type SimulationOptions, type SimulationResult } from './simulate.ts'

/** What nobody waits for, and what went wrong with it. */
const left: unknown[] = []
process.on('unhandledRejection', (error) => left.push(error))

/** One at a time on a thread: of what is left over nobody could tell whose it is. */
export async function simulateWatched(options: SimulationOptions): Promise<SimulationResult> {
  left.length = 0
  const result = await simulate(options)
  // Node tells of them in the next turn of the loop.
  await new Promise<void>((resolve) => setImmediate(resolve))
  const [error] = left
  if (error === undefined || result.broken !== null) return result
  const { promise, message } = asViolation(error)
  return { ...result, broken: { promise, detail: message, step: options.steps } }
}
