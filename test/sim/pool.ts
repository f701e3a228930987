/**
 * Runs simulations on several threads. `npm run sim` and `npm run mutants` restrict V8's garbage collection to these
 * threads, because helper threads would take the cores from them. They also make V8 compile each function on its first
 * call and keep the result, because the work is spread over a thousand functions. This saves a tenth to a seventh of
 * the time.
 */
import { Worker } from 'node:worker_threads'
import type { SimulationOptions, SimulationResult } from './simulate.ts'

/** Size of the young generation. Most garbage of a simulation is unreachable before the first collection. */
const YOUNG_MIB = 64
/** Real-time limit after which a run counts as hanging; 2,000 steps take a few seconds. */
const STANDS_STILL_MS = 10 * 60_000
const STANDS_STILL_MS_A_STEP = 300
/** Exit code that Node reports for a thread that has ended. */
const GONE = -1

export interface Pool {
  /**
   * Waits for a free thread. A crash or hang counts as a broken promise of that run. Because the step of a hang is
   * unknown, it is reported as step 0.
   */
  run(options: SimulationOptions): Promise<SimulationResult>
  close(): Promise<void>
}

/** In milliseconds. */
const longest = (steps: number) => Math.max(STANDS_STILL_MS, steps * STANDS_STILL_MS_A_STEP)

export function openPool(worker_file: string, threads: number, longestOf = longest): Pool {
  const begin = () => new Worker(worker_file, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB } })
  const all = new Set(Array.from({ length: threads }, begin))
  const free = [...all]
  let closed = false
  const waiting: ((worker: Worker) => void)[] = []
  const take = () =>
    new Promise<Worker>((resolve) => {
      const worker = free.pop()
      if (worker === undefined) waiting.push(resolve)
      else resolve(worker)
    })
  const giveBack = (worker: Worker) => {
    const next = waiting.shift()
    if (next === undefined) free.push(worker)
    else next(worker)
  }
  const another = (former: Worker): Worker => {
    all.delete(former)
    void former.terminate()
    const worker = begin()
    all.add(worker)
    return worker
  }
  return {
    async run(options) {
      const worker = await take()
      const { steps } = options
      if (worker.threadId === GONE) {
        // The exception belongs to an earlier run on this thread.
        giveBack(another(worker))
        return dead(options, 'nothing breaks', 'its thread ended after a run before it', 0)
      }
      let patience: NodeJS.Timeout | undefined
      let lives = true
      const result = await new Promise<SimulationResult>((resolve) => {
        let answered = false
        const dies = (promise: string, why: string, step: number) => {
          // The next run reports it, also if the result and the exit arrive in the same tick of the event loop.
          if (answered) return
          lives = false
          resolve(dead(options, promise, why, step))
        }
        patience = setTimeout(() => dies('every run ends', 'it comes to no end', 0), longestOf(steps))
        worker.removeAllListeners()
        worker.once('error', (error) => dies('nothing breaks', `its thread ended by ${String(error)}`, steps))
        worker.once('exit', (code) => {
          if (!closed) dies('nothing breaks', `its thread ended with ${code}`, steps)
        })
        worker.once('message', (told: SimulationResult) => {
          answered = true
          resolve(told)
        })
        worker.postMessage(options)
      })
      clearTimeout(patience)
      giveBack(lives ? worker : another(worker))
      return result
    },
    async close() {
      closed = true
      await Promise.all([...all].map((worker) => worker.terminate()))
    },
  }
}

/** Result of a run whose thread did not report one. */
function dead(
  { seed, steps }: SimulationOptions,
  promise: string,
  why: string,
  step: number,
): SimulationResult {
  return { seed, steps, broken: { promise, detail: `${promise}: ${why}`, step }, counts: {} }
}
