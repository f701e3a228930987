/**
 * One opencode session as it is recorded. A person's session is recorded under its own id. A subagent has a session of its own,
 * whose events belong to the person's session and to the request that started it.
 */
import type { SessionInfo } from './client-events.ts'
import type { ActivityLog } from '../../activity/activity-log.ts'
import type { Captured } from '../../activity/captured.ts'
import type { EndStatus } from '../../../src/contracts/activity/event.ts'
import type { SessionId } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'

/** A running turn: a request of the person's session, or the work of a subagent. */
export interface Run {
  /** Number of the request; undefined is the last one of the session. */
  turn_seq: number | undefined
  request_id: string | undefined
  prompt: string | undefined
  /** How it will end if nothing follows. */
  failure: {
    status: Exclude<EndStatus, 'completed'>
    reason?: string | undefined
    error?: string | undefined
  } | null
  /** Text of the last answer. */
  result: string | undefined
  compacted: boolean
}

export interface Thread {
  readonly id: string
  /** The thread of the person's session. */
  readonly root: Thread
  /** Null for the person's session. */
  readonly parent: Thread | null
  info: Pick<SessionInfo, 'directory' | 'title' | 'agent' | 'model'>
  /** Whether the begin of the person's session was recorded. */
  started: boolean
  /** Whether an earlier process recorded it. */
  was_known: boolean
  run: Run | null
  /** Whether a run was recorded by this process. */
  has_run: boolean
}

/** opencode's name of the failure of an aborted turn. */
export const ABORTED = 'MessageAbortedError'

/** The process that runs the sessions. */
export interface ClientProcess {
  pid: number
  pid_started: string | null
}

export interface ThreadRecorder {
  /** Records the begin of a person's session, once. */
  start(thread: Thread): void
  record(thread: Thread, fact: Captured, at?: number, turn_seq?: number): number
  /** Records the end of a person's session. */
  end(thread: Thread, reason: string): void
}

export interface ThreadRecorderDeps {
  log: Pick<ActivityLog, 'record' | 'isKnown'>
  /** Returns null if the process is unknown. */
  clientProcess: () => ClientProcess | null
}

export function threadRecorder({ log, clientProcess }: ThreadRecorderDeps): ThreadRecorder {
  const idOf = (thread: Thread): SessionId => thread.root.id

  function write(
    thread: Thread,
    fact: Captured,
    at: number | undefined,
    turn_seq: number | undefined,
  ): number {
    return log.record(fact, {
      session_id: idOf(thread),
      // Both ways are opencode's own event bus: a plugin receives it directly, the shim through the server.
      source: 'plugin',
      agent_id: thread.parent === null ? undefined : thread.id,
      turn_seq,
      ...given({ at: isoTime(at) }),
    })
  }

  function start(thread: Thread): void {
    const { root } = thread
    if (root.started) return
    root.started = true
    root.was_known ||= log.isKnown(idOf(root))
    const { directory, model } = root.info
    const runs_in = clientProcess()
    const data = {
      ...given({
        project: directory === '' ? undefined : directory,
        model: model && modelName(model.providerID, model.id),
      }),
      ...(runs_in === null ? {} : given({ pid: runs_in.pid, pid_started: runs_in.pid_started ?? undefined })),
    }
    write(root, { kind: 'session.started', data }, undefined, undefined)
  }

  return {
    start,
    record(thread, fact, at, turn_seq) {
      start(thread)
      return write(thread, fact, at, turn_seq ?? thread.run?.turn_seq)
    },
    end(thread, reason) {
      if (thread.started) write(thread, { kind: 'session.ended', data: { reason } }, undefined, undefined)
      thread.started = false
      thread.run = null
    },
  }
}

/** Returns opencode's own notation of a model. */
export function modelName(provider: string | undefined, model: string | undefined): string | undefined {
  if (model === undefined) return undefined
  return word(provider === undefined ? model : `${provider}/${model}`)
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Leaves out the fields that are undefined. */
export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>
}

/** Shortens a client's word to the length that a report may contain. */
export function word(text: string): string
export function word(text: string | undefined): string | undefined
export function word(text: string | undefined): string | undefined {
  return text?.slice(0, WORD_MAX)
}
const WORD_MAX = 256

/** Years that ISO 8601 writes with four digits. */
const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z')

export function isoTime(at: number | undefined): string | undefined {
  return at === undefined || !(at >= 0 && at <= TIME_MAX) ? undefined : new Date(at).toISOString()
}

/** Remembers the newest entries. */
export function remembered<Value>(max: number = LIMITS.activity_tracked_max) {
  const entries = new Map<string, Value>()
  return {
    get: (id: string): Value | undefined => entries.get(id),
    set(id: string, value: Value): void {
      entries.delete(id)
      entries.set(id, value)
      const oldest = entries.keys().next().value
      if (entries.size > max && oldest !== undefined) entries.delete(oldest)
    },
    take(id: string): Value | undefined {
      const value = entries.get(id)
      entries.delete(id)
      return value
    },
    delete: (id: string) => void entries.delete(id),
    values: (): Value[] => [...entries.values()],
  }
}
