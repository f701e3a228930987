/**
 * What the events of the module in the client show about the agent besides its turn. Pure.
 *
 * Subagents outlive the turn that started them and `/clear`. A subagent whose own subagents still run begins several
 * turns, and ends once.
 */
import type { EventContext } from './mod-link/mod-link.ts'
import type { Hello, NumberedEvent, OpenWait, RunningAgent } from './mod/messages.ts'
import type { Presence, Subagent, Waiting } from '../../src/contracts/presence.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { truncate } from '../../src/contracts/text/truncate.ts'

export interface TrackedPresence extends Omit<Presence, 'waiting'> {
  session_id: string
  /** Last turn of the main agent; null before the module reported one. */
  turn: string | null
  waiting: (Waiting & { call: string })[]
}

/** A module attached, and its greeting contains what waits and runs; or the session continues under another id. */
export function startPresence(
  hello: Pick<Hello, 'session_id' | 'turn' | 'waiting' | 'agents'>,
): TrackedPresence {
  return {
    session_id: hello.session_id,
    turn: hello.turn ?? null,
    waiting: (hello.waiting ?? []).map(waitingOf),
    agents: (hello.agents ?? []).map(agentOf),
    tokens: null,
    window: null,
    cost_usd: null,
    compacting_since: null,
    last_compaction: null,
  }
}

/** What a greeting does not contain. */
const NOT_GREETED: readonly NumberedEvent['kind'][] = ['measured', 'compacting', 'compacted', 'restored']

/** Ignores a past event that would undo what the greeting contains. */
export function presenceAfter(
  before: TrackedPresence,
  event: NumberedEvent,
  { session_id, past }: EventContext,
): TrackedPresence {
  const state = inSession(before, session_id)
  if (past && !NOT_GREETED.includes(event.kind)) return state
  const at = timestamp(event)
  switch (event.kind) {
    case 'waiting_started':
      return withWaiting(state, waitingOf(event))
    case 'waiting_ended':
    case 'tool_ended':
      return { ...state, waiting: state.waiting.filter(({ call }) => call !== event.call) }
    case 'turn_started':
      if (event.agent !== undefined) return withoutWaiting(state, shown(event.agent))
      return { ...withoutWaiting(state, null), turn: event.turn, compacting_since: null }
    case 'turn_ended':
      if (event.agent !== undefined) return withoutWaiting(state, shown(event.agent))
      // The client reports the end of an interrupted turn after the begin of the turn that a waiting prompt starts.
      if (state.turn !== null && state.turn !== event.turn) return state
      return { ...withoutWaiting(state, null), compacting_since: null }
    case 'agent_started':
      return withAgent(state, agentOf(event))
    case 'agent_ended': {
      const ended = shown(event.agent)
      return {
        ...withoutWaiting(state, ended),
        agents: state.agents.filter(({ agent }) => agent !== ended),
      }
    }
    case 'measured':
      return {
        ...state,
        tokens: event.tokens ?? state.tokens,
        window: event.window ?? state.window,
        cost_usd: event.cost_usd === undefined ? state.cost_usd : dollars(event.cost_usd),
      }
    case 'compacting':
      return event.agent === undefined ? { ...state, compacting_since: at } : state
    case 'compacted':
      return compacted(state, event, at)
    case 'restored': {
      const { last_compaction } = state
      return last_compaction === null
        ? state
        : { ...state, last_compaction: { ...last_compaction, restored: event.found } }
    }
    default:
      return state
  }
}

/** Events were dropped, and may have been the end of anything. */
export function eventsDropped(state: TrackedPresence): TrackedPresence {
  return { ...state, waiting: [], agents: [], compacting_since: null }
}

export function presenceOf({ session_id: _, turn: __, ...state }: TrackedPresence): Presence {
  return { ...state, waiting: state.waiting.map(({ call: ___, ...waiting }) => waiting) }
}

function inSession(state: TrackedPresence, session_id: string): TrackedPresence {
  if (state.session_id === session_id) return state
  const { agents, waiting } = withoutWaiting(state, null)
  return { ...startPresence({ session_id }), agents, waiting }
}

/** Tools of the client that ask a person something else than a permission. */
export const ASKING: ReadonlyMap<string, Waiting['for']> = new Map([
  ['AskUserQuestion', 'question'],
  ['ExitPlanMode', 'plan'],
])

function waitingOf({ call, tool, why, agent, at }: OpenWait): TrackedPresence['waiting'][number] {
  return {
    ...{ call, for: ASKING.get(tool) ?? 'permission', tool: shown(tool) },
    ...{ why: shownOrNull(why), agent: shownOrNull(agent), since: timestamp({ at }) },
  }
}

function agentOf({ agent, parent, type, task, at }: RunningAgent): Subagent {
  return {
    ...{ agent: shown(agent), parent: shownOrNull(parent) },
    ...{ type: shownOrNull(type), task: shownOrNull(task), since: timestamp({ at }) },
  }
}

function withWaiting(state: TrackedPresence, added: TrackedPresence['waiting'][number]): TrackedPresence {
  const others = state.waiting.filter(({ call }) => call !== added.call)
  return { ...state, waiting: [...others, added].slice(0, LIMITS.presence_waiting_max) }
}

function withoutWaiting(state: TrackedPresence, of: string | null): TrackedPresence {
  return { ...state, waiting: state.waiting.filter(({ agent }) => agent !== of) }
}

/** A subagent that continues is reported again. */
function withAgent(state: TrackedPresence, added: Subagent): TrackedPresence {
  if (state.agents.some(({ agent }) => agent === added.agent)) return state
  return { ...state, agents: [...state.agents, added].slice(0, LIMITS.presence_agents_max) }
}

function compacted(
  state: TrackedPresence,
  { before = null, after = null }: { before?: number | undefined | null; after?: number | undefined | null },
  at: string,
): TrackedPresence {
  const over = { ...state, compacting_since: null }
  // Without sizes, nothing was compacted.
  if (before === null && after === null) return over
  return { ...over, tokens: after ?? state.tokens, last_compaction: { at, before, after, restored: null } }
}

const CONTROL = /[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu

const timestamp = ({ at }: { at: number }) => new Date(at).toISOString()
const shown = (text: string) =>
  truncate(text.toWellFormed().replace(CONTROL, ' ').trim(), LIMITS.presence_text_length_max)
const shownOrNull = (text: string | undefined) => (text === undefined ? null : shown(text))
/** The client's sum has rounding errors. */
const dollars = (usd: number) => Math.max(0, Math.round(usd * 10_000) / 10_000)
