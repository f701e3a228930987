/** Handles the notifications of the app-servers about the bound thread and about threads that a window opens. */
import type { BellRemoval } from './bell-removal.ts'
import type { BindSearch } from './bind-search.ts'
import type { BoundThread } from './bound-thread.ts'
import type { EarlyNotifications } from './early-notifications.ts'
import { concernsThread, isDrainCompleted, ThreadAnswer, type Notification, type Thread } from './protocol.ts'
import type { ThreadBinder } from './thread-binder.ts'
import { isUserThread } from './thread-choice.ts'
import type { ServerKind } from './thread-search.ts'
import { notified, toolsReady } from './thread-tracker.ts'
import type { ThreadWindow } from './thread-window.ts'
import type { Identity } from '../../src/contracts/ids.ts'
import type { Log } from '../../src/ports/log.ts'

export interface ThreadNotificationsDeps {
  identity: Identity
  thread: BoundThread
  window: ThreadWindow
  early: EarlyNotifications
  removal: BellRemoval
  binder: ThreadBinder
  searches: BindSearch
  /** Called when a window has opened the bound thread again. */
  onOpened: () => void
  log: Log
}

/** Returns the handler of all notifications. */
export function threadNotifications(deps: ThreadNotificationsDeps) {
  const { thread, window, binder, searches } = deps

  function bindOpened(found: Thread, server_kind: ServerKind): void {
    if (!binder.bind(found, server_kind, 'opened')) void searches.search()
  }

  /** Binds an earlier thread that a window has opened again. */
  async function bindReopened(threadId: string): Promise<void> {
    const to = thread.servers.own
    const { thread_id: before } = thread.state()
    try {
      const { thread: found } = (await to?.call('thread/read', { threadId }, ThreadAnswer)) ?? {}
      if (found === undefined || !isUserThread(found)) return
      if (thread.servers.own === to && thread.state().thread_id === before) bindOpened(found, 'own')
    } catch (error) {
      deps.log.debug({ err: error, thread_id: threadId }, 'opened thread could not be read')
    }
  }

  function boundThreadNotified(notification: Notification): void {
    // Otherwise a queued doorbell would run when a person opens the thread again.
    if (notification.method === 'thread/closed' && thread.state().queued.length > 0) deps.removal.withdraw()
    thread.move(notified(thread.state(), notification, deps.identity))
    if (notification.method === 'thread/status/changed') binder.subscribe()
    if (isDrainCompleted(notification)) {
      thread.move(toolsReady(thread.state()))
      if (thread.state().queued.length > 0) deps.removal.withdraw()
    }
    if (thread.state().thread_id === null) void searches.search()
  }

  return (notification: Notification, server_kind: ServerKind): void => {
    const { thread_id } = thread.state()
    if (notification.method === 'thread/started') {
      const { thread: found } = notification.params
      if (isUserThread(found) && (server_kind === 'own' || found.id === thread_id))
        bindOpened(found, server_kind)
    } else if (
      notification.method === 'thread/goal/cleared' ||
      notification.method === 'thread/goal/updated'
    ) {
      const { threadId } = notification.params
      if (threadId === thread_id) {
        if (window.opened(server_kind)) deps.onOpened()
      } else if (server_kind === 'own' && notification.method === 'thread/goal/cleared')
        void bindReopened(threadId)
    } else {
      const { route } = thread
      const is_bound =
        route?.server_kind === server_kind && route.live && concernsThread(thread_id, notification)
      if (is_bound) boundThreadNotified(notification)
      else deps.early.add(server_kind, notification)
    }
  }
}
