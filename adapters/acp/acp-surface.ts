/**
 * An agent behind the Agent Client Protocol as a surface: a doorbell is its next prompt, and no other client prompts it.
 *
 * Agents differ in handling two prompts at once: one merges them, one queues them, one never answers. So only one runs at
 * a time, and a ring during a turn is deferred. The daemon decides whether a doorbell is due.
 */
import type { Agent } from './agent.ts'
import { answerPermission } from './permission.ts'
import { ToolCall, type PermissionAnswer, type PermissionRequest, type SessionUpdate } from './protocol.ts'
import {
  agentGone,
  agentReady,
  isReady,
  promptEnded,
  promptSent,
  startTracking,
  updated,
  type TrackedTurn,
} from './turn-tracker.ts'
import { statusReporter } from '../status-reporter.ts'
import { DEFERRED, FAILED, UNAVAILABLE, pushStatus } from '../surface-results.ts'
import type { Permissions } from '../../src/contracts/config.ts'
import { trackedState, type Tracked } from '../tracked-state.ts'
import type { RingResult, SurfaceStatus } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { SessionId, SurfaceKind } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Ids } from '../../src/ports/random.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface AcpSurface extends Surface {
  open(host: SurfaceHost): void
  /** Returns the session id of the agent's current run, or of the next one. */
  session_id(): SessionId
  /** The agent has opened its session. */
  ready(agent: Agent): void
  /** The agent has exited. */
  gone(): void
  updated(update: SessionUpdate['update']): void
  permission(request: PermissionRequest): PermissionAnswer
  close(): void
}

export interface AcpSurfaceDeps {
  kind: SurfaceKind
  policy: Permissions
  clock: Clock
  ids: Ids
  log: Log
  /** Called when a prompt was answered. */
  onTurnEnded: () => void
  /** Called when a prompt failed and the agent is still running. */
  onTurnFailed: () => void
  /** Called when the agent is to be started again at once. */
  onResumeRequested: () => void
}

export function acpSurface(deps: AcpSurfaceDeps): AcpSurface {
  const { kind, policy, clock, log } = deps
  const nextRunId = () => `acp-${deps.ids.next()}`
  const turn = trackedState(startTracking(clock.now(), nextRunId()))
  const prompts = agentPrompts(turn, deps)
  const reporter = statusReporter(() => statusOf(turn.state(), kind))
  turn.onMove(reporter.reportChange)

  return {
    status: async () => statusOf(turn.state(), kind),
    session_id: () => turn.state().session_id,
    notify_surface: (doorbell) => prompts.ring(doorbell),

    async resume_surface() {
      deps.onResumeRequested()
      reporter.report()
    },

    open: (daemon) => reporter.open(daemon),

    ready(opened) {
      prompts.agent = opened
      // Updates before this were the repeated conversation, not calls of this turn.
      prompts.tool_calls.clear()
      turn.move(agentReady(turn.state()))
    },

    gone() {
      // A run that never opened a session has drained nothing, so the next run keeps its id.
      if (prompts.agent === null) return
      prompts.agent = null
      prompts.tool_calls.clear()
      turn.move(agentGone(turn.state(), nextRunId()))
    },

    updated(update) {
      const { tool_calls } = prompts
      const call = update.sessionUpdate === 'tool_call' ? ToolCall.safeParse(update).data : undefined
      // Only the first update is kept: later ones with the same id may contain text of the model.
      if (call !== undefined && !tool_calls.has(call.toolCallId) && tool_calls.size < LIMITS.acp_calls_max)
        tool_calls.set(call.toolCallId, call)
      turn.move(updated(turn.state(), update.sessionUpdate))
    },

    permission(request) {
      const { toolCall } = request
      const call = prompts.tool_calls.get(toolCall.toolCallId) ?? null
      const { answer, decided, own } = answerPermission(request, call, policy)
      log.debug({ request }, 'permission requested')
      log.info(
        { title: toolCall.title ?? null, kind: toolCall.kind ?? null, own, decided },
        'permission request answered',
      )
      return answer
    },

    close: () => reporter.close(),
  }
}

function statusOf(state: TrackedTurn, kind: SurfaceKind): SurfaceStatus {
  const outstanding_doorbell_id = state.doorbell_id === state.seen_doorbell_id ? null : state.doorbell_id
  return pushStatus(kind, state.session_id, { ...state, outstanding_doorbell_id }, isReady(state))
}

interface AgentPrompts {
  /** Null while no agent has opened its session. */
  agent: Agent | null
  /** The first update of each tool call of this turn. */
  readonly tool_calls: Map<string, ToolCall>
  ring(doorbell: Doorbell): Promise<RingResult>
}

function agentPrompts(turn: Tracked<TrackedTurn>, deps: AcpSurfaceDeps): AgentPrompts {
  const { clock, log } = deps
  /** Called when the agent shows that it has read the prompt. */
  let onSeen: (() => void) | null = null
  turn.onMove((next, before) => {
    if (next.seen_doorbell_id !== before.seen_doorbell_id) onSeen?.()
  })

  /** Resolves when the turn is over. After a failed turn it is unknown what the agent has read, so its run ends. */
  async function prompt(to: Agent, text: string): Promise<'ended' | 'failed'> {
    try {
      const stop_reason = await to.prompt(text)
      // The agent has exited, so its turn has ended already.
      if (prompts.agent !== to) return 'failed'
      prompts.tool_calls.clear()
      deps.onTurnEnded()
      turn.move(promptEnded(turn.state(), stop_reason))
      return 'ended'
    } catch (error) {
      log.warn({ err: error, session: to.session_id }, 'turn failed')
      if (prompts.agent === to) deps.onTurnFailed()
      return 'failed'
    }
  }

  /** Waits for the receipt or the end of the turn, at most `acp_receipt_ms`, because a turn may last long. */
  function firstOutcome(
    ended: Promise<'ended' | 'failed'>,
  ): Promise<'seen' | 'timeout' | 'ended' | 'failed'> {
    return new Promise((resolve) => {
      const timeout = clock.after(LIMITS.acp_receipt_ms, () => resolve('timeout'))
      onSeen = () => {
        timeout.cancel()
        resolve('seen')
      }
      void ended.then((how) => {
        timeout.cancel()
        resolve(how)
      })
    })
  }

  const prompts: AgentPrompts = {
    agent: null,
    tool_calls: new Map(),
    async ring({ doorbell_id, text }) {
      const to = prompts.agent
      if (to === null) return UNAVAILABLE
      if (turn.state().turn !== 'idle') return DEFERRED
      turn.move(promptSent(turn.state(), doorbell_id))
      const outcome = await firstOutcome(prompt(to, text))
      if (outcome === 'failed') return FAILED
      const is_seen = turn.state().seen_doorbell_id === doorbell_id
      return { accepted: true, proof: is_seen ? 'confirmed' : 'sent' }
    },
  }
  return prompts
}
