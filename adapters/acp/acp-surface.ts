/**
 * An agent behind the Agent Client Protocol as a surface: a bell is its next prompt, and only ours run.
 *
 * Two prompts at once are merged by one agent, queued by another and never answered by a third, so there is
 * one at a time: whoever rings while one runs is told that a turn runs. Whether a bell is due is the daemon's
 * decision.
 */
import type { Agent } from './agent.ts'
import { answerTo } from './permission.ts'
import { ToolCall, type PermissionAnswer, type PermissionRequest, type SessionUpdate } from './protocol.ts'
import {
  agentGone,
  agentReady,
  isThere,
  promptEnded,
  promptSent,
  startTracking,
  updated,
  type TrackedTurn,
} from './turn-tracker.ts'
import { DEFERRED, FAILED, UNAVAILABLE, pushStatus, saysMore } from '../surface-words.ts'
import type { Permissions } from '../../src/contracts/config.ts'
import type { RingResult } from '../../src/contracts/control.ts'
import type { SessionId, SurfaceKind } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Ids } from '../../src/ports/random.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface AcpSurface extends Surface {
  open(host: SurfaceHost): void
  /** The name under which the hub knows the agent's present run, or the next one. */
  session_id(): SessionId
  /** An agent has opened its session. */
  ready(agent: Agent): void
  /** It has ended, whatever it was doing. */
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
  /** A prompt was answered, so the agent works. */
  onTurnEnded: () => void
  /** A prompt was refused, or cut off, by an agent that is still there. */
  onTurnBroke: () => void
  /** Somebody wants the agent back. */
  onWanted: () => void
}

export function acpSurface(deps: AcpSurfaceDeps): AcpSurface {
  const { kind, policy, clock, log } = deps
  const nextRun = () => `acp-${deps.ids.next()}`
  let state = startTracking(clock.now(), nextRun())
  let agent: Agent | null = null
  let host: SurfaceHost | null = null
  /** The first that was told of each call of this turn. */
  const calls = new Map<string, ToolCall>()
  /** Waits for a sign that the prompt is read. */
  let onSeen: (() => void) | null = null

  const status = () => {
    const outstanding_doorbell_id = state.bell === state.seen_doorbell_id ? null : state.bell
    return pushStatus(kind, state.session_id, { ...state, outstanding_doorbell_id }, isThere(state))
  }

  function move(next: TrackedTurn): void {
    const told = status()
    const before = state
    state = next
    if (next.seen_doorbell_id !== before.seen_doorbell_id) onSeen?.()
    if (saysMore(told, status())) void host?.report(status())
  }

  /** Resolves when the turn is over. One that broke leaves it open what the agent has read, so its run ends. */
  async function prompt(to: Agent, text: string): Promise<'ended' | 'broke'> {
    try {
      const stop_reason = await to.prompt(text)
      // Of an agent that is gone the turn is over already.
      if (agent !== to) return 'broke'
      calls.clear()
      deps.onTurnEnded()
      move(promptEnded(state, stop_reason))
      return 'ended'
    } catch (error) {
      log.warn({ err: error, session: to.session_id }, 'a turn broke off')
      if (agent === to) deps.onTurnBroke()
      return 'broke'
    }
  }

  /** A turn may last long, so no more than its beginning is waited for. */
  function firstSign(turn: Promise<'ended' | 'broke'>): Promise<'seen' | 'late' | 'ended' | 'broke'> {
    return new Promise((resolve) => {
      const patience = clock.after(LIMITS.acp_receipt_ms, () => resolve('late'))
      onSeen = () => {
        patience.cancel()
        resolve('seen')
      }
      void turn.then((how) => {
        patience.cancel()
        resolve(how)
      })
    })
  }

  return {
    status: async () => status(),
    session_id: () => state.session_id,

    async notify_surface({ doorbell_id, text }): Promise<RingResult> {
      const to = agent
      if (to === null) return UNAVAILABLE
      if (state.turn !== 'idle') return DEFERRED
      move(promptSent(state, doorbell_id))
      const first = await firstSign(prompt(to, text))
      if (first === 'broke') return FAILED
      return { accepted: true, proof: state.seen_doorbell_id === doorbell_id ? 'confirmed' : 'sent' }
    },

    async resume_surface() {
      deps.onWanted()
      void host?.report(status())
    },

    open(daemon) {
      host = daemon
    },

    ready(opened) {
      agent = opened
      // What it told so far is its memory of earlier turns, not a call of this one.
      calls.clear()
      move(agentReady(state))
    },

    gone() {
      // A run that never began has drained nothing, so the next one may have its name.
      if (agent === null) return
      agent = null
      calls.clear()
      move(agentGone(state, nextRun()))
    },

    updated(update) {
      const call = update.sessionUpdate === 'tool_call' ? ToolCall.safeParse(update).data : undefined
      // The first word is the agent's own; a later one under the same id may be the model's.
      if (call !== undefined && !calls.has(call.toolCallId) && calls.size < LIMITS.acp_calls_max)
        calls.set(call.toolCallId, call)
      move(updated(state, update.sessionUpdate))
    },

    permission(request) {
      const { toolCall } = request
      const { answer, decided, own } = answerTo(request, calls.get(toolCall.toolCallId) ?? null, policy)
      log.debug({ request }, 'the agent asks leave')
      log.info(
        { title: toolCall.title ?? null, kind: toolCall.kind ?? null, own, decided },
        'leave was asked',
      )
      return answer
    },

    close() {
      host = null
    },
  }
}
