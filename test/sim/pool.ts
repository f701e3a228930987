/**
 * Simulations on several threads. `npm run sim` and `npm run mutants` ask V8 to collect garbage on these threads alone, as its
 * own would take the cores from them, and to compile each function when it is first called and keep it: the work is
 * spread over a thousand functions. A tenth to a seventh of the time.
 */
import { Worker } from 'node:worker_threads'
import type { SimulationOptions, SimulationResult } from './simulate.ts'

/** What a simulation throws away is mostly gone before the first look at it. */
const YOUNG_MIB = 64
/** Of real time; 2,000 steps take a few seconds. */
const STANDS_STILL_MS = 10 * 60_000
const STANDS_STILL_MS_A_STEP = 300
/** What Node says of a thread that has ended. */
const GONE = -1

export interface Pool {
  /**
   * Waits for a free thread. One that breaks, or comes to no end, breaks the promise of that very run; where the latter
   * happened nobody knows, which is told as step 0.
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
        // Whatever it was, a run before has left it behind.
        giveBack(another(worker))
        return dead(options, 'nothing breaks', 'its thread ended after a run before it', 0)
      }
      let patience: NodeJS.Timeout | undefined
      let lives = true
      const result = await new Promise<SimulationResult>((resolve) => {
        let answered = false
        const dies = (promise: string, why: string, step: number) => {
          // It is left to the next run to tell, also where the answer and the end come in one turn of the loop.
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

/** What is told of a run whose thread does not tell it. */
function dead(
  { seed, steps }: SimulationOptions,
  promise: string,
  why: string,
  step: number,
): SimulationResult {
  return { seed, steps, broken: { promise, detail: `${promise}: ${why}`, step }, counts: {} }
}
