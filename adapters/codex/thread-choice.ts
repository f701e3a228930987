/**
 * Which thread is rung: the newest that a person works in. Pure.
 *
 * On the persona's own app-server every thread that a person began is the persona's. On the one that a plain
 * `codex` starts, and in a terminal that keeps its thread to itself, only those are of which a hook or a tool
 * call has told that they act for this persona.
 */
import type { Thread } from './protocol.ts'
import type { ClientProcess, ThreadEvent, ThreadNews } from '../../src/contracts/codex.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Turn } from '../../src/contracts/registry.ts'

/** A thread of which something was told. */
export interface ToldThread {
  thread_id: string
  /** Of the last news; milliseconds. */
  at_ms: number
  /** From its hooks; `unknown` while none of them told of a turn. */
  turn: Turn
  paused: boolean
  /** Who ran its hooks; where that one is gone, nobody holds the thread. */
  client?: ClientProcess
}
/** The one that was last told of stands last; of very many only the newest are kept. */
export type ToldThreads = ReadonlyMap<string, ToldThread>

export function told(threads: ToldThreads, news: ThreadNews): ToldThreads {
  const { thread_id, event } = news
  const next = new Map(threads)
  next.delete(thread_id)
  if (event === 'SessionEnd') return next
  const before: Omit<ToldThread, 'thread_id'> = threads.get(thread_id) ?? NOTHING
  const at_ms = Math.max(Date.parse(news.at), before.at_ms)
  const client = news.client === undefined ? {} : { client: news.client }
  next.set(thread_id, { ...before, thread_id, at_ms, ...client, ...changeOf(event) })
  return new Map([...next].slice(-LIMITS.codex_told_threads_max))
}

const NOTHING = { turn: 'unknown', paused: false, at_ms: 0 } as const

function changeOf(event: ThreadEvent): Partial<ToldThread> {
  switch (event) {
    // Codex begins a session with its first prompt.
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
 * Whether the person has gone over to the thread of these news. A prompt says so; a tool call only while the
 * bound thread rests, because two threads may work at the same time.
 */
export function goesOver(bound: { thread_id: string | null; turn: Turn }, news: ThreadNews): boolean {
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
export function isPersons(thread: Thread): boolean {
  return (
    !thread.ephemeral &&
    thread.parentThreadId === null &&
    thread.threadSource === 'user' &&
    // One command, one run: nobody is there after it.
    thread.source !== 'exec'
  )
}

/** All that may be rung, the newest first. `held` are the threads of the persona's own app-server. */
export function candidates(threads: ToldThreads, held: readonly Thread[]): string[] {
  const at = new Map<string, number>()
  for (const { thread_id, at_ms } of threads.values()) at.set(thread_id, at_ms)
  for (const { id, updatedAt = 0 } of held.filter(isPersons)) {
    at.set(id, Math.max(updatedAt * 1000, at.get(id) ?? 0))
  }
  return [...at].sort(([, a], [, b]) => b - a).map(([thread_id]) => thread_id)
}
