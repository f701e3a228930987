/** Stores the events of a session: each once, in any order, filtered and redacted. */
import type { ActivityEvent } from '../../contracts/activity/event.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { SessionId, Timestamp } from '../../contracts/ids.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import { redactEvent } from '../../ports/redaction/redact-event.ts'
import type { Redactor } from '../../ports/redaction/redactor.ts'
import { filterEvent, type FilteredEvent, type FilterSettings } from './content-filter.ts'
import { createDraft, foldEvent } from './event-rows.ts'
import { continuedBy, withImportedTurns } from './imported.ts'
import { projectRow, type ProjectIds } from './project-ids.ts'
import { boundedRanges, highestReceived, isReceived, withReceived } from './received.ts'
import { stateOf } from './session-state.ts'
import { emptySessionTrack, toRow, type Session } from './session-track.ts'
import type { HeldSession, Sessions } from './sessions.ts'
import { isSame } from './state-track.ts'
import type { ActivityBatch, IngestResult } from './types.ts'

export interface IngestDeps {
  sessions: Sessions
  projects: ProjectIds
  redactor: Redactor
  settings: FilterSettings
  clock: Pick<Clock, 'now'>
}

/** Sessions of denied projects that are known by their session.started. They are not stored. */
const DENIED_SESSIONS_MAX = 10_000

export function createIngest(deps: IngestDeps): (batch: ActivityBatch) => Promise<IngestResult> {
  const denied = new Set<SessionId>()
  const { settings, sessions } = deps

  /** Whether nothing of the batch may be stored. */
  const isDenied = (session: Session | null, { session_id, events }: ActivityBatch): boolean => {
    if (settings.capture === 'off') return true
    if (settings.deny.isEmpty) return false
    const start = events.findLast((event) => event.kind === 'session.started')
    const project = start?.data.project ?? session?.track.project
    // After a restart a session of a denied project is recognised only by its next start.
    const unknown = project === undefined && session === null && start === undefined
    const isHidden = unknown || (project == null ? denied.has(session_id) : settings.deny.deniesPath(project))
    if (isHidden) denied.add(session_id)
    else denied.delete(session_id)
    const [oldest] = denied
    if (denied.size > DENIED_SESSIONS_MAX && oldest !== undefined) denied.delete(oldest)
    return isHidden
  }

  return (batch) =>
    sessions.exclusive(batch.session_id, async (held) => {
      const stored = await held.read()
      const session = stored === null ? null : continuedBy(stored, batch)
      if (session !== null && session.row.identity !== batch.identity)
        throw new TurnbellError('identity_mismatch', {
          detail: `the session ${batch.session_id} belongs to ${session.row.identity}, not to ${batch.identity}`,
        })
      if (isDenied(session, batch)) return nothingStored(session, batch)
      return storeBatch(deps, held, session, batch)
    })
}

function nothingStored(session: Session | null, { events }: ActivityBatch): IngestResult {
  const highest = events.reduce(
    (seq, event) => Math.max(seq, event.seq),
    highestReceived(session?.track.received ?? []),
  )
  return { accepted: 0, duplicates: 0, next_seq: highest + 1, changed: null }
}

async function storeBatch(
  deps: IngestDeps,
  held: HeldSession,
  stored: Session | null,
  batch: ActivityBatch,
): Promise<IngestResult> {
  const { clock, projects, settings } = deps
  const now = clock.now()
  const known = trackFor(stored, batch)
  if (known === null) return nothingStored(stored, batch)
  const { fresh, received } = freshEvents(batch.events, known.received)
  const duplicates = batch.events.length - fresh.length
  if (fresh.length === 0 && (stored === null || batch.dropped === 0))
    return { accepted: 0, duplicates, next_seq: highestReceived(known.received) + 1, changed: null }

  const past = fresh.map((event) => notInFuture(event, timestamp(clock)))
  const numbers = { is_new: stored === null, numbered_by_hub: batch.numbered_by_hub }
  const { events, ...imported } = withImportedTurns(known, past, numbers)
  const { ranges, given_up } = boundedRanges(received)
  const session = stored ?? newSession(batch, events[0]?.at ?? timestamp(clock))
  const track = {
    ...known,
    ...imported,
    received: ranges,
    request_id: newestRequest(events) ?? known.request_id,
    events: known.events + events.length,
    spooled: known.spooled + (batch.spooled ? events.length : 0),
    dropped: known.dropped + batch.dropped + given_up,
  }
  const paths = new Set(
    events.flatMap((event) => (event.kind === 'session.started' ? (event.data.project ?? []) : [])),
  )
  if (track.project !== null) paths.add(track.project)
  const ids = new Map(
    await Promise.all([...paths].map(async (path) => [path, await projects.find(path)] as const)),
  )
  const draft = createDraft({ row: session.row, track }, ids)
  for (const one of await cleanEvents(events, track, settings, deps.redactor)) foldEvent(draft, one)
  const { row } = draft.session
  for (const [path, id] of ids) draft.rows.projects.push(projectRow(id, path, row.last_at))
  draft.rows.sessions.push(toRow(draft.session))
  await held.write(draft.session, draft.rows)

  const before = known.state === null ? null : stateOf(known.state, now)
  const after = draft.session.track.state === null ? null : stateOf(draft.session.track.state, now)
  const same = before !== null && after !== null && isSame(before, after)
  return {
    accepted: events.length,
    duplicates,
    next_seq: highestReceived(ranges) + 1,
    changed: same ? null : after,
  }
}

/** Returns the track that the batch continues, null if the batch must be ignored. */
function trackFor(stored: Session | null, { numbered_by_hub }: ActivityBatch): Session['track'] | null {
  const track = stored?.track ?? { ...emptySessionTrack(), numbered_by_hub }
  if (track.numbered_by_hub === numbered_by_hub) return track
  // The shim has begun to report the session.
  if (numbered_by_hub) return null
  return { ...track, numbered_by_hub, received: [], events: 0, state: null }
}

/** Returns the events that were not received before, in their order. */
function freshEvents(events: readonly ActivityEvent[], before: Session['track']['received']) {
  let received = before
  const fresh: ActivityEvent[] = []
  for (const event of events) {
    if (isReceived(received, event.seq)) continue
    received = withReceived(received, event.seq)
    fresh.push(event)
  }
  return { fresh: fresh.sort((a, b) => a.seq - b.seq), received }
}

function newestRequest(events: readonly ActivityEvent[]): string | undefined {
  return events.findLast((event) => event.kind === 'request.started')?.data.request_id
}

/** Another machine's clock may be ahead. A time in the future would keep a silent session from becoming unknown. */
function notInFuture(event: ActivityEvent, now: Timestamp): ActivityEvent {
  return event.at > now ? { ...event, at: now } : event
}

function newSession({ session_id, identity, client }: ActivityBatch, at: Timestamp): Session {
  return {
    row: {
      session_id,
      identity,
      client,
      project_id: null,
      continues: null,
      model: null,
      started_at: at,
      ended_at: null,
      last_at: at,
      context_tokens: null,
      context_window: null,
    },
    track: emptySessionTrack(),
  }
}

/** Removes what must not be stored, and then all secrets. */
function cleanEvents(
  events: readonly ActivityEvent[],
  { state, project, denied_calls }: Session['track'],
  settings: FilterSettings,
  redactor: Redactor,
): Promise<FilteredEvent[]> {
  const allowed_calls = new Set(state?.tools.map(({ id }) => id))
  for (const id of denied_calls) allowed_calls.delete(id)
  const context = { project, allowed_calls }
  const filtered = events.map((event) => {
    if (event.kind === 'session.started') context.project = event.data.project ?? context.project
    return filterEvent(event, settings, context)
  })
  // All together, because the redactor checks the texts of one moment at once.
  return Promise.all(
    filtered.map(async (one) => {
      const event = await redactEvent(one.event, redactor)
      if (one.call === null) return { ...one, event }
      const paths = await Promise.all(one.call.paths.map((path) => redactor.redact(path)))
      return { ...one, event, call: { ...one.call, name: await redactor.redact(one.call.name), paths } }
    }),
  )
}
