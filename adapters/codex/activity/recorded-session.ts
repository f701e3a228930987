/** The session that is recorded: its begin and its end, and a note of it, because the app-server outlives a shim. */
import { given, ThreadFacts, word } from './messages.ts'
import type { RecordedTurn } from './thread-turns.ts'
import type { Thread } from '../protocol.ts'
import type { ActivityLog } from '../../activity/activity-log.ts'
import type { InstanceId, SessionId } from '../../../src/contracts/ids.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Log } from '../../../src/ports/log.ts'

export interface RecordedSession {
  session_id: SessionId
  /** Process of its app-server; null if unknown. */
  instance_id: InstanceId | null
  /** When its thread was bound. */
  since_ms: number
  turn: RecordedTurn | null
}

export interface RecordedSessionStore {
  read(): RecordedSession | null
  /** Throws if the disk refuses it. */
  write(session: RecordedSession | null): void
}

export interface RecordedSessionDeps {
  log: Pick<ActivityLog, 'record' | 'isKnown'>
  store: RecordedSessionStore
  clock: Pick<Clock, 'now'>
  own_log: Log
}

/** Reasons for the end of a session. */
export type EndReason = 'closed' | 'other_thread' | 'exit'

export function recordedSession({ log, store, clock, own_log }: RecordedSessionDeps) {
  let session = store.read()

  function write(): void {
    try {
      store.write(session)
    } catch (error) {
      own_log.debug({ err: error }, 'recorded session not stored')
    }
  }

  function end(reason: EndReason): void {
    if (session === null) return
    const of = { session_id: session.session_id, source: 'app_server' } as const
    session = null
    write()
    log.record({ kind: 'session.ended', data: { reason } }, of)
  }

  return {
    /** The session that has not ended. A former shim may have recorded it. */
    current: () => session,
    end,

    /** The surface is bound to the thread. Records its begin, and the end of another session, if they were not. */
    begin(thread: Thread, instance_id: InstanceId | null): RecordedSession {
      if (session?.session_id === thread.id && session.instance_id === instance_id) return session
      end(session?.session_id === thread.id ? 'exit' : 'other_thread')
      const { cwd, model, preview } = ThreadFacts.parse(thread)
      const reason = log.isKnown(thread.id) ? 'resume' : preview === '' ? 'startup' : undefined
      const about = { project: cwd || undefined, model: model ? word(model) : undefined, reason }
      const data = given({ ...about, ...processOf(instance_id) })
      log.record({ kind: 'session.started', data }, { session_id: thread.id, source: 'app_server' })
      session = { session_id: thread.id, instance_id, since_ms: clock.now(), turn: null }
      write()
      return session
    },

    turnRecorded(turn: RecordedTurn): void {
      if (session === null) return
      session = { ...session, turn }
      write()
    },
  }
}

/** Returns the process of an instance. */
function processOf(instance_id: InstanceId | null): { pid?: number; pid_started?: string } {
  const [, pid, started] = /^(\d{1,15}):(.+)$/.exec(instance_id ?? '') ?? []
  if (pid === undefined || started === undefined) return {}
  return { pid: Number(pid), pid_started: word(started) }
}
