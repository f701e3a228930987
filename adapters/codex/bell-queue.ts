/**
 * The queue of a thread, as far as our bells stand in it. It outlives this process and the app-server, so
 * before a bell is put there an older one of ours is looked for.
 *
 * A Codex without queues is rung by beginning a turn, which only an idle thread may be: where a person's
 * prompt comes first in that same moment, Codex takes ours for a word into their turn. The queue knows no
 * such race, so it is asked for first, once for each app-server.
 */
import { AppServerError, INVALID_REQUEST, type AppServer } from './app-server.ts'
import { QueueList, ThreadStory } from './protocol.ts'
import { bellIn, bellName } from './thread-tracker.ts'
import * as z from 'zod'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { DoorbellId, Identity } from '../../src/contracts/ids.ts'
import type { Log } from '../../src/ports/log.ts'

/** JSON-RPC 2.0, section 5.1; a method that the app-server knows and does not offer is an invalid request. */
const METHOD_NOT_FOUND = -32_601

export interface BellQueue {
  add(server: AppServer, threadId: string, doorbell: Doorbell): Promise<void>
  /** What stands there runs, though a person had paused it. */
  start(server: AppServer, threadId: string): Promise<void>
  /** Doorbells of ours that are in the queue. */
  standing(server: AppServer, threadId: string): Promise<DoorbellId[]>
  /** Deletes those: their signals have been drained, or another is rung. Returns the deleted ones. */
  takeBack(server: AppServer, threadId: string): Promise<DoorbellId[]>
  /** Those among them that a turn has begun with. */
  seen(server: AppServer, threadId: string, queued: readonly DoorbellId[]): Promise<DoorbellId[]>
  /** The newest that a turn has begun with. */
  lastSeen(server: AppServer, threadId: string): Promise<DoorbellId | null>
}

export function bellQueue(identity: Identity, log: Log): BellQueue {
  const without = new WeakSet<AppServer>()

  const idsOf = (submissions: { clientUserMessageId: string | null }[]) =>
    submissions.flatMap(({ clientUserMessageId }) => bellIn(clientUserMessageId, identity) ?? [])

  /** Null where this Codex has no queues. */
  async function queued(server: AppServer, threadId: string) {
    if (without.has(server)) return null
    try {
      const { data } = await server.call('thread/queue/list', { threadId }, QueueList)
      return data.filter(({ clientUserMessageId }) => bellIn(clientUserMessageId, identity) !== null)
    } catch (error) {
      if (!isUnknownMethod(error)) throw error
      without.add(server)
      log.warn({}, 'this Codex has no queue for its threads; a bell begins a turn while the thread is idle')
      return null
    }
  }

  /** Doorbells of ours that turns of the thread have begun with, oldest first. */
  async function shownIn(server: AppServer, threadId: string): Promise<DoorbellId[]> {
    const { thread } = await server.call('thread/read', { threadId, includeTurns: true }, ThreadStory)
    return thread.turns.flatMap(({ items }) =>
      items.flatMap(({ clientId }) => bellIn(clientId, identity) ?? []),
    )
  }

  return {
    async add(server, threadId, doorbell) {
      const message = {
        threadId,
        clientUserMessageId: bellName(identity, doorbell.doorbell_id),
        input: [{ type: 'text', text: doorbell.text, text_elements: [] }],
      }
      const method = without.has(server) ? 'turn/start' : 'thread/queue/add'
      await server.call(method, message, z.unknown())
    },
    async start(server, threadId) {
      try {
        if (!without.has(server)) await server.call('thread/queue/start', { threadId }, z.unknown())
      } catch (error) {
        // Nothing stands there any more: it runs already.
        if (!(error instanceof AppServerError) || error.code !== INVALID_REQUEST) throw error
      }
    },
    standing: async (server, threadId) => idsOf((await queued(server, threadId)) ?? []),
    async takeBack(server, threadId) {
      const standing = (await queued(server, threadId)) ?? []
      for (const { id } of standing) {
        await server.call('thread/queue/delete', { threadId, queuedSubmissionId: id }, z.unknown())
      }
      return idsOf(standing)
    },
    async seen(server, threadId, bells) {
      const shown = await shownIn(server, threadId)
      return bells.filter((doorbell_id) => shown.includes(doorbell_id))
    },
    lastSeen: async (server, threadId) => (await shownIn(server, threadId)).at(-1) ?? null,
  }
}

function isUnknownMethod(error: unknown): boolean {
  if (!(error instanceof AppServerError)) return false
  if (error.code === METHOD_NOT_FOUND) return true
  return error.code === INVALID_REQUEST && /experimentalApi|unknown variant/.test(error.message)
}
