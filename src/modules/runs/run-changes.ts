/** Changes of runs. Each is decided on the stored run and written before its events are published. */
import { isDeepStrictEqual } from 'node:util'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { HubEvent } from '../../contracts/events.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type {
  AssumptionsAnswer,
  AssumptionsInput,
  CheckpointInput,
  CompleteRunInput,
  CreateRunInput,
  Outcome,
  Run,
} from '../../contracts/runs/runs.ts'
import { truncate } from '../../contracts/text/truncate.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'
import { callingAgent } from '../lib/calling-agent.ts'
import { defined } from '../lib/defined.ts'
import { checkEventData } from '../lib/event-data.ts'
import type { TypedRecords } from '../lib/typed-records.ts'
import type { ModuleContext } from '../module-context.ts'
import { changeAssumptions, driftOf } from './assumptions.ts'
import { publishRunEvent } from './run-events.ts'
import { summaryOf } from './summary.ts'

/** The caller, and the agent name that it gives. */
export interface RunCall {
  caller: Caller
  context: { agent_id: string }
}

export interface RunStore extends Pick<ModuleContext, 'events' | 'clock' | 'ids'> {
  records: TypedRecords<Run>
}

export interface CheckpointSet {
  run_id: string
  at: string
  checkpoints: number
}

/** Length of a text in an event; in any alphabet it fits into the bounds of an event. */
const EVENT_TEXT_LENGTH = 500

/** Throws `run_unknown`. */
export async function findRun({ records }: RunStore, run_id: string): Promise<Run> {
  const run = await records.get(run_id)
  if (run !== null) return run
  throw new TurnbellError('run_unknown', { detail: `There is no run ${run_id}.` })
}

export function publish(
  { events }: RunStore,
  call: RunCall,
  run_id: string,
  type: string,
  data: Record<string, Json>,
): HubEvent {
  const author = { run_id, agent_id: callingAgent(call), identity: call.caller.identity }
  return publishRunEvent(events, author, type, data)
}

export async function createRun(
  store: RunStore,
  call: RunCall,
  { prompt, delegated_by, assumptions }: CreateRunInput,
): Promise<Run> {
  const parent = delegated_by === undefined ? null : assertOpen(await findRun(store, delegated_by.run_id))
  const run: Run = {
    run_id: store.ids.next(),
    prompt,
    agent_id: callingAgent(call),
    status: 'open',
    created_at: timestamp(store.clock),
    ...(delegated_by === undefined ? {} : { delegated_by }),
    completed_at: null,
    delegated_to: [],
    checkpoints: [],
    checkpoints_dropped: 0,
    assumptions: changeAssumptions([], { add: assumptions, hold: [], break: [] }).assumptions,
  }
  const { agent_id, run_id } = run
  const sender = parent === null ? null : withDelegate(parent, { agent_id, run_id })
  // The delegate is stored first: after a crash in between it still knows its parent.
  await store.records.put(bounded(run))
  if (sender !== null) await store.records.put(sender)
  const task = summaryOf(run).prompt
  publish(store, call, run_id, 'run_created', { prompt: task })
  if (sender !== null && delegated_by !== undefined) {
    publish(store, call, sender.run_id, 'delegation_sent', { target_agent: agent_id, task, run_id })
    publish(store, call, run_id, 'delegation_received', {
      source_agent: delegated_by.agent_id,
      task,
      run_id: sender.run_id,
    })
  }
  return run
}

export async function completeRun(
  store: RunStore,
  call: RunCall,
  { run_id, success, summary, data }: CompleteRunInput,
): Promise<Run> {
  checkEventData(data)
  const before = await findRun(store, run_id)
  const outcome = { success, ...defined({ summary, data }) }
  if (before.status === 'completed') return assertSameOutcome(before, outcome)
  const run = bounded({ ...before, status: 'completed', completed_at: timestamp(store.clock), outcome })
  await store.records.put(run)
  const text = truncate(summary ?? (success ? 'done' : 'failed'), EVENT_TEXT_LENGTH)
  publish(store, call, run_id, 'run_completed', { success, summary: text })
  if (run.delegated_by !== undefined) {
    publish(store, call, run.delegated_by.run_id, 'delegation_completed', {
      source_run_id: run_id,
      result_summary: text,
      success,
    })
  }
  return run
}

export async function setCheckpoint(
  store: RunStore,
  call: RunCall,
  { run_id, summary, data }: CheckpointInput,
): Promise<CheckpointSet> {
  checkEventData(data)
  const before = assertOpen(await findRun(store, run_id))
  const at = timestamp(store.clock)
  const [agent_id, { identity }] = [callingAgent(call), call.caller]
  const author = { agent_id, ...(identity === agent_id ? {} : { identity }) }
  const checkpoint = { at, ...author, summary, ...(data === undefined ? {} : { data }) }
  const run = bounded({ ...before, checkpoints: [...before.checkpoints, checkpoint] })
  await store.records.put(run)
  publish(store, call, run_id, 'checkpoint_set', { summary: truncate(summary, EVENT_TEXT_LENGTH) })
  return { run_id, at, checkpoints: run.checkpoints.length + run.checkpoints_dropped }
}

export async function changeRunAssumptions(
  store: RunStore,
  call: RunCall,
  input: AssumptionsInput,
): Promise<AssumptionsAnswer> {
  const { run_id } = input
  const before = assertOpen(await findRun(store, run_id))
  const { assumptions, changes } = changeAssumptions(before.assumptions, input)
  if (changes.length > 0) await store.records.put(bounded({ ...before, assumptions }))
  for (const { type, text } of changes) publish(store, call, run_id, type, { text })
  return driftOf({ run_id, assumptions })
}

function assertOpen(run: Run): Run {
  if (run.status === 'open') return run
  throw new TurnbellError('run_completed', {
    detail: `Run ${run.run_id} was completed${completionTime(run)} and cannot be changed.`,
  })
}

/** Completing is idempotent, because a client may have missed the response, but the outcome cannot be changed. */
function assertSameOutcome(run: Run, given: Outcome): Run {
  const first = run.outcome as Record<string, Json> | undefined
  if (Object.entries(given).every(([field, value]) => isDeepStrictEqual(first?.[field], value))) return run
  throw new TurnbellError('run_completed', {
    detail: `Run ${run.run_id} was already completed${completionTime(run)} with a different outcome.`,
    hint: 'Read it with `vector read_run`. Log later findings with `vector log_event`.',
  })
}

function completionTime({ completed_at }: Run): string {
  return completed_at === null ? '' : ` at ${completed_at}`
}

function withDelegate(run: Run, delegate: Run['delegated_to'][number]): Run {
  if (run.delegated_to.length >= LIMITS.run_delegations_max) {
    throw new TurnbellError('limit_reached', {
      detail: `Run ${run.run_id} has ${LIMITS.run_delegations_max} delegates, the maximum.`,
      hint: 'Create a separate run for the next part, and delegate from there.',
    })
  }
  return bounded({ ...run, delegated_to: [...run.delegated_to, delegate] })
}

/** Drops the oldest checkpoints, which are events as well, until the run fits. Throws `limit_reached`. */
function bounded(run: Run): Run {
  const dropped = Math.max(run.checkpoints.length - LIMITS.run_checkpoints_max, 0)
  let fitting = withoutOldest(run, dropped)
  while (bytesOf(fitting) > LIMITS.run_bytes_max && fitting.checkpoints.length > 1) {
    fitting = withoutOldest(fitting, 1)
  }
  const bytes = bytesOf(fitting)
  if (bytes <= LIMITS.run_bytes_max) return fitting
  throw new TurnbellError('limit_reached', {
    detail: `The run would have ${bytes} bytes; ${LIMITS.run_bytes_max} are allowed.`,
    hint: 'Write long text to a file or to shared memory, and refer to it.',
  })
}

function withoutOldest(run: Run, count: number): Run {
  if (count === 0) return run
  return {
    ...run,
    checkpoints: run.checkpoints.slice(count),
    checkpoints_dropped: run.checkpoints_dropped + count,
  }
}

function bytesOf(run: Run): number {
  return Buffer.byteLength(JSON.stringify(run))
}
