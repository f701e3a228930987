/**
 * Runs: shared knowledge of all agents of a hub. Any caller may read a run and continue it; the event of each change
 * contains the real caller.
 */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { LogEventInput } from '../../contracts/runs/run-events.ts'
import type {
  AssumptionsAnswer,
  AssumptionsInput,
  CheckpointInput,
  CompleteRunInput,
  ContextPack,
  ContextPackInput,
  CreateRunInput,
  ListRunsInput,
  PromptScore,
  ReadRunInput,
  Run,
  RunEventView,
  RunPage,
  Trace,
  TraceInput,
} from '../../contracts/runs/runs.ts'
import { requireSender } from '../lib/caller-guards.ts'
import { createHubRecords } from '../lib/hub-records.ts'
import { createSerialQueue } from '../../ports/serial-queue.ts'
import { truncateToBytes } from '../lib/truncate-to-bytes.ts'
import type { ModuleContext } from '../module-context.ts'
import { driftOf } from './assumptions.ts'
import { packOf } from './context-pack.ts'
import { scorePrompt } from './prompt-score.ts'
import { RUNS } from './record-codec.ts'
import {
  changeRunAssumptions,
  completeRun,
  createRun,
  findRun,
  publish,
  setCheckpoint,
  type CheckpointSet,
  type RunCall,
  type RunStore,
} from './run-changes.ts'
import { eventsOfRun } from './run-events.ts'
import { summaryOf } from './summary.ts'
import { parentsOf, traceOf } from './trace.ts'

/** Every method may throw `run_unknown`; every change also `kind_forbidden`, `limit_reached` and `store_unavailable`. */
export interface Runs {
  /** Throws `run_completed` if the parent run is completed. */
  create(call: RunCall, input: CreateRunInput): Promise<Run>
  read(call: RunCall, input: ReadRunInput): Promise<{ run: Run; events: RunEventView[] }>
  /** Newest first. */
  list(call: RunCall, input: ListRunsInput): Promise<RunPage>
  /** Idempotent for the same outcome. Throws `run_completed` for another outcome, `params_invalid`. */
  complete(call: RunCall, input: CompleteRunInput): Promise<Run>
  /** Also for a completed run. Throws `params_invalid`. */
  logEvent(call: RunCall, input: LogEventInput): Promise<{ seq: number; timestamp: string }>
  /** Throws `run_completed`, `params_invalid`. */
  checkpoint(call: RunCall, input: CheckpointInput): Promise<CheckpointSet>
  contextPack(call: RunCall, input: ContextPackInput): Promise<ContextPack>
  /** Throws `params_invalid` for an unknown assumption, `run_completed` for a change of a completed run. */
  assumptions(call: RunCall, input: AssumptionsInput): Promise<AssumptionsAnswer>
  trace(call: RunCall, input: TraceInput): Promise<Trace>
  /** See `prompt-score.ts`. */
  scorePrompt(prompt: string): PromptScore
}

export type RunDeps = Pick<ModuleContext, 'hub_records' | 'events' | 'clock' | 'ids' | 'log'>

export function createRuns({ hub_records, events, clock, ids, log }: RunDeps): Runs {
  const records = createHubRecords({ records: hub_records, clock, log }, RUNS)
  const store: RunStore = { records, events, clock, ids }
  const enqueue = createSerialQueue()
  const change = <T>(call: RunCall, verb: string, apply: () => Promise<T>): Promise<T> => {
    requireSender(call.caller, verb)
    return enqueue(apply)
  }

  return {
    create: (call, input) => change(call, 'create a run', () => createRun(store, call, input)),
    complete: (call, input) => change(call, 'complete a run', () => completeRun(store, call, input)),
    checkpoint: (call, input) => change(call, 'set a checkpoint', () => setCheckpoint(store, call, input)),

    async assumptions(call, input) {
      const { run_id, add, hold } = input
      if (add.length + hold.length + input.break.length === 0) return driftOf(await findRun(store, run_id))
      return change(call, 'change assumptions', () => changeRunAssumptions(store, call, input))
    },

    async logEvent(call, { run_id, type, data }) {
      requireSender(call.caller, 'log in a run')
      await findRun(store, run_id)
      const { seq, timestamp: at } = publish(store, call, run_id, type, data ?? {})
      return { seq, timestamp: at }
    },

    async read(_, { run_id, events: wanted }) {
      const run = await findRun(store, run_id)
      const newest = eventsOfRun(events, run_id, wanted).reverse()
      return { run, events: truncateToBytes(newest, LIMITS.answer_list_bytes_max).reverse() }
    },

    async list(_, { status, agent_id, before, limit }) {
      const runs = (await records.list())
        .filter((run) => status === undefined || run.status === status)
        .filter((run) => agent_id === undefined || run.agent_id === agent_id)
        .filter((run) => before === undefined || run.run_id < before)
        .reverse()
      const page = truncateToBytes(runs.slice(0, limit).map(summaryOf), LIMITS.answer_list_bytes_max)
      const next = page.length < runs.length ? (page.at(-1)?.run_id ?? null) : null
      return { runs: page, next }
    },

    async contextPack(_, { run_id, max_tokens }) {
      const run = await findRun(store, run_id)
      const parents = await parentsOf(run, (id) => records.get(id))
      const newest = eventsOfRun(events, run_id, LIMITS.run_events_default)
      return packOf({ run, parents, events: newest }, max_tokens)
    },

    async trace(_, { run_id, depth }) {
      return await traceOf(await findRun(store, run_id), depth, (id) => records.get(id))
    },

    scorePrompt,
  }
}
