/**
 * Runs as the rest of the hub sees them. A run is shared knowledge of the agents of a hub: whoever may call
 * may read it and go on with it. Who really called stands in the event of each change.
 */
import { isDeepStrictEqual } from 'node:util'
import { changeAssumptions, driftOf } from './assumptions.ts'
import { packOf } from './context-pack.ts'
import { scorePrompt } from './prompt-score.ts'
import { eventsOfRun, tellRunEvent } from './run-events.ts'
import { RUNS } from './shelf-form.ts'
import { beginning } from '../../contracts/beginning.ts'
import { summaryOf } from './summary.ts'
import { parentsOf, traceOf } from './trace.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { LogEventInput } from '../../contracts/run-events.ts'
import type {
  AssumptionsAnswer,
  AssumptionsInput,
  CheckpointInput,
  CompleteRunInput,
  ContextPack,
  ContextPackInput,
  CreateRunInput,
  ListRunsInput,
  Outcome,
  PromptScore,
  ReadRunInput,
  Run,
  RunEventView,
  RunPage,
  Trace,
  TraceInput,
} from '../../contracts/runs.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import { agentOf } from '../agent-of.ts'
import { checkEventData } from '../event-data.ts'
import { createShelf } from '../shelf.ts'
import { requireSpeaker } from '../signals/callers.ts'
import { shownTo } from '../signals/defang.ts'
import { createTurns } from '../turns.ts'
import { withinBytes } from '../within-bytes.ts'

/** Who calls, and as whom they say they do. */
export interface RunCall {
  caller: Caller
  context: { agent_id: string }
}

/** Everything may throw `run_unknown`; every change also `kind_forbidden`, `limit_reached` and `store_unavailable`. */
export interface Runs {
  /** Throws `run_completed` where the run it is a part of is over. */
  create(call: RunCall, input: CreateRunInput): Promise<Run>
  read(call: RunCall, input: ReadRunInput): Promise<{ run: Run; events: RunEventView[] }>
  /** Newest first. */
  list(call: RunCall, input: ListRunsInput): Promise<RunPage>
  /** Saying the same again changes nothing. Throws `run_completed` for another outcome, `params_invalid`. */
  complete(call: RunCall, input: CompleteRunInput): Promise<Run>
  /** Also of a run that is completed. Throws `params_invalid`. */
  logEvent(call: RunCall, input: LogEventInput): Promise<{ seq: number; timestamp: string }>
  /** Throws `run_completed`, `params_invalid`. */
  checkpoint(
    call: RunCall,
    input: CheckpointInput,
  ): Promise<{ run_id: string; at: string; checkpoints: number }>
  contextPack(call: RunCall, input: ContextPackInput): Promise<ContextPack>
  /** Throws `params_invalid` for an assumption that is not there, `run_completed` for a change. */
  assumptions(call: RunCall, input: AssumptionsInput): Promise<AssumptionsAnswer>
  trace(call: RunCall, input: TraceInput): Promise<Trace>
  /** See `prompt-score.ts`. */
  scorePrompt(prompt: string): PromptScore
}

export interface RunNeeds {
  records: RecordStore
  events: Pick<EventLog, 'append' | 'read'>
  clock: Clock
  ids: Ids
  log: Log
}

/** How much of a text an event repeats: it fits what an event takes in any alphabet. */
const TOLD_LENGTH = 500

export function createRuns(needs: RunNeeds): Runs {
  const { events, clock, ids } = needs
  const shelf = createShelf(needs, RUNS)
  const inTurn = createTurns()

  const tellerOf = (call: RunCall) => {
    const [agent_id, { identity }] = [agentOf(call), call.caller]
    return { agent_id, ...(identity === agent_id ? {} : { identity }) }
  }
  const tell = (call: RunCall, run_id: string, type: string, data: Record<string, Json>) =>
    tellRunEvent(events, { run_id, agent_id: agentOf(call), identity: call.caller.identity }, type, data)
  const find = async (run_id: string): Promise<Run> => {
    const run = await shelf.get(run_id)
    if (run !== null) return run
    throw new TurnbellError('run_unknown', { detail: `There is no run ${run_id}.` })
  }
  const change = <T>(call: RunCall, verb: string, what: () => Promise<T>): Promise<T> => {
    requireSpeaker(call.caller, verb)
    return inTurn(what)
  }

  return {
    create: (call, { prompt, delegated_by, assumptions }) =>
      change(call, 'create a run', async () => {
        const parent = delegated_by === undefined ? null : requireOpen(await find(delegated_by.run_id))
        const run: Run = {
          run_id: ids.next(),
          ...{ prompt, agent_id: agentOf(call), status: 'open', created_at: timestamp(clock) },
          ...(delegated_by === undefined ? {} : { delegated_by }),
          ...{ completed_at: null, delegated_to: [], checkpoints: [], checkpoints_dropped: 0 },
          assumptions: changeAssumptions([], { add: assumptions, hold: [], break: [] }).assumptions,
        }
        const { agent_id, run_id } = run
        const sender = parent === null ? null : withDelegate(parent, { agent_id, run_id })
        // The delegate first: a crash in between leaves a run that knows where it comes from.
        await shelf.put(bounded(run))
        if (sender !== null) await shelf.put(sender)
        const task = summaryOf(run).prompt
        tell(call, run_id, 'run_created', { prompt: task })
        if (sender !== null && delegated_by !== undefined) {
          tell(call, sender.run_id, 'delegation_sent', { target_agent: agent_id, task, run_id })
          tell(call, run_id, 'delegation_received', {
            ...{ source_agent: delegated_by.agent_id, task, run_id: sender.run_id },
          })
        }
        return run
      }),

    async read({ caller }, { run_id, events: wanted }) {
      const run = await find(run_id)
      const newest = eventsOfRun(events, run_id, wanted).reverse()
      const shown = withinBytes(newest, LIMITS.answer_list_bytes_max).reverse()
      return shownTo(caller, { run, events: shown })
    },

    async list({ caller }, { status, agent_id, before, limit }) {
      const runs = (await shelf.list())
        .filter((run) => status === undefined || run.status === status)
        .filter((run) => agent_id === undefined || run.agent_id === agent_id)
        .filter((run) => before === undefined || run.run_id < before)
        .reverse()
      const page = withinBytes(runs.slice(0, limit).map(summaryOf), LIMITS.answer_list_bytes_max)
      const next = page.length < runs.length ? (page.at(-1)?.run_id ?? null) : null
      return shownTo(caller, { runs: page, next })
    },

    complete: (call, { run_id, success, summary, data }) =>
      change(call, 'complete a run', async () => {
        checkEventData(data)
        const before = await find(run_id)
        const outcome = {
          success,
          ...(summary === undefined ? {} : { summary }),
          ...(data === undefined ? {} : { data }),
        }
        if (before.status === 'completed') return shownTo(call.caller, requireSame(before, outcome))
        const run = bounded({ ...before, status: 'completed', completed_at: timestamp(clock), outcome })
        await shelf.put(run)
        const told = beginning(summary ?? (success ? 'done' : 'failed'), TOLD_LENGTH)
        tell(call, run_id, 'run_completed', { success, summary: told })
        if (run.delegated_by !== undefined) {
          tell(call, run.delegated_by.run_id, 'delegation_completed', {
            ...{ source_run_id: run_id, result_summary: told, success },
          })
        }
        return shownTo(call.caller, run)
      }),

    async logEvent(call, { run_id, type, data }) {
      requireSpeaker(call.caller, 'log in a run')
      await find(run_id)
      const { seq, timestamp: at } = tell(call, run_id, type, data ?? {})
      return { seq, timestamp: at }
    },

    checkpoint: (call, { run_id, summary, data }) =>
      change(call, 'set a checkpoint', async () => {
        checkEventData(data)
        const before = requireOpen(await find(run_id))
        const at = timestamp(clock)
        const checkpoint = { at, ...tellerOf(call), summary, ...(data === undefined ? {} : { data }) }
        const run = bounded({ ...before, checkpoints: [...before.checkpoints, checkpoint] })
        await shelf.put(run)
        tell(call, run_id, 'checkpoint_set', { summary: beginning(summary, TOLD_LENGTH) })
        return { run_id, at, checkpoints: run.checkpoints.length + run.checkpoints_dropped }
      }),

    async contextPack({ caller }, { run_id, max_tokens }) {
      const run = await find(run_id)
      const parents = await parentsOf(run, (id) => shelf.get(id))
      const newest = eventsOfRun(events, run_id, LIMITS.run_events_default)
      // Before it is measured: text that is made harmless may grow by it.
      return packOf(shownTo(caller, { run, parents, events: newest }), max_tokens)
    },

    async assumptions(call, input) {
      const { run_id, add, hold } = input
      if (add.length + hold.length + input.break.length === 0)
        return shownTo(call.caller, driftOf(await find(run_id)))
      return change(call, 'change assumptions', async () => {
        const before = requireOpen(await find(run_id))
        const { assumptions, changes } = changeAssumptions(before.assumptions, input)
        if (changes.length > 0) await shelf.put(bounded({ ...before, assumptions }))
        for (const { type, text } of changes) tell(call, run_id, type, { text })
        return shownTo(call.caller, driftOf({ run_id, assumptions }))
      })
    },

    scorePrompt,
    async trace({ caller }, { run_id, depth }) {
      return shownTo(caller, await traceOf(await find(run_id), depth, (id) => shelf.get(id)))
    },
  }
}

function requireOpen(run: Run): Run {
  if (run.status === 'open') return run
  throw new TurnbellError('run_completed', {
    detail: `The run ${run.run_id} was completed at ${run.completed_at ?? 'some time'}; nothing is added to it.`,
  })
}

/** Whoever did not hear the answer asks again; who says something else must not think that it counts. */
function requireSame(run: Run, said: Outcome): Run {
  const first = run.outcome as Record<string, Json> | undefined
  if (Object.entries(said).every(([field, value]) => isDeepStrictEqual(first?.[field], value))) return run
  throw new TurnbellError('run_completed', {
    detail: `The run ${run.run_id} was completed at ${run.completed_at ?? 'some time'}, and its outcome is another one.`,
    hint: 'Read it with `vector read_run`. What came to light later is logged with `vector log_event`.',
  })
}

function withDelegate(run: Run, delegate: Run['delegated_to'][number]): Run {
  if (run.delegated_to.length >= LIMITS.run_delegations_max) {
    throw new TurnbellError('limit_reached', {
      detail: `The run ${run.run_id} has ${LIMITS.run_delegations_max} delegates, which is the most it may have.`,
      hint: 'Make a run of its own for the next part, and delegate from there.',
    })
  }
  return bounded({ ...run, delegated_to: [...run.delegated_to, delegate] })
}

/** The oldest checkpoints make room; each of them is an event as well. Throws `limit_reached`. */
function bounded(run: Run): Run {
  const dropped = Math.max(run.checkpoints.length - LIMITS.run_checkpoints_max, 0)
  let fitting = withoutOldest(run, dropped)
  while (bytesOf(fitting) > LIMITS.run_bytes_max && fitting.checkpoints.length > 1) {
    fitting = withoutOldest(fitting, 1)
  }
  const bytes = bytesOf(fitting)
  if (bytes <= LIMITS.run_bytes_max) return fitting
  throw new TurnbellError('limit_reached', {
    detail: `The run would have ${bytes} bytes; ${LIMITS.run_bytes_max} are the most it may have.`,
    hint: 'Write long text to a file or to shared memory, and say where it is.',
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
