/**
 * Chooses the thread to ring: the newest one in which a person works. Pure.
 *
 * On the persona's own app-server every thread that a person started belongs to the persona. On the shared app-server
 * of a plain `codex`, and in a terminal that keeps its thread to itself, only threads belong to it that a hook or a
 * tool call has reported for this persona.
 */
import type { Thread } from './protocol.ts'
import type { ClientProcess, ThreadEvent, ThreadNews } from '../../src/contracts/clients/codex.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Turn } from '../../src/contracts/registry.ts'

/** A thread that hooks or tool calls have reported. */
export interface ReportedThread {
  thread_id: string
  /** Time of the last report, in milliseconds. */
  at_ms: number
  /** From its hooks; `unknown` until one of them reports a turn. */
  turn: Turn
  paused: boolean
  /** The process that ran its hooks. When it has exited, no process holds the thread. */
  client?: ClientProcess
}
/** By thread id, the most recently reported last; limited to the newest `codex_known_threads_max`. */
export type ReportedThreads = ReadonlyMap<string, ReportedThread>

export function withNews(threads: ReportedThreads, news: ThreadNews): ReportedThreads {
  const { thread_id, event } = news
  const next = new Map(threads)
  next.delete(thread_id)
  if (event === 'SessionEnd') return next
  const previous: Omit<ReportedThread, 'thread_id'> = threads.get(thread_id) ?? NO_NEWS
  const at_ms = Math.max(Date.parse(news.at), previous.at_ms)
  const client = news.client === undefined ? {} : { client: news.client }
  next.set(thread_id, { ...previous, thread_id, at_ms, ...client, ...changeOf(event) })
  return new Map([...next].slice(-LIMITS.codex_known_threads_max))
}

const NO_NEWS = { turn: 'unknown', paused: false, at_ms: 0 } as const

function changeOf(event: ThreadEvent): Partial<ReportedThread> {
  switch (event) {
    // Codex starts a session with its first prompt.
    case 'SessionStart':
    case 'UserPromptSubmit':
      return { turn: 'busy' }
    case 'Stop':
      return { turn: 'idle', paused: false }
    case 'Interrupt':
      return { turn: 'idle', paused: true }
    default:
      return {}
  }
}

/**
 * Whether the report shows that the person switched to its thread. A prompt shows it; a tool call shows it only while
 * the bound thread is idle, because two threads may work at the same time.
 */
export function switchesThread(bound: { thread_id: string | null; turn: Turn }, news: ThreadNews): boolean {
  if (bound.thread_id === news.thread_id) return false
  switch (news.event) {
    case 'SessionStart':
      return true
    case 'UserPromptSubmit':
      return news.bell === undefined
    case 'Drain':
    case 'ToolCall':
      return bound.turn !== 'busy'
    case 'Stop':
    case 'Interrupt':
    case 'SessionEnd':
      return bound.thread_id === null
  }
}

/** Whether a person works in this thread. */
export function isUserThread(thread: Thread): boolean {
  return (
    !thread.ephemeral &&
    thread.parentThreadId === null &&
    thread.threadSource === 'user' &&
    // A single command: the thread ends with it.
    thread.source !== 'exec'
  )
}

/** Returns the threads that may be rung, newest first. `loaded` are the threads of the persona's own app-server. */
export function candidates(threads: ReportedThreads, loaded: readonly Thread[]): string[] {
  const at = new Map<string, number>()
  for (const { thread_id, at_ms } of threads.values()) at.set(thread_id, at_ms)
  for (const { id, updatedAt = 0 } of loaded.filter(isUserThread)) {
    at.set(id, Math.max(updatedAt * 1000, at.get(id) ?? 0))
  }
  return [...at].sort(([, a], [, b]) => b - a).map(([thread_id]) => thread_id)
}
