/** Simulations on several threads. */
import { Worker } from 'node:worker_threads'
import type { SimulationOptions, SimulationResult } from './simulate.ts'

/** What a simulation throws away is mostly gone before the first look at it. */
const YOUNG_MIB = 64

export interface Pool {
  /** Waits for a free thread. Rejects when the thread breaks, which no simulation may cause. */
  run(options: SimulationOptions): Promise<SimulationResult>
  close(): Promise<void>
}

export function openPool(worker_file: string, threads: number): Pool {
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MIB }
  const all = Array.from({ length: threads }, () => new Worker(worker_file, { resourceLimits }))
  const free = [...all]
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
  return {
    async run(options) {
      const worker = await take()
      try {
        return await new Promise<SimulationResult>((resolve, reject) => {
          worker.removeAllListeners()
          worker.once('error', reject)
          worker.once('message', resolve)
          worker.postMessage(options)
        })
      } finally {
        giveBack(worker)
      }
    },
    async close() {
      await Promise.all(all.map((worker) => worker.terminate()))
    },
  }
}
