/** What the readers of the clients' history files have in common. */
import type { HistoryEvent } from './recorder.ts'
import type { SkippedLines } from './lines.ts'

/** The files of one session, found but not read. */
export interface HistorySession {
  session_id: string
  /** Names the session in messages. */
  file: string
  /** Time of the last change of any of its files, in milliseconds. */
  changed_at: number
  /** Yields all events in order. `until`: no line follows until this time. */
  events(until: number, skipped: SkippedLines): Generator<HistoryEvent>
}

export interface FoundHistory {
  /** Oldest change first. */
  sessions: HistorySession[]
  /** Files that are not readable, with the reason. */
  unread: { file: string; reason: string }[]
  /** Number of files of subagents whose session was not found. */
  orphaned: number
}

/** A client whose history can be imported. */
export interface HistoryReader {
  /** Default folder; it may not exist. */
  folder(env: NodeJS.ProcessEnv): string
  /** Throws `usage_invalid` if the folder contains no history. */
  find(folder: string, since: number): FoundHistory
}
