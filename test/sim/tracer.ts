/** Runs one simulation on a worker thread and posts each step to `main.ts`. */
import { parentPort, workerData } from 'node:worker_threads'
import type { SimulationOptions, SimulationResult } from './simulate.ts'
import { simulateWatched } from './promises/watched.ts'

export type Traced = { step: number; action: string; now: number } | { result: SimulationResult }

// Deep stacks help to find the cause.
Error.stackTraceLimit = 50
process.setSourceMapsEnabled(true)

const tell = (traced: Traced) => parentPort?.postMessage(traced)
const onStep = (step: number, action: string, now: number) => tell({ step, action, now })
tell({ result: await simulateWatched({ ...(workerData as SimulationOptions), onStep }) })
