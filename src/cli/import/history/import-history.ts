/**
 * Imports the sessions of a client's history that the hub does not know from the client itself. A session that was imported
 * before is continued after its last event.
 */
import type { HistoryEvent } from './recorder.ts'
import { createRate, createSender, type Rate } from './send.ts'
import type { FoundHistory, HistorySession } from './session.ts'
import { Completeness, SessionActivity } from '../../../contracts/activity/views.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { ClientKind, Identity } from '../../../contracts/ids.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Ids } from '../../../ports/random.ts'
import type { HubClient } from '../../hub/client.ts'

export interface HistoryImport {
  hub: HubClient
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  ids: Pick<Ids, 'next'>
  client: ClientKind
  /** Persona of the sessions. */
  identity: Identity
  /** Sends nothing. */
  dry_run: boolean
}

/** What became of a session. */
export const OUTCOMES = {
  imported: 'imported',
  continued: 'continued',
  unchanged: 'imported before, unchanged',
  live: 'skipped: the client reports them itself',
  recent: 'skipped: changed a short time ago',
  empty: 'skipped: without prompts and tool calls',
  refused: 'skipped: the hub does not store them (activity.capture, activity.deny)',
  unread: 'skipped: not readable',
} as const
export type Outcome = keyof typeof OUTCOMES

export interface HistorySummary {
  sessions: Record<Outcome, number>
  /** Events that the hub had not stored before; in a dry run, those that would be sent. */
  events: number
  requests: number
  subtasks: number
  actions: number
  skipped_lines: { damaged: number; too_long: number }
  /** Files of subagents whose session was not found. */
  orphaned: number
  unread: FoundHistory['unread']
}

export async function importHistory(deps: HistoryImport, found: FoundHistory): Promise<HistorySummary> {
  const none = Object.fromEntries(Object.keys(OUTCOMES).map((outcome) => [outcome, 0]))
  const summary: HistorySummary = {
    ...{ sessions: none as HistorySummary['sessions'], events: 0, requests: 0, subtasks: 0, actions: 0 },
    ...{ skipped_lines: { damaged: 0, too_long: 0 }, orphaned: found.orphaned, unread: [...found.unread] },
  }
  const rate = createRate(deps.clock)
  for (const session of found.sessions) {
    try {
      summary.sessions[await importSession(deps, session, summary, rate)] += 1
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (error instanceof TurnbellError || code === undefined) throw error
      summary.sessions.unread += 1
      summary.unread.push({ file: session.file, reason: message })
    }
  }
  return summary
}

/** What the hub stores of the session. */
interface Known {
  session: SessionActivity
  /** Number up to which all events are stored. */
  up_to: number
}

async function importSession(
  deps: HistoryImport,
  session: HistorySession,
  summary: HistorySummary,
  rate: Rate,
): Promise<Outcome> {
  const now = deps.clock.now()
  if (now - session.changed_at < LIMITS.history_pause_ms) return 'recent'
  const known = await knownSession(deps.hub, session.session_id)
  if (known !== null && !SOURCES.has(known.session.state.evidence.source)) return 'live'

  const events = session.events(now, summary.skipped_lines)
  const first = afterStored(events, known)
  if (first === 'live') return 'live'
  if (first === null) return known === null ? 'empty' : 'unchanged'
  const { session_id } = session
  const identity = known?.session.identity ?? deps.identity
  const sender = createSender(
    { ...deps, report: (report) => deps.hub.reportActivity(report) },
    ...([rate, { session_id, client: deps.client, identity }] as const),
  )
  let sent = 0
  for (
    let next: HistoryEvent | undefined = first;
    next !== undefined;
    next = events.next().value as HistoryEvent | undefined
  ) {
    if (!deps.dry_run && !(await sender.add(next))) return 'refused'
    sent += 1
    if (next.kind === 'request.started') summary.requests += 1
    if (next.kind === 'subtask.started') summary.subtasks += 1
    if (next.kind === 'action.started') summary.actions += 1
  }
  if (!(await sender.flush())) return 'refused'
  summary.events += deps.dry_run ? sent : sender.accepted()
  return known === null ? 'imported' : 'continued'
}

/** `clock`: a session whose last turn did not end shows that nothing was reported of it for a time. */
const SOURCES: ReadonlySet<string> = new Set(['import', 'clock'])

async function knownSession(hub: HubClient, session_id: string): Promise<Known | null> {
  try {
    const session = await hub.ask('activity', 'session', { session_id }, SessionActivity)
    const { received, missing } = await hub.ask('activity', 'completeness', { session_id }, Completeness)
    const [gap] = missing[0] ?? []
    return { session, up_to: gap === undefined ? received : gap - 1 }
  } catch (error) {
    if (error instanceof TurnbellError && error.code === 'activity_unknown') return null
    throw error
  }
}

/**
 * Skips the events that the hub has stored. Returns the next event, or null if there is none. Returns `live` if the stored
 * events come from the running client and not from this file, which the time of the newest one shows.
 */
function afterStored(events: Iterator<HistoryEvent>, known: Known | null): HistoryEvent | 'live' | null {
  let latest = ''
  for (let next = events.next(); ; next = events.next()) {
    const event = next.done === true ? null : next.value
    if (known === null || event === null || event.seq > known.up_to) {
      const { evidence } = known?.session.state ?? {}
      return evidence?.source === 'clock' && evidence.at !== latest ? 'live' : event
    }
    if (event.at > latest) latest = event.at
  }
}
