/** Searches the thread to ring on all app-servers. */
import { AppServerError, INVALID_REQUEST, isTemporary, type AppServer } from './app-server.ts'
import { LoadedThreads, ThreadAnswer, type Thread } from './protocol.ts'
import { candidates, isUserThread, type ReportedThread, type ReportedThreads } from './thread-choice.ts'
import type { ClientProcess } from '../../src/contracts/clients/codex.ts'
import type { Log } from '../../src/ports/log.ts'

/** `own`: the persona's own app-server; `shared`: the one that every plain `codex` of this user shares. */
export type ServerKind = 'own' | 'shared'

export type FoundThread =
  | { kind: 'live'; thread: Thread; server_kind: ServerKind }
  | { kind: 'queue'; thread: ReportedThread; server_kind: ServerKind }

export interface SearchDeps {
  servers: Record<ServerKind, AppServer | null>
  /** Connects if that was not tried yet. Resolves when `servers` contains the server or the attempt has failed. */
  reach: (server_kind: ServerKind) => Promise<void>
  alive: (client: ClientProcess) => boolean
  log: Log
}

/**
 * Returns the newest thread that can be reached, through its app-server or at least through its queue. Rejects if an
 * app-server did not answer and no thread was found.
 */
export async function searchThread(deps: SearchDeps, threads: ReportedThreads): Promise<FoundThread | null> {
  const { held, unread: errors } = await loadedThreads(deps.servers.own)
  const failed = [...errors]
  for (const thread_id of candidates(threads, held)) {
    const own = held.find(({ id }) => id === thread_id)
    if (own !== undefined) return { kind: 'live', thread: own, server_kind: 'own' }
    const reported = threads.get(thread_id)
    if (reported === undefined) continue
    try {
      const found = await findElsewhere(deps, reported)
      if (found !== null) return found
    } catch (error) {
      deps.log.debug({ err: error, thread_id }, 'thread could not be read')
      if (isTemporary(error)) failed.push(error)
    }
  }
  if (failed.length > 0) throw failed[0]
  return null
}

/** Finds a thread that the own app-server has not loaded; null if no process holds it. */
async function findElsewhere(
  { servers, reach, alive, log }: SearchDeps,
  thread: ReportedThread,
): Promise<FoundThread | null> {
  if (servers.shared === null) await reach('shared')
  const { held, unread } = await loadedThreads(servers.shared, thread.thread_id)
  const shared = held.find(isUserThread)
  if (shared !== undefined) return { kind: 'live', thread: shared, server_kind: 'shared' }
  if (unread.length > 0) throw unread[0]
  // No hook has reported a turn, so the thread may have ended.
  if (thread.turn === 'unknown') return null
  if (thread.client !== undefined && !alive(thread.client)) {
    log.debug(
      { thread_id: thread.thread_id, client_pid: thread.client.pid },
      'Codex process of a thread has exited',
    )
    return null
  }
  if (servers.shared === null && servers.own === null) await reach('own')
  const server_kind = servers.shared === null ? 'own' : 'shared'
  const kept = await servers[server_kind]?.call('thread/read', { threadId: thread.thread_id }, ThreadAnswer)
  return kept !== undefined && isUserThread(kept.thread) ? { kind: 'queue', thread, server_kind } : null
}

/** Returns the threads that an app-server has loaded, and the errors of those that could not be read. */
async function loadedThreads(
  server: AppServer | null,
  only?: string,
): Promise<{ held: Thread[]; unread: unknown[] }> {
  if (server === null) return { held: [], unread: [] }
  const { data } = await server.call('thread/loaded/list', {}, LoadedThreads)
  const thread_ids = data.filter((threadId) => only === undefined || threadId === only)
  const reads = await Promise.allSettled(
    thread_ids.map((threadId) => server.call('thread/read', { threadId }, ThreadAnswer)),
  )
  return {
    held: reads.flatMap((look) => (look.status === 'fulfilled' ? look.value.thread : [])),
    unread: reads
      .filter((look) => look.status === 'rejected')
      .map(({ reason }): unknown => reason)
      .filter((error) => !isNotLoaded(error)),
  }
}

/** The thread ended after it was listed. */
const isNotLoaded = (error: unknown) => error instanceof AppServerError && error.code === INVALID_REQUEST
