/** What the module reported and what has not ended, for a greeting: requests to a person, and subagents. */
import { CLAUDE_MODULE_LIMITS as LIMITS } from '../../../src/contracts/limits/claude-module.ts'
import type { ModEvent, OpenWait, RunningAgent } from './messages.ts'

export interface UnderWay {
  note: (event: ModEvent) => void
  /** Oldest first. */
  state: () => { waiting: OpenWait[]; agents: RunningAgent[] }
}

/** `now` returns milliseconds since 1970. The rules are those of `presence.ts`, which applies the same events. */
export function createUnderWay(now: () => number): UnderWay {
  const waiting = new Map<string, OpenWait>()
  const agents = new Map<string, RunningAgent>()
  /** Last turn of the main agent. */
  let turn: string | null = null

  const endWaiting = (of: string | undefined) => {
    for (const [call, { agent }] of waiting) if (agent === of) waiting.delete(call)
  }

  function note(event: ModEvent): void {
    switch (event.kind) {
      case 'waiting_started': {
        const { kind: _, ...fields } = event
        waiting.delete(event.call)
        if (waiting.size < LIMITS.presence_waiting_max) waiting.set(event.call, { ...fields, at: now() })
        return
      }
      case 'waiting_ended':
      case 'tool_ended':
        waiting.delete(event.call)
        return
      case 'turn_started':
        if (event.agent === undefined) turn = event.turn
        return endWaiting(event.agent)
      case 'turn_ended':
        // The client reports the end of an interrupted turn after the begin of the turn that a waiting prompt starts.
        if (event.agent === undefined && turn !== null && turn !== event.turn) return
        return endWaiting(event.agent)
      case 'session':
        return endWaiting(undefined)
      case 'agent_started': {
        const { kind: _, ...fields } = event
        if (agents.has(event.agent) || agents.size >= LIMITS.presence_agents_max) return
        agents.set(event.agent, { ...fields, at: now() })
        return
      }
      case 'agent_ended':
        agents.delete(event.agent)
        return endWaiting(event.agent)
      default:
    }
  }

  return {
    note,
    state: () => ({ waiting: [...waiting.values()], agents: [...agents.values()] }),
  }
}
