/** Runs one simulation on a thread of its own, and tells of each step. Speaks with `main.ts`. */
import { parentPort, workerData } from 'node:worker_threads'
import { simulate, type SimulationOptions, type SimulationResult } from './simulate.ts'

export type Traced = { step: number; action: string; now: number } | { result: SimulationResult }

// Places in the sources, for whoever looks for a reason.
process.setSourceMapsEnabled(true)
Error.stackTraceLimit = 50

const tell = (traced: Traced) => parentPort?.postMessage(traced)
const onStep = (step: number, action: string, now: number) => tell({ step, action, now })
tell({ result: await simulate({ ...(workerData as SimulationOptions), onStep }) })
