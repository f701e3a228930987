/**
 * The recorded calls together with the states between them: everything that is needed to judge the state after a crash.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Observed } from './observe.ts'
import { RecordedFiles } from './recorded-files.ts'
import { placesIn } from './setting.ts'
import { readTrace, type Trace } from './trace.ts'

export interface Receipt {
  /** Name of the answered request. */
  name: string
  signal_id: string
  seq: number
  key?: { from: string; key: string }
}

/** One step; steps do not overlap. */
export interface Step {
  what: string
  /** Names of its requests in the marks. */
  names: string[]
  /** The state after the step. */
  truth: Observed
  /** The highest seq of an event that a client had received. */
  event_seq: number
}

export interface Told {
  root: string
  steps: Step[]
  receipts: Receipt[]
  operator_token: string
  /** The hub's time at the start. */
  now_ms: number
}

export interface Story extends Told {
  trace: Trace
}

const TRACE = 'trace.jsonl'
const TOLD = 'told.json'

export const traceIn = (directory: string): string => path.join(directory, TRACE)

export function keepTold(directory: string, told: Told): void {
  fs.writeFileSync(path.join(directory, TOLD), JSON.stringify(told))
}

export const isStory = (directory: string): boolean => fs.existsSync(path.join(directory, TOLD))

export function readStory(directory: string): Story {
  const told = JSON.parse(fs.readFileSync(path.join(directory, TOLD), 'utf8')) as Told
  return { ...told, trace: readTrace(traceIn(directory)) }
}

/** The files before the first call: an empty project. */
export function beginningOf({ root }: Story): RecordedFiles {
  return new RecordedFiles(root, new Map([[placesIn(root).project, 'directory']]))
}

/** The states that are allowed after a crash at this call. */
export interface Bounds {
  /** The last step whose requests were all answered; -1 before the first. */
  done: number
  /** The step that has begun, or null. */
  begun: number | null
  answered: ReadonlySet<string>
  now_ms: number
}

export function boundsAfter({ steps, trace, now_ms }: Story, calls: number): Bounds {
  const past = trace.marks.filter(({ after }) => after <= calls)
  const names = (said: 'asked' | 'answered') =>
    new Set(past.filter(({ mark }) => mark === said).map(({ name }) => name))
  const [asked, answered] = [names('asked'), names('answered')]
  let done = -1
  while (done + 1 < steps.length && steps[done + 1]?.names.every((name) => answered.has(name)) === true)
    done += 1
  const next = steps[done + 1]
  const begun = next?.names.some((name) => asked.has(name)) === true ? done + 1 : null
  return { done, begun, answered, now_ms: Math.max(now_ms, ...past.map((mark) => mark.now_ms)) }
}
