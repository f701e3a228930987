/**
 * Records what the sessions of one opencode process do, from its events. Each event belongs to a session; whether that is a
 * person's or a subagent's is read from the process if no event has reported it.
 */
import { threadCalls, type ThreadCalls } from './calls.ts'
import {
  parseClientEvent,
  type ClientEvent,
  type EventOf,
  type Failure,
  type SessionInfo,
} from './client-events.ts'
import {
  remembered,
  threadRecorder,
  type ClientProcess,
  type Thread,
  type ThreadRecorder,
} from './recorded-thread.ts'
import { threadTurns, type ThreadTurns } from './turns.ts'
import type { ActivityLog } from '../../activity/activity-log.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Log } from '../../../src/ports/log.ts'

/** Where a session is: opencode has an instance per directory. */
export interface SessionPlace {
  id: string
  directory: string
}

/** Reads sessions from the process. Each function may reject. */
export interface SessionReader {
  /** Returns null if the session does not exist. */
  session(place: SessionPlace): Promise<SessionInfo | null>
  isBusy(place: SessionPlace): Promise<boolean>
  /** Returns the failure of the newest message; undefined if it did not fail. */
  lastFailure(place: SessionPlace): Promise<Failure | undefined>
}

export interface OpencodeActivity {
  /** An event as opencode reports it, with the directory of its instance. Never throws. */
  handle(payload: unknown, directory: string): void
  /**
   * The events of this process follow, after others may have been missed. Sessions of another process have ended with it.
   * Never rejects.
   */
  attached(runs_in: ClientProcess | null, reader: SessionReader): Promise<void>
  /** turnbell rings in this session from now on; null: in none. */
  bound(place: SessionPlace | null): void
  /** Ends all sessions, because their process ends. */
  end(reason: string): void
}

export interface OpencodeActivityDeps {
  log: Pick<ActivityLog, 'record' | 'isKnown'>
  /** Recognizes turnbell's own prompts by the metadata of their text. */
  isBell: (metadata: Record<string, unknown> | undefined) => boolean
  logger: Log
}

/** A session with what records it. */
interface Recorded {
  thread: Thread
  turns: ThreadTurns
  calls: ThreadCalls
}

export function createOpencodeActivity({ log, isBell, logger }: OpencodeActivityDeps): OpencodeActivity {
  let runs_in: ClientProcess | null = null
  let reader: SessionReader | null = null
  let bound: SessionPlace | null = null
  const recorder = threadRecorder({ log, clientProcess: () => runs_in })
  const sessions = knownSessions(recorder, isBell)
  const unknown = unknownSessions({ sessions, reader: () => reader, apply: safely, logger })

  function safely(event: ClientEvent): void {
    try {
      apply(event, sessions, recorder)
    } catch (error) {
      logger.error({ err: error, type: event.type }, 'event of opencode not recorded')
    }
  }

  function end(reason: string): void {
    for (const { thread } of sessions.all()) if (thread.parent === null) recorder.end(thread, reason)
    sessions.clear()
    unknown.clear()
  }

  function startBound(): void {
    if (bound === null) return
    recorder.start((sessions.get(bound.id) ?? sessions.add({ ...bound }, null)).thread)
  }

  return {
    handle(payload, directory) {
      const event = parseClientEvent(payload)
      if (event === null) return
      const { sessionID } = event.properties
      if (event.type === 'session.created' || event.type === 'session.updated') {
        if (!sessions.learn(event.properties.info)) return unknown.hold(sessionID, event, directory)
        unknown.applyHeld(sessionID)
      } else if (sessions.get(sessionID) === undefined) return unknown.hold(sessionID, event, directory)
      safely(event)
    },

    async attached(now, next_reader) {
      const is_same = now?.pid === runs_in?.pid && now?.pid_started === runs_in?.pid_started
      if (!is_same && runs_in !== null) end('process_ended')
      runs_in = now
      reader = next_reader
      startBound()
      await endMissed(sessions.all(), next_reader, logger)
    },

    bound(place) {
      bound = place
      startBound()
    },

    end,
  }
}

/** Ends the runs that ended while no events were received. */
async function endMissed(sessions: readonly Recorded[], reader: SessionReader, logger: Log): Promise<void> {
  for (const { thread, turns } of sessions) {
    const { run } = thread
    if (run === null) continue
    const place = { id: thread.id, directory: thread.info.directory }
    try {
      if (await reader.isBusy(place)) continue
      const failure = await reader.lastFailure(place)
      if (thread.run === run) turns.endedWith(failure)
    } catch (error) {
      logger.debug({ err: error, session_id: thread.id }, 'turn of the session could not be read')
    }
  }
}

type KnownSessions = ReturnType<typeof knownSessions>

/** The sessions of which it is known whether they are a person's. */
function knownSessions(recorder: ThreadRecorder, isBell: OpencodeActivityDeps['isBell']) {
  let sessions = remembered<Recorded>(LIMITS.opencode_known_sessions_max)

  function add(info: SessionInfo, parent: Thread | null): Recorded {
    const own = { id: info.id, parent, info, started: false, was_known: false, run: null, has_run: false }
    const thread: Thread = Object.assign(own, { root: parent?.root ?? (own as unknown as Thread) })
    const recorded = {
      thread,
      turns: threadTurns(thread, { recorder, isBell }),
      calls: threadCalls(thread, recorder),
    }
    sessions.set(info.id, recorded)
    return recorded
  }

  return {
    get: sessionOf,
    add,
    all: () => sessions.values(),
    remove: (id: string) => sessions.delete(id),
    clear: () => void (sessions = remembered<Recorded>(LIMITS.opencode_known_sessions_max)),
    /** Returns false if the parent of the session is unknown. */
    learn(info: SessionInfo): boolean {
      const known = sessionOf(info.id)
      if (known !== undefined) {
        known.thread.info = info
        return true
      }
      if (info.parentID === undefined) return add(info, null) !== null
      const parent = sessionOf(info.parentID)
      return parent !== undefined && add(info, parent.thread) !== null
    },
  }

  function sessionOf(id: string): Recorded | undefined {
    return sessions.get(id)
  }
}

interface UnknownDeps {
  sessions: KnownSessions
  reader: () => SessionReader | null
  apply: (event: ClientEvent) => void
  logger: Log
}

/** Holds the events of a session that no event has described, until it was read. Those of a session that cannot be read are ignored. */
function unknownSessions({ sessions, reader, apply, logger }: UnknownDeps) {
  let held = new Map<string, ClientEvent[]>()

  /** Reads the session and its parents. Returns false if one of them does not exist. */
  async function read(place: SessionPlace, seen: ReadonlySet<string> = new Set()): Promise<boolean> {
    if (sessions.get(place.id) !== undefined) return true
    const from = reader()
    if (from === null || seen.has(place.id)) return false
    const info = await from.session(place)
    if (info === null) return false
    if (sessions.learn(info) || info.parentID === undefined) return true
    const above = { id: info.parentID, directory: place.directory }
    return (await read(above, new Set([...seen, place.id]))) && sessions.learn(info)
  }

  async function resolve(place: SessionPlace): Promise<void> {
    const found = await read(place).catch((error: unknown) => {
      logger.debug({ err: error, session_id: place.id }, 'session could not be read')
      return false
    })
    if (found) applyHeld(place.id)
    else held.delete(place.id)
  }

  function applyHeld(id: string): void {
    const events = held.get(id) ?? []
    held.delete(id)
    for (const event of events) apply(event)
  }

  return {
    hold(id: string, event: ClientEvent, directory: string): void {
      const events = held.get(id)
      if (events !== undefined) {
        if (events.length < LIMITS.activity_tracked_max) events.push(event)
        return
      }
      if (held.size >= LIMITS.activity_sessions_max) return
      held.set(id, [event])
      void resolve({ id, directory })
    },
    applyHeld,
    clear: () => void (held = new Map()),
  }
}

/** Records an event of a known session. */
function apply(event: ClientEvent, sessions: KnownSessions, recorder: ThreadRecorder): void {
  const session = sessions.get(event.properties.sessionID)
  if (session === undefined) return
  const { thread, turns, calls } = session
  switch (event.type) {
    case 'session.created':
      // A subagent's session begins with its first prompt.
      if (thread.parent === null) recorder.start(thread)
      return
    case 'session.updated':
      return
    case 'session.deleted':
      if (thread.parent === null) recorder.end(thread, 'deleted')
      sessions.remove(thread.id)
      return
    case 'session.status':
      return turns.status(event.properties.status)
    case 'session.idle':
      return turns.ended()
    case 'session.error':
      return turns.failed(event.properties.error)
    case 'session.compacted':
      return turns.compacted()
    case 'message.updated':
      return turns.messageUpdated(event.properties.info)
    case 'message.removed':
      return turns.messageRemoved(event.properties.messageID)
    case 'message.part.updated':
      return partUpdated(session, event.properties)
    case 'permission.asked':
      return calls.permissionAsked(event.properties)
    case 'question.asked':
      return calls.questionAsked(event.properties)
    case 'permission.replied':
      return answered(session, event.properties.requestID, event.properties.reply === 'reject')
    case 'question.replied':
    case 'question.rejected':
      return answered(session, event.properties.requestID, event.type === 'question.rejected')
  }
}

function partUpdated({ turns, calls }: Recorded, { part }: EventOf<'message.part.updated'>): void {
  if (part.type === 'tool') calls.updated(part)
  else turns.partUpdated(part)
}

function answered({ turns, calls }: Recorded, request_id: string, rejected: boolean): void {
  calls.answered(request_id, rejected)
  if (rejected) turns.refused()
}
