/**
 * turnbell's doorbells in the queue of a Codex thread. The queue outlives this process and the app-server, so an
 * older doorbell is looked up before another one is added.
 *
 * A Codex without queues is rung by starting a turn, which is allowed only in an idle thread: if a person's prompt
 * arrives first, Codex adds the doorbell to their turn. The queue has no such race, so it is tried first, once for
 * each app-server.
 */
import { AppServerError, INVALID_REQUEST, type AppServer } from './app-server.ts'
import { QueueList, ThreadHistory } from './protocol.ts'
import { parseBellName, bellName } from './thread-tracker.ts'
import * as z from 'zod'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { DoorbellId, Identity } from '../../src/contracts/ids.ts'
import type { Log } from '../../src/ports/log.ts'

/** JSON-RPC 2.0, section 5.1. A method that is known and not enabled is an invalid request instead. */
const METHOD_NOT_FOUND = -32_601

export interface BellQueue {
  add(server: AppServer, threadId: string, doorbell: Doorbell): Promise<void>
  /** Starts the queue after a person paused it. */
  start(server: AppServer, threadId: string): Promise<void>
  /** Returns turnbell's doorbells in the queue. */
  listQueued(server: AppServer, threadId: string): Promise<DoorbellId[]>
  /** Deletes turnbell's doorbells, because their signals were drained or another one is rung. Returns the deleted ids. */
  withdraw(server: AppServer, threadId: string): Promise<DoorbellId[]>
  /** Returns those of the ids with which a turn has begun. */
  filterSeen(
    server: AppServer,
    threadId: string,
    ownSubmissions: readonly DoorbellId[],
  ): Promise<DoorbellId[]>
  /** Returns the newest doorbell with which a turn has begun. */
  lastSeen(server: AppServer, threadId: string): Promise<DoorbellId | null>
}

export function bellQueue(identity: Identity, log: Log): BellQueue {
  const queueless = new WeakSet<AppServer>()

  const idsOf = (submissions: { clientUserMessageId: string | null }[]) =>
    submissions.flatMap(({ clientUserMessageId }) => parseBellName(clientUserMessageId, identity) ?? [])

  /** Returns turnbell's queued submissions; null if this Codex has no queues. */
  async function queued(server: AppServer, threadId: string) {
    if (queueless.has(server)) return null
    try {
      const { data } = await server.call('thread/queue/list', { threadId }, QueueList)
      return data.filter(({ clientUserMessageId }) => parseBellName(clientUserMessageId, identity) !== null)
    } catch (error) {
      if (!isUnknownMethod(error)) throw error
      queueless.add(server)
      log.warn({}, 'this Codex has no thread queues; a doorbell starts a turn while the thread is idle')
      return null
    }
  }

  /** Returns turnbell's doorbells with which turns of the thread have begun, oldest first. */
  async function readReceipts(server: AppServer, threadId: string): Promise<DoorbellId[]> {
    const { thread } = await server.call('thread/read', { threadId, includeTurns: true }, ThreadHistory)
    return thread.turns.flatMap(({ items }) =>
      items.flatMap(({ clientId }) => parseBellName(clientId, identity) ?? []),
    )
  }

  return {
    async add(server, threadId, doorbell) {
      const message = {
        threadId,
        clientUserMessageId: bellName(identity, doorbell.doorbell_id),
        input: [{ type: 'text', text: doorbell.text, text_elements: [] }],
      }
      const method = queueless.has(server) ? 'turn/start' : 'thread/queue/add'
      await server.call(method, message, z.unknown())
    },
    async start(server, threadId) {
      try {
        if (!queueless.has(server)) await server.call('thread/queue/start', { threadId }, z.unknown())
      } catch (error) {
        // The queue is empty because its turn has started.
        if (!(error instanceof AppServerError) || error.code !== INVALID_REQUEST) throw error
      }
    },
    listQueued: async (server, threadId) => idsOf((await queued(server, threadId)) ?? []),
    async withdraw(server, threadId) {
      const standing = (await queued(server, threadId)) ?? []
      for (const { id } of standing) {
        await server.call('thread/queue/delete', { threadId, queuedSubmissionId: id }, z.unknown())
      }
      return idsOf(standing)
    },
    async filterSeen(server, threadId, bells) {
      const seen = await readReceipts(server, threadId)
      return bells.filter((doorbell_id) => seen.includes(doorbell_id))
    },
    lastSeen: async (server, threadId) => (await readReceipts(server, threadId)).at(-1) ?? null,
  }
}

function isUnknownMethod(error: unknown): boolean {
  if (!(error instanceof AppServerError)) return false
  if (error.code === METHOD_NOT_FOUND) return true
  return error.code === INVALID_REQUEST && /experimentalApi|unknown variant/.test(error.message)
}
