/**
 * Turns the app-server's messages about one thread, and about its subagents, into events: requests, tool calls, waits,
 * compactions, usage and errors.
 */
import {
  failureWord,
  given,
  Item,
  timeOf,
  type ActivityMessage,
  type MessageOf,
  type Turn,
} from './messages.ts'
import type { Place, RecordFact } from './place.ts'
import { createSubagents } from './subagents.ts'
import { threadItems } from './thread-items.ts'
import { threadTurns, type RecordedTurn, type ThreadTurnsDeps } from './thread-turns.ts'
import { threadUsage } from './thread-usage.ts'
import { isAsked, threadWaits } from './thread-waits.ts'
import type { ActivityLog } from '../../activity/activity-log.ts'

export interface ThreadActivityDeps extends Omit<ThreadTurnsDeps, 'record'> {
  thread_id: string
  /** Undefined if the client does not report it. */
  model: string | undefined
  log: Pick<ActivityLog, 'record'>
}

export interface ThreadActivity {
  handle(message: ActivityMessage): void
  /** Records the part of a turn that was not recorded. */
  catchUp(turn: Turn): void
  recorded(): RecordedTurn | null
}

export function threadActivity(deps: ThreadActivityDeps): ThreadActivity {
  const parts = createParts(deps)
  return {
    handle: (message) => handle(parts, message),
    catchUp: (turn) => catchUp(parts, turn),
    recorded: () => parts.turns.recorded(),
  }
}

type Parts = ReturnType<typeof createParts>

function createParts(deps: ThreadActivityDeps) {
  const { thread_id, model, log } = deps
  const record: RecordFact = (fact, { agent, turn_seq, at }) =>
    log.record(fact, {
      ...{ session_id: thread_id, source: 'app_server', agent_id: agent, turn_seq },
      ...given({ at }),
    })
  const turns = threadTurns({ ...deps, record })
  const agents = createSubagents(thread_id, record)
  const usage = threadUsage()
  return {
    ...{ thread_id, model, record, turns, agents, usage },
    waits: threadWaits(record),
    items: threadItems(record, usage),
    /** Returns null for another thread. */
    placeOf: (of_thread: string, at: string | undefined): Place | null =>
      of_thread === thread_id
        ? { agent: undefined, turn_seq: turns.turnSeq(), at }
        : agents.placeOf(of_thread, at),
  }
}

function handle(parts: Parts, message: ActivityMessage): void {
  const { threadId } = message.params
  const at = timeOf(message.emittedAtMs)
  const place = parts.placeOf(threadId, at)
  if (place === null) return
  if (isAsked(message)) return parts.waits.asked(message, place)
  switch (message.method) {
    case 'turn/started':
    case 'turn/completed':
      return turnSeen(parts, message)
    case 'item/started':
    case 'item/completed': {
      const { item, turnId, startedAtMs, completedAtMs } = message.params
      const ended = message.method === 'item/completed'
      const when = timeOf(ended ? completedAtMs : startedAtMs, message.emittedAtMs)
      return itemSeen(parts, item, { threadId, turnId, ended, at: when })
    }
    case 'thread/tokenUsage/updated':
      return usageSeen(parts, message, place)
    case 'serverRequest/resolved':
      return parts.waits.answered(message.params.requestId, at)
    case 'error': {
      const { error } = message.params
      const data = { what: failureWord(error) ?? 'error', ...given({ message: error.message || undefined }) }
      return void parts.record({ kind: 'error', data }, place)
    }
    default:
  }
}

/** A turn of the main agent or of a subagent began or ended. */
function turnSeen(
  { thread_id, turns, agents, waits }: Parts,
  { method, params, emittedAtMs }: MessageOf<'turn/started' | 'turn/completed'>,
): void {
  const { threadId, turn } = params
  const at = timeOf(emittedAtMs)
  const is_main = threadId === thread_id
  if (method === 'turn/started') return is_main ? turns.begin(turn.id, at) : agents.turnStarted(threadId, at)
  if (is_main) return turns.end(turn, at, () => waits.endAll(threadId, at))
  waits.endAll(threadId, at)
  agents.turnEnded(threadId, turn, at)
}

function itemSeen(
  { thread_id, turns, items, agents, placeOf }: Parts,
  item: Item,
  of: { threadId: string; turnId: string; ended: boolean; at?: string | undefined },
): void {
  const { threadId, turnId, ended, at } = of
  if (threadId === thread_id && !items.isKnown(item.id)) turns.itemSeen(item, turnId, at)
  const place = placeOf(threadId, at)
  if (place === null) return
  if (ended) items.completed(item, threadId, place)
  else items.started(item, threadId, place)
  agents.itemSeen(item, ended, place)
}

function usageSeen(
  { thread_id, model, turns, usage, record }: Parts,
  { params }: MessageOf<'thread/tokenUsage/updated'>,
  place: Place,
): void {
  const figures = usage.updated(params)
  // The figures of an earlier turn are repeated when the thread is opened again.
  if (params.threadId === thread_id && !turns.isOpen(params.turnId)) return
  record({ kind: 'usage', data: { ...figures, ...given({ model }) } }, place)
}

function catchUp(parts: Parts, turn: Turn): void {
  const { thread_id, turns, waits } = parts
  turns.begin(turn.id, timeOf(idTime(turn.id)) ?? secondsOf(turn.startedAt))
  if (!turns.isOpen(turn.id)) return
  for (const found of turn.items) {
    const item = Item.safeParse(found).data
    if (item === undefined) continue
    const { startedAtMs, completedAtMs } = item
    const of = { threadId: thread_id, turnId: turn.id }
    itemSeen(parts, item, { ...of, ended: false, at: timeOf(startedAtMs) })
    if (typeof completedAtMs === 'number')
      itemSeen(parts, item, { ...of, ended: true, at: timeOf(completedAtMs) })
  }
  const at = secondsOf(turn.completedAt)
  if (turn.status !== 'inProgress') turns.end(turn, at, () => waits.endAll(thread_id, at))
}

/** Returns the time in the id of a turn; the turn's own time is in whole seconds. Source: RFC 9562, UUIDv7. */
function idTime(turn_id: string): number | undefined {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(turn_id) ?? []
  return high === undefined ? undefined : Number.parseInt(`${high}${low}`, 16)
}

function secondsOf(seconds: number | null | undefined): string | undefined {
  return timeOf(seconds == null ? undefined : seconds * 1000)
}
