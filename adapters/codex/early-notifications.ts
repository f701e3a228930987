/**
 * Notifications about unbound threads that were received after the last search began. They are newer than the results
 * of the search.
 */
import type { Notification } from './protocol.ts'
import type { ServerKind } from './thread-search.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'

export interface EarlyNotifications {
  add(server_kind: ServerKind, notification: Notification): void
  /** Removes all and returns those of one app-server, oldest first. */
  take(server_kind: ServerKind): Notification[]
  clear(): void
}

export function earlyNotifications(): EarlyNotifications {
  let received: { server_kind: ServerKind; notification: Notification }[] = []
  return {
    add(server_kind, notification) {
      if (notification.method !== 'thread/status/changed' && notification.method !== 'thread/closed') return
      received = [...received, { server_kind, notification }].slice(-LIMITS.codex_buffered_notifications_max)
    },
    take(server_kind) {
      const taken = received.filter((one) => one.server_kind === server_kind)
      received = []
      return taken.map(({ notification }) => notification)
    },
    clear: () => void (received = []),
  }
}
