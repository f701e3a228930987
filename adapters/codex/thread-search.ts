/** Looks for the thread that is to be rung, on every app-server there is. */
import { AppServerError, INVALID_REQUEST, mayPass, type AppServer } from './app-server.ts'
import { LoadedThreads, ThreadAnswer, type Thread } from './protocol.ts'
import { candidates, isPersons, type ToldThread, type ToldThreads } from './thread-choice.ts'
import type { ClientProcess } from '../../src/contracts/codex.ts'
import type { Log } from '../../src/ports/log.ts'

/** The persona's own app-server, or the one that every plain `codex` of this user shares. */
export type Place = 'own' | 'shared'

export type Found =
  | { kind: 'live'; thread: Thread; place: Place }
  | { kind: 'queue'; thread: ToldThread; place: Place }

export interface SearchPlaces {
  servers: Record<Place, AppServer | null>
  /** Connects where that was not tried yet, and resolves once `servers` has it or it failed. */
  reach: (place: Place) => Promise<void>
  alive: (client: ClientProcess) => boolean
  log: Log
}

/**
 * The newest that can be reached, by its app-server or at least by its queue. Rejects where an app-server did not
 * answer, and nothing else was found.
 */
export async function searchThread(places: SearchPlaces, threads: ToldThreads): Promise<Found | null> {
  const { held, unread } = await threadsOn(places.servers.own)
  const failed = [...unread]
  for (const thread_id of candidates(threads, held)) {
    const own = held.find(({ id }) => id === thread_id)
    if (own !== undefined) return { kind: 'live', thread: own, place: 'own' }
    const known = threads.get(thread_id)
    if (known === undefined) continue
    try {
      const found = await elsewhere(places, known)
      if (found !== null) return found
    } catch (error) {
      places.log.debug({ err: error, thread_id }, 'the thread could not be looked at')
      if (mayPass(error)) failed.push(error)
    }
  }
  if (failed.length > 0) throw failed[0]
  return null
}

/** Null for one that nobody holds any more. */
async function elsewhere(
  { servers, reach, alive, log }: SearchPlaces,
  thread: ToldThread,
): Promise<Found | null> {
  if (servers.shared === null) await reach('shared')
  const { held, unread } = await threadsOn(servers.shared, thread.thread_id)
  const shared = held.find(isPersons)
  if (shared !== undefined) return { kind: 'live', thread: shared, place: 'shared' }
  if (unread.length > 0) throw unread[0]
  // No hook has told where its turns stand: it may be long gone.
  if (thread.turn === 'unknown') return null
  if (thread.client !== undefined && !alive(thread.client)) {
    log.debug({ thread_id: thread.thread_id, client_pid: thread.client.pid }, 'the Codex of a thread is gone')
    return null
  }
  if (servers.shared === null && servers.own === null) await reach('own')
  const place = servers.shared === null ? 'own' : 'shared'
  const kept = await servers[place]?.call('thread/read', { threadId: thread.thread_id }, ThreadAnswer)
  return kept !== undefined && isPersons(kept.thread) ? { kind: 'queue', thread, place } : null
}

/** Those that an app-server holds in memory, and why others of them could not be read. */
async function threadsOn(
  server: AppServer | null,
  only?: string,
): Promise<{ held: Thread[]; unread: unknown[] }> {
  if (server === null) return { held: [], unread: [] }
  const { data } = await server.call('thread/loaded/list', {}, LoadedThreads)
  const wanted = data.filter((threadId) => only === undefined || threadId === only)
  const looks = await Promise.allSettled(
    wanted.map((threadId) => server.call('thread/read', { threadId }, ThreadAnswer)),
  )
  return {
    held: looks.flatMap((look) => (look.status === 'fulfilled' ? look.value.thread : [])),
    unread: looks
      .filter((look) => look.status === 'rejected')
      .map(({ reason }): unknown => reason)
      .filter((error) => !hasEnded(error)),
  }
}

/** It ended between the list and the look. */
const hasEnded = (error: unknown) => error instanceof AppServerError && error.code === INVALID_REQUEST
