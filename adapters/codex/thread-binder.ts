/** Binds the surface to a thread, and subscribes to it at its app-server. */
import type { ActivityFeed } from './activity/activity-feed.ts'
import type { BellRemoval } from './bell-removal.ts'
import type { BellWatch } from './bell-watch.ts'
import type { BoundThread } from './bound-thread.ts'
import type { EarlyNotifications } from './early-notifications.ts'
import type { Thread } from './protocol.ts'
import type { ReportedThread } from './thread-choice.ts'
import type { ServerKind } from './thread-search.ts'
import { bound, boundByHooks, notified, toolsReady } from './thread-tracker.ts'
import type { ThreadWindow } from './thread-window.ts'
import { waitForTools } from './tool-start.ts'
import * as z from 'zod'
import type { Identity } from '../../src/contracts/ids.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface ThreadBinder {
  /**
   * Binds a thread that its app-server has loaded. Returns false if an early notification ended it, so that another one
   * has to be searched. `how`: by an event of a window, or by a search.
   */
  bind(found: Thread, server_kind: ServerKind, how: 'opened' | 'found'): boolean
  /** Binds a thread of which only the queue can be reached. */
  bindQueue(found: ReportedThread, server_kind: ServerKind): void
  /**
   * Subscribes to the bound thread. A subscribed client is notified of turns and messages, others only of the status.
   * A thread without messages cannot be subscribed to, so this is retried when its first turn begins and ends;
   * receipts that were missed are read afterwards.
   */
  subscribe(): void
}

export interface ThreadBinderDeps {
  identity: Identity
  thread: BoundThread
  window: ThreadWindow
  early: EarlyNotifications
  watch: BellWatch
  removal: BellRemoval
  clock: Clock
  log: Log
  activity?: Pick<ActivityFeed, 'bound' | 'boundByHooks' | 'subscribing'> | undefined
}

export function threadBinder(deps: ThreadBinderDeps): ThreadBinder {
  const { thread, window, watch, log } = deps
  /** The app-server reports the turns of the bound thread, not only its status. */
  let subscribed = false

  function subscribe(): void {
    const [to, threadId] = [thread.server(), thread.state().thread_id]
    if (to === null || threadId === null || subscribed || thread.route?.live !== true) return
    window.opening()
    const succeeded = to.call('thread/resume', { threadId, excludeTurns: true }, z.unknown()).then(
      () => {
        if (thread.server() !== to || thread.state().thread_id !== threadId || subscribed) return false
        subscribed = true
        if (thread.state().queued.length > 0) void watch.check()
        return true
      },
      (error: unknown) => {
        log.debug({ err: error, thread_id: threadId }, 'thread could not be subscribed to yet')
        return false
      },
    )
    deps.activity?.subscribing(to, succeeded)
  }

  /** Withdraws doorbells from the former thread, because the new thread is rung for the same signals. */
  function leaveFormer(thread_id: string): void {
    const former = thread.state()
    if (former.thread_id !== thread_id && former.queued.length > 0) deps.removal.withdraw()
    thread.bind_count += 1
  }

  return {
    bind(found, server_kind, how) {
      const { route } = thread
      if (found.id === thread.state().thread_id && route?.server_kind === server_kind && route.live)
        return true
      log.info({ thread_id: found.id, server_kind }, 'thread bound')
      leaveFormer(found.id)
      subscribed = false
      thread.route = { server_kind, live: true }
      window.bound(server_kind, how)
      thread.move(bound(thread.state(), found))
      for (const notification of deps.early.take(server_kind))
        thread.move(notified(thread.state(), notification, deps.identity))
      if (thread.state().thread_id === null) return false
      deps.activity?.bound(found, { server_kind, instance_id: thread.instance_ids[server_kind] })
      subscribe()
      void watch.check()
      void awaitTools(deps)
      return true
    },
    bindQueue(found, server_kind) {
      const { thread_id } = found
      if (thread_id === thread.state().thread_id) return
      log.info({ thread_id, server_kind }, 'thread bound by its hooks and its queue')
      leaveFormer(thread_id)
      thread.route = { server_kind, live: false }
      thread.move(boundByHooks(thread.state(), found))
      deps.activity?.boundByHooks(thread_id)
      void watch.check()
    },
    subscribe,
  }
}

/** Keeps the thread from being rung until turnbell's tools have started in it. */
async function awaitTools({ thread, clock, log }: ThreadBinderDeps): Promise<void> {
  const [to, threadId, bind_no] = [thread.server(), thread.state().thread_id, thread.bind_count]
  const isCurrent = () => thread.bind_count === bind_no && thread.state().thread_id === threadId
  if (to !== null && threadId !== null) await waitForTools(to, threadId, { clock, log, isCurrent })
  if (isCurrent()) thread.move(toolsReady(thread.state()))
}
