/** Runs one simulation on a thread of its own, and tells of each step. Speaks with `main.ts`. */
import { parentPort, workerData } from 'node:worker_threads'
import type { SimulationOptions, SimulationResult } from './simulate.ts'
import { simulateWatched } from './watched.ts'

export type Traced = { step: number; action: string; now: number } | { result: SimulationResult }

// As long as anybody who looks for a reason may want them.
Error.stackTraceLimit = 50
process.setSourceMapsEnabled(true)

const tell = (traced: Traced) => parentPort?.postMessage(traced)
const onStep = (step: number, action: string, now: number) => tell({ step, action, now })
tell({ result: await simulateWatched({ ...(workerData as SimulationOptions), onStep }) })
