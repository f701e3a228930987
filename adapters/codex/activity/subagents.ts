/**
 * The subagents of a Codex thread. Each has a thread of its own, of which the app-server notifies the clients that are
 * subscribed to the thread that started it. Its events belong to the request in which it was started.
 */
import { CollabCall } from './item-calls.ts'
import { endStatus, given, word, type Item, type Turn } from './messages.ts'
import type { Place, RecordFact } from './place.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { EndStatus } from '../../../src/contracts/activity/event.ts'
import * as z from 'zod'

interface Agent {
  turn_seq: number | undefined
  /** The subagent that started it. */
  parent: string | undefined
  running: boolean
}

const SubagentActivity = z.looseObject({
  kind: z.string(),
  agentThreadId: z.string().min(1),
  agentPath: z.string().catch(''),
})

/** States of an agent, as a call about it reports them, in which it does not work. */
const STATES: Readonly<Record<string, EndStatus>> = {
  completed: 'completed',
  interrupted: 'interrupted',
  shutdown: 'interrupted',
  errored: 'failed',
}

/** `main` is the thread of the main agent. */
export function createSubagents(main: string, record: RecordFact) {
  /** Oldest first. */
  const agents = new Map<string, Agent>()

  function start(agent: string, by: Place, about: { description?: string; agent_type?: string }): void {
    if (agents.has(agent) || agent === main) return
    const parent = by.agent
    const data = { subtask_id: word(agent), ...about, ...given({ parent_id: parent }) }
    const turn_seq = record({ kind: 'subtask.started', data }, by)
    agents.set(agent, { parent, turn_seq, running: true })
    const oldest = agents.keys().next().value
    if (agents.size > LIMITS.activity_tracked_max && oldest !== undefined) agents.delete(oldest)
  }

  function end(agent: string, at: string | undefined, status: EndStatus, result?: string): void {
    const known = agents.get(agent)
    if (known?.running !== true) return
    known.running = false
    const data = { subtask_id: word(agent), status, ...given({ result }) }
    record({ kind: 'subtask.ended', data }, { agent: known.parent, turn_seq: known.turn_seq, at })
  }

  return {
    /** Returns where events of the thread belong; null if it is not a known subagent. */
    placeOf(thread_id: string, at: string | undefined): Place | null {
      const known = agents.get(thread_id)
      return known === undefined ? null : { agent: thread_id, turn_seq: known.turn_seq, at }
    },

    /** A subagent that was continued begins another turn. */
    turnStarted(agent: string, at: string | undefined): void {
      const known = agents.get(agent)
      if (known === undefined || known.running) return
      known.running = true
      const place = { agent: known.parent, turn_seq: known.turn_seq, at }
      record({ kind: 'subtask.started', data: { subtask_id: word(agent) } }, place)
    },

    turnEnded(agent: string, turn: Turn, at: string | undefined): void {
      end(agent, at, endStatus(turn), lastMessage(turn.items) ?? turn.error?.message)
    },

    /** An item of the main agent or of a subagent. A call about subagents names them when it has ended. */
    itemSeen(item: Item, has_ended: boolean, place: Place): void {
      if (item.type === 'subAgentActivity') {
        const seen = SubagentActivity.safeParse(item).data
        if (seen?.kind === 'started')
          start(seen.agentThreadId, place, given({ agent_type: word(seen.agentPath) || undefined }))
        const ended = Object.hasOwn(STATES, seen?.kind ?? '') ? STATES[seen?.kind ?? ''] : undefined
        if (seen !== undefined && ended !== undefined) end(seen.agentThreadId, place.at, ended)
      }
      if (item.type !== 'collabAgentToolCall' || !has_ended) return
      const { tool, prompt, receiverThreadIds, agentsStates } = CollabCall.parse(item)
      if (tool === 'spawnAgent')
        for (const agent of receiverThreadIds)
          start(agent, place, given({ description: prompt ?? undefined }))
      for (const [agent, { status }] of Object.entries(agentsStates)) {
        const ended = Object.hasOwn(STATES, status) ? STATES[status] : undefined
        if (ended !== undefined) end(agent, place.at, ended)
      }
    },
  }
}

/** The end of a turn contains the agent's last message. */
function lastMessage(items: readonly unknown[]): string | undefined {
  const message = z.looseObject({ type: z.literal('agentMessage'), text: z.string() })
  return items.flatMap((item) => message.safeParse(item).data?.text ?? []).at(-1)
}
