/**
 * A Codex thread as a surface: reports its turns, and rings by putting a message into the thread's own
 * queue, which Codex runs as a turn of its own. Whether a bell is due is the daemon's decision.
 *
 * The queue outlives this process and the app-server, so before a bell is put there an older one of ours
 * is looked for, and one that a drain has answered is taken out.
 */
import { AppServerError, type AppServer } from './app-server.ts'
import { LoadedThreads, QueueList, ThreadAnswer, type Notification, type Thread } from './protocol.ts'
import {
  bellIn,
  bellName,
  bellQueued,
  bound,
  isPersons,
  notified,
  startTracking,
  statusSettled,
  unbound,
  type TrackedThread,
} from './thread-tracker.ts'
import { z } from 'zod'
import type { RingResult, SurfaceStatus } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

/** JSON-RPC 2.0, section 5.1. */
const METHOD_NOT_FOUND = -32_601
const DRAIN_TOOL = 'signals_pending'
const DEFERRED: RingResult = { accepted: false, proof: 'deferred' }
const UNAVAILABLE: RingResult = { accepted: false, proof: 'unavailable' }

export interface CodexSurface extends Surface {
  open(host: SurfaceHost): void
  /** An app-server answers: the thread a person works in is looked for. */
  connected(server: AppServer): Promise<void>
  disconnected(): void
  notified(notification: Notification): void
  close(): void
}

export function codexSurface(deps: { identity: Identity; clock: Clock; log: Log }): CodexSurface {
  const { identity, clock, log } = deps
  let server: AppServer | null = null
  let state = startTracking(clock.now())
  let host: SurfaceHost | null = null
  let settling: Timer | null = null
  /** The turns of the bound thread are told, not only its status. */
  let subscribed = false

  const status = (): SurfaceStatus => ({
    surface: 'codex',
    session_id: state.thread_id,
    delivery: 'push',
    turn: state.turn,
    turn_seq: state.turn_seq,
    ...(state.seen_doorbell_id === null ? {} : { seen_doorbell_id: state.seen_doorbell_id }),
  })

  function move(next: TrackedThread): void {
    const before = state
    state = next
    settling?.cancel()
    settling = next.settles ? clock.after(LIMITS.codex_settle_ms, () => move(statusSettled(state))) : null
    if (tellsMore(before, next)) void host?.report(status())
  }

  function bind(thread: Thread): void {
    if (thread.id === state.thread_id) return
    log.info({ thread_id: thread.id }, 'bound to a thread')
    subscribed = false
    move(bound(state, thread))
    subscribe()
  }

  /**
   * A client that subscribed is told of turns and messages, others only of the status. A thread in which
   * nothing was said yet cannot be subscribed to: it is tried again when its first turn begins.
   */
  function subscribe(): void {
    const [to, threadId] = [server, state.thread_id]
    if (to === null || threadId === null || subscribed) return
    to.call('thread/resume', { threadId, excludeTurns: true }, z.unknown()).then(
      () => {
        if (server === to && state.thread_id === threadId) subscribed = true
      },
      (error: unknown) => log.debug({ err: error, thread_id: threadId }, 'not subscribed to the thread yet'),
    )
  }

  async function queuedBells(to: AppServer, threadId: string) {
    const { data } = await to.call('thread/queue/list', { threadId }, QueueList)
    return data.filter(({ clientUserMessageId }) => bellIn(clientUserMessageId, identity) !== null)
  }

  /** Bells of ours that still stand in the queue: their signals have been drained, or another is rung. */
  async function takeBack(to: AppServer, threadId: string): Promise<void> {
    for (const { id } of await queuedBells(to, threadId)) {
      await to.call('thread/queue/delete', { threadId, queuedSubmissionId: id }, z.unknown())
    }
  }

  return {
    status: async () => status(),

    async notify_surface(doorbell): Promise<RingResult> {
      const [to, threadId] = [server, state.thread_id]
      if (to === null || threadId === null) return UNAVAILABLE
      if (state.turn !== 'idle' || state.paused) return DEFERRED
      try {
        await takeBack(to, threadId)
        if (state.turn !== 'idle' || state.paused || state.thread_id !== threadId) return DEFERRED
        move(bellQueued(state, doorbell.doorbell_id))
        await to.call('thread/queue/add', queueItem(threadId, identity, doorbell), z.unknown())
        return {
          accepted: true,
          proof: state.seen_doorbell_id === doorbell.doorbell_id ? 'confirmed' : 'sent',
        }
      } catch (error) {
        if (error instanceof AppServerError && error.code === METHOD_NOT_FOUND) {
          log.error({}, 'this Codex has no queue for its threads; turnbell needs version 0.169 or newer')
          return UNAVAILABLE
        }
        log.warn({ err: error }, 'the queue took no bell')
        return server === to ? { accepted: false, proof: 'failed' } : UNAVAILABLE
      }
    },

    async resume_surface() {
      if (server !== null) await find(server)
      void host?.report(status())
    },

    open(daemon) {
      host = daemon
    },

    async connected(to) {
      server = to
      await find(to)
      void host?.report(status())
    },

    disconnected() {
      server = null
      move(unbound(state))
    },

    notified(notification) {
      if (notification.method === 'thread/started') {
        const { thread } = notification.params
        if (isPersons(thread)) bind(thread)
        return
      }
      move(notified(state, notification, identity))
      if (notification.method === 'thread/status/changed') subscribe()
      if (drained(notification) && state.queued.length > 0) takeBackAnswered()
    },

    close() {
      settling?.cancel()
      host = null
    },
  }

  /** The newest thread that a person works in, among those the app-server holds. */
  async function find(to: AppServer): Promise<void> {
    const { data } = await to.call('thread/loaded/list', {}, LoadedThreads)
    const threads = await Promise.all(
      data.map((threadId) => to.call('thread/read', { threadId }, ThreadAnswer).then(({ thread }) => thread)),
    )
    const newest = threads.filter(isPersons).sort((a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0))[0]
    if (newest !== undefined && server === to) bind(newest)
  }

  function takeBackAnswered(): void {
    const [to, threadId] = [server, state.thread_id]
    if (to === null || threadId === null) return
    takeBack(to, threadId).catch((error: unknown) =>
      log.warn({ err: error }, 'a bell could not be taken back'),
    )
  }
}

function queueItem(threadId: string, identity: Identity, { doorbell_id, text }: Doorbell) {
  return {
    threadId,
    clientUserMessageId: bellName(identity, doorbell_id),
    input: [{ type: 'text', text, text_elements: [] }],
  }
}

function drained({ method, params }: Notification): boolean {
  return method === 'item/completed' && params.item.type === 'mcpToolCall' && params.item.tool === DRAIN_TOOL
}

function tellsMore(before: TrackedThread, after: TrackedThread): boolean {
  return (
    before.turn !== after.turn ||
    before.turn_seq !== after.turn_seq ||
    before.thread_id !== after.thread_id ||
    before.seen_doorbell_id !== after.seen_doorbell_id
  )
}
