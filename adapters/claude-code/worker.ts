/**
 * Handles the calls of a Claude Code session. Hooks arrive as calls of the unlisted tool `turn_event`; all other
 * calls are forwarded to the hub. Makes no decisions about ringing.
 */
import { createPendingToolCalls, type PendingToolCalls } from './pending-tool-calls.ts'
import type { ClaudeSurface } from './claude-surface.ts'
import { TurnEvent } from './turn-events.ts'
import {
  createUnconfirmedDrains,
  type Drain,
  type Drains,
  type UnconfirmedDrains,
} from './unconfirmed-drains.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { isQueueCall, DRAIN_TOOL } from '../../src/contracts/drain-calls.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

/** The used part of a call from the bridge. */
export interface WorkerCall {
  name: string
  args: Record<string, unknown>
  meta: Record<string, unknown>
  signal: AbortSignal
}

export interface WorkerDeps {
  surface: Pick<ClaudeSurface, 'hookFired' | 'stopped' | 'continuedWith' | 'callReported'>
  drains: Drains
  clock: Pick<Clock, 'after'>
  /** Called with every hook, before it is handled. */
  hookFired?: (event: TurnEvent) => void
  /** This worker replaced a killed one, so it may have missed the hook that announced a call. */
  respawned: boolean
  log: Log
}

/** A hook's output; the client reads it as JSON text. */
export type HookOutput = Record<string, unknown>

export interface Worker {
  /** Returns a hook's output, or null for any other call. @throws TurnbellError if the call is forbidden. */
  answer(call: WorkerCall): Promise<HookOutput | null>
  /** Records that the response to a hook was written to the client. */
  answerWritten(call: WorkerCall): void
  drainWritten(call: WorkerCall, drain: Drain): void
  /**
   * Handles an interrupted turn. Resolves when the drains that the agent was not shown are released, or cannot be
   * released. It waits while the hub is unreachable.
   */
  interrupted(): Promise<void>
  /** Resolves when the hub has received all releases so far. */
  drainsReleased(): Promise<void>
}

const HOOK_TOOL = 'turn_event'
/** Tools that need no permission: draining the own queue, and answering. */
const OWN_TOOLS = [DRAIN_TOOL, 'signals']
/** Set only on calls of a model, not on calls of a hook. */
const MODEL_MARK = 'claudecode/toolUseId'

/** State of the calls and hooks of one session. */
interface CallState {
  pending_calls: PendingToolCalls
  unconfirmed: UnconfirmedDrains
  /** The turn in which each call was announced; empty if the client does not report it. */
  prompt_ids: WeakMap<WorkerCall, string>
  /** The doorbell in the response to each Stop hook. */
  bells: WeakMap<WorkerCall, Doorbell>
  /** The client runs hooks, so they announce its calls. */
  hooks_work: boolean
}

export function createWorker(deps: WorkerDeps): Worker {
  const { surface, drains, log } = deps
  const state: CallState = {
    pending_calls: createPendingToolCalls(),
    unconfirmed: createUnconfirmedDrains(drains, log),
    prompt_ids: new WeakMap(),
    bells: new WeakMap(),
    hooks_work: deps.respawned,
  }
  const handleHook = hookHandler(state, deps)

  return {
    async answer(call) {
      if (call.name !== HOOK_TOOL) {
        log.debug({ tool: call.name }, 'call')
        rejectSubagents(call, state)
        // Otherwise the end of an earlier turn, reported late, would settle this drain.
        if (isQueueCall(call.name, call.args)) await surface.callReported(toolUseId(call))
        return null
      }
      if (call.meta[MODEL_MARK] !== undefined) {
        log.warn({}, 'turn_event call of a model rejected')
        throw new TurnbellError('kind_forbidden', {
          detail: 'turn_event is reserved for the client.',
          hint: 'Continue without this call.',
        })
      }
      return handleHook(call)
    },
    answerWritten(call) {
      const bell = state.bells.get(call)
      if (bell === undefined) return
      if (call.signal.aborted)
        log.warn({ doorbell_id: bell.doorbell_id }, 'doorbell sent after the Stop hook was aborted')
      else surface.continuedWith(bell)
    },
    drainWritten(call, drain) {
      const tool_use_id = call.meta[MODEL_MARK]
      // Without hooks the client never reports whether it used the result.
      if (typeof tool_use_id !== 'string' || !state.hooks_work) return drains.confirm(drain.drain_id)
      state.unconfirmed.add(tool_use_id, drain, state.prompt_ids.get(call) ?? '')
    },
    interrupted: () => state.unconfirmed.settleAll(),
    drainsReleased: () => state.unconfirmed.released,
  }
}

/** Returns a function that handles the call of a hook. */
function hookHandler(state: CallState, { surface, hookFired, clock, log }: WorkerDeps) {
  const { pending_calls, unconfirmed } = state

  /** Passes hooks on in arrival order, after pending releases have finished. */
  function toSurface(event: TurnEvent): Promise<void> {
    return unconfirmed.released.then(() => surface.hookFired(event))
  }

  async function handleToolHook(event: TurnEvent): Promise<HookOutput> {
    const { tool_use_id, agent_id, prompt_id } = event
    pending_calls.announce(tool_use_id, { agent_id, prompt_id })
    if (agent_id === '') await withTimeout(toSurface(event), clock)
    // The hook carries no arguments. A drain that only its arguments reveal is rejected when it is called.
    const tool = event.tool_name.split('__').at(-1) ?? ''
    if (agent_id !== '' && isQueueCall(tool, {})) {
      return decision('deny', "A subagent may not take the main agent's signals; go on with your task.")
    }
    // A user's own rule to ask or to deny takes precedence over this decision.
    return event.tool_name.startsWith('mcp__') && OWN_TOOLS.includes(tool)
      ? decision('allow', "turnbell's own tool")
      : {}
  }

  async function handleStop(call: WorkerCall, event: TurnEvent): Promise<HookOutput> {
    let late = false
    const stopped = unconfirmed.released.then(() => surface.stopped(event, () => late || call.signal.aborted))
    late = !(await withTimeout(unconfirmed.released, clock))
    if (late) return {}
    const bell = await stopped
    if (bell === null) return {}
    state.bells.set(call, bell)
    return { hookSpecificOutput: { hookEventName: 'Stop', additionalContext: bell.text } }
  }

  return async (call: WorkerCall): Promise<HookOutput> => {
    const parsed = TurnEvent.safeParse(call.args)
    if (!parsed.success) {
      log.warn({ issues: parsed.error.issues }, 'invalid hook payload ignored')
      return {}
    }
    const event = parsed.data
    state.hooks_work = true
    hookFired?.(event)
    if (event.agent_id === '') settleUnendedTurns(event, unconfirmed)
    const { agent_id, session_id, prompt_id } = event
    log.debug({ event: event.event, agent_id, session_id, prompt_id }, 'hook')
    if (event.event === 'PreToolUse') return handleToolHook(event)
    if (event.event === 'PostToolUse') unconfirmed.markUsed(event.tool_use_id)
    if (event.event === 'PostToolBatch' && event.agent_id === '') unconfirmed.endBatch()
    // A subagent's hooks do not change the turn of the main agent.
    if (event.agent_id !== '') return {}
    if (event.event === 'Stop' || event.event === 'StopFailure') unconfirmed.confirmAll()
    if (event.event === 'Stop') return handleStop(call, event)
    await withTimeout(toSurface(event), clock)
    return {}
  }
}

/** Settles the drains of interrupted turns, which have no end of their own: the next turn or the prompt shows it. */
function settleUnendedTurns(
  { event, prompt_id, source, notification_type }: TurnEvent,
  unconfirmed: UnconfirmedDrains,
): void {
  const at_prompt =
    (event === 'SessionStart' && source === 'clear') ||
    (event === 'Notification' && notification_type === 'idle_prompt')
  if (at_prompt) void unconfirmed.settleAll()
  else if (prompt_id !== '') unconfirmed.settleBefore(prompt_id)
}

/** Returns whether the task finished within the time that a hook may take. The task continues either way. */
function withTimeout(task: Promise<void>, clock: Pick<Clock, 'after'>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timeout = clock.after(LIMITS.release_wait_ms, () => resolve(false))
    task
      .finally(() => timeout.cancel())
      .then(() => resolve(true))
      .catch(reject)
  })
}

/** Throws `subagent_forbidden` for a call on the main agent's queue that is not known to be the main agent's. */
function rejectSubagents(call: WorkerCall, state: CallState): void {
  const tool_use_id = toolUseId(call)
  const announcement = state.pending_calls.take(tool_use_id)
  const agent_id = announcement?.agent_id
  state.prompt_ids.set(call, announcement?.prompt_id ?? '')
  if (agent_id !== undefined && agent_id !== '') {
    call.meta['agent_id'] = agent_id
    if (isQueueCall(call.name, call.args)) {
      throw new TurnbellError('subagent_forbidden', {
        detail: `The call came from the subagent ${agent_id}.`,
      })
    }
  }
  if (agent_id === undefined && isQueueCall(call.name, call.args) && state.hooks_work) {
    // Not announced although hooks work: this worker started after the hook. Rejecting costs one more call,
    // while a wrong guess would give the main agent's signals to a subagent.
    state.hooks_work = false
    throw new TurnbellError('subagent_forbidden', {
      detail: 'The caller is unknown, because the worker was restarted during the call.',
      hint: `Call ${DRAIN_TOOL} again.`,
    })
  }
}

/** Empty for the call of a hook, and if the client does not report it. */
function toolUseId({ meta }: WorkerCall): string {
  const mark = meta[MODEL_MARK]
  return typeof mark === 'string' ? mark : ''
}

function decision(permissionDecision: 'allow' | 'deny', permissionDecisionReason: string): HookOutput {
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason } }
}
