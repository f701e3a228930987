/**
 * What Claude Code's one process per session does with a call: hooks come in as calls of the unlisted
 * tool `turn_event`, everything else goes to the hub. Decides nothing about ringing.
 */
import { createAnnouncedCalls } from './announced-calls.ts'
import type { ClaudeSurface } from './claude-surface.ts'
import { TurnEvent } from './turn-events.ts'
import { createWrittenDrains, type Drain, type Drains } from './written-drains.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { asksForQueue, DRAIN_TOOL } from '../../src/contracts/drain.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

/** A call as the bridge hands it over; only what is needed of it. */
export interface WorkerCall {
  name: string
  args: Record<string, unknown>
  meta: Record<string, unknown>
  signal: AbortSignal
}

export interface WorkerDeps {
  surface: Pick<ClaudeSurface, 'hookFired' | 'stopped' | 'continuedWith'>
  drains: Drains
  clock: Pick<Clock, 'after'>
  /** A worker that replaced a killed one may have missed the hook that announced a call. */
  respawned: boolean
  log: Log
}

/** JSON text for the client to read as a hook's output. */
export type HookOutput = Record<string, unknown>

export interface Worker {
  /** The hook's output, null for a call that is none. @throws TurnbellError for what the agent may not do. */
  answer(call: WorkerCall): Promise<HookOutput | null>
  /** The answer to that hook is in the client's pipe. */
  answerWritten(call: WorkerCall): void
  drainWritten(call: WorkerCall, drain: Drain): void
  /**
   * The turn was interrupted. Resolves once the drains that the agent was not shown are released, or cannot be, which may
   * take as long as the hub is away.
   */
  interrupted(): Promise<void>
}

const HOOK_TOOL = 'turn_event'
/** The tools an agent may use without asking: reading its own queue, and answering. */
const OWN_TOOLS = [DRAIN_TOOL, 'signals']
/** Only set on calls that a model made; a hook's call has none. */
const MODEL_MARK = 'claudecode/toolUseId'

export function createWorker({ surface, drains, clock, respawned, log }: WorkerDeps): Worker {
  const announced = createAnnouncedCalls()
  const written = createWrittenDrains(drains, log)
  /** In which turn a call was announced; the empty string where the client does not say. */
  const turns = new WeakMap<WorkerCall, string>()
  const bells = new WeakMap<WorkerCall, Doorbell>()
  let hooks_work = respawned

  async function hook(call: WorkerCall): Promise<HookOutput> {
    const parsed = TurnEvent.safeParse(call.args)
    if (!parsed.success) {
      log.warn({ issues: parsed.error.issues }, 'a hook came in a form this worker does not know')
      return {}
    }
    const event = parsed.data
    hooks_work = true
    if (event.agent_id === '') leaveBehind(event)
    log.debug({ event: event.event, agent_id: event.agent_id, session_id: event.session_id }, 'hook')
    if (event.event === 'PreToolUse') return toolAnnounced(event)
    if (event.event === 'PostToolUse') written.use(event.tool_use_id)
    if (event.event === 'PostToolBatch' && event.agent_id === '') written.keepUsed()
    // What a subagent does is part of the main agent's turn, and says nothing about where that stands.
    if (event.agent_id !== '') return {}
    if (event.event === 'Stop' || event.event === 'StopFailure') written.confirmAll()
    if (event.event !== 'Stop') {
      await patiently(toSurface(event))
      return {}
    }
    let late = false
    const stopped = written.givenBack.then(() => surface.stopped(event, () => late || call.signal.aborted))
    late = !(await patiently(written.givenBack))
    if (late) return {}
    const bell = await stopped
    if (bell === null) return {}
    bells.set(call, bell)
    return { hookSpecificOutput: { hookEventName: 'Stop', additionalContext: bell.text } }
  }

  async function toolAnnounced(event: TurnEvent): Promise<HookOutput> {
    const { tool_use_id, agent_id, prompt_id } = event
    announced.announce(tool_use_id, { agent_id, prompt_id })
    if (event.agent_id === '') await patiently(toSurface(event))
    // The hook tells no arguments: a drain that only they show is refused when it is called.
    const tool = event.tool_name.split('__').at(-1) ?? ''
    if (event.agent_id !== '' && asksForQueue(tool, {})) {
      return decision('deny', "A subagent may not take the main agent's signals; go on with your task.")
    }
    // A rule that the user wrote, to ask or to deny, still stands above this.
    return event.tool_name.startsWith('mcp__') && OWN_TOOLS.includes(tool)
      ? decision('allow', "turnbell's own tool")
      : {}
  }

  /** In the order in which they came, however long what goes back takes. */
  function toSurface(event: TurnEvent): Promise<void> {
    return written.givenBack.then(() => surface.hookFired(event))
  }

  /** Whether it was done in the time that the client may wait for a hook. It goes on either way. */
  function patiently(doing: Promise<void>): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const patience = clock.after(LIMITS.give_back_wait_ms, () => resolve(false))
      doing
        .finally(() => patience.cancel())
        .then(() => resolve(true))
        .catch(reject)
    })
  }

  /** A turn without an end is left behind: the interrupt showed itself only by the next one, or by the prompt. */
  function leaveBehind({ event, prompt_id, source, notification_type }: TurnEvent): void {
    const at_prompt =
      (event === 'SessionStart' && source === 'clear') ||
      (event === 'Notification' && notification_type === 'idle_prompt')
    if (at_prompt) void written.settleAll()
    else if (prompt_id !== '') written.settleBefore(prompt_id)
  }

  function refuseSubagents(call: WorkerCall): void {
    const mark = call.meta[MODEL_MARK]
    const tool_use_id = typeof mark === 'string' ? mark : ''
    const announcement = announced.take(tool_use_id)
    const agent_id = announcement?.agent_id
    turns.set(call, announcement?.prompt_id ?? '')
    if (agent_id !== undefined && agent_id !== '') {
      call.meta['agent_id'] = agent_id
      if (asksForQueue(call.name, call.args)) {
        throw new TurnbellError('subagent_forbidden', {
          detail: `The call came from the subagent ${agent_id}.`,
        })
      }
    }
    if (agent_id === undefined && asksForQueue(call.name, call.args) && hooks_work) {
      // Not announced although hooks work: this worker began in between. Refusing costs one more call;
      // guessing wrong would hand the main agent's signals to a subagent.
      hooks_work = false
      throw new TurnbellError('subagent_forbidden', {
        detail: 'It could not be told who makes this call, because the worker was restarted during it.',
        hint: `Call ${DRAIN_TOOL} once more.`,
      })
    }
  }

  return {
    async answer(call) {
      if (call.name !== HOOK_TOOL) {
        log.debug({ tool: call.name }, 'call')
        refuseSubagents(call)
        return null
      }
      if (call.meta[MODEL_MARK] !== undefined) {
        log.warn({}, 'a model called turn_event; refused')
        throw new TurnbellError('kind_forbidden', {
          detail: 'turn_event is for the client itself.',
          hint: 'There is nothing to call here; go on.',
        })
      }
      return hook(call)
    },
    answerWritten(call) {
      const bell = bells.get(call)
      if (bell === undefined) return
      if (call.signal.aborted) log.warn({ doorbell_id: bell.doorbell_id }, 'a bell went out too late')
      else surface.continuedWith(bell)
    },
    drainWritten(call, drain) {
      const tool_use_id = call.meta[MODEL_MARK]
      // A client that tells no hooks never says what it did with the answer.
      if (typeof tool_use_id !== 'string' || !hooks_work) return drains.confirm(drain.drain_id)
      written.add(tool_use_id, drain, turns.get(call) ?? '')
    },
    interrupted: () => written.settleAll(),
  }
}

function decision(permissionDecision: 'allow' | 'deny', permissionDecisionReason: string): HookOutput {
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason } }
}
