/**
 * The numbers of each session's events. They are stored before a report leaves, so that a shim that was killed and started
 * again does not use a number twice: the hub would take the later event for a repetition.
 */
import type { SessionId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Log } from '../../src/ports/log.ts'

export interface StoredNumbers {
  /** Number of the next event; from 1. */
  next_seq: number
  /** Number of the last turn; 0 before the first one. */
  turn_seq: number
}

export interface NumberStore {
  /** Returns null if nothing readable is stored. */
  read(session_id: SessionId): StoredNumbers | null
  /** Throws if the disk refuses it. */
  write(session_id: SessionId, numbers: StoredNumbers): void
}

export interface Numbers extends StoredNumbers {
  /** Stored by an earlier shim, or compared with the hub. */
  is_known: boolean
}

export interface SessionNumbers {
  /** Returns the numbers of the session, which the caller changes. */
  of(session_id: SessionId): Numbers
  /** Stores the numbers as they are. A failure is logged once and does not stop the report. */
  store(session_id: SessionId): void
}

export function createSessionNumbers(store: NumberStore, log: Log): SessionNumbers {
  /** Least recently used first. */
  const sessions = new Map<SessionId, Numbers>()
  let warned = false

  const read = (session_id: SessionId): Numbers => {
    const stored = store.read(session_id)
    return stored === null ? { next_seq: 1, turn_seq: 0, is_known: false } : { ...stored, is_known: true }
  }

  return {
    of(session_id) {
      const numbers = sessions.get(session_id) ?? read(session_id)
      sessions.delete(session_id)
      sessions.set(session_id, numbers)
      const oldest = sessions.keys().next().value
      if (sessions.size > LIMITS.activity_sessions_max && oldest !== undefined) sessions.delete(oldest)
      return numbers
    },
    store(session_id) {
      const numbers = sessions.get(session_id)
      if (numbers === undefined) return
      try {
        store.write(session_id, { next_seq: numbers.next_seq, turn_seq: numbers.turn_seq })
        warned = false
      } catch (error) {
        if (!warned) log.warn({ err: error }, 'numbers of activity not stored')
        warned = true
      }
    },
  }
}
