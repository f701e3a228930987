/** Records what one Claude Code session does: from its module while one is attached, otherwise from hooks. */
import { hookActivity } from './hook-activity.ts'
import { moduleActivity } from './module-activity.ts'
import { recordedSession, type RecordedSessionDeps } from './recorded-session.ts'
import type { EventContext } from '../mod-link/mod-link.ts'
import type { Hello, NumberedEvent } from '../mod/messages.ts'
import type { TurnEvent } from '../turn-events.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'

export interface ActivityFeed {
  /** From now on the module reports everything. */
  modAttached(hello: Hello): void
  modEvent(event: NumberedEvent, of: EventContext): void
  /** This number of events of the module is missing. */
  modDropped(events: number): void
  /** From now on hooks report what they can. */
  modLost(): void
  hookFired(event: TurnEvent): void
  /** A doorbell was written in the response to a Stop hook. */
  continuedWith(doorbell: Doorbell): void
  /** The session's registry showed that a person interrupted the turn. */
  interrupted(): void
}

export function createActivityFeed(deps: RecordedSessionDeps): ActivityFeed {
  const session = recordedSession(deps)
  const by_module = moduleActivity(session)
  const by_hooks = hookActivity(session)
  let is_attached = false

  return {
    modAttached(hello) {
      is_attached = true
      by_module.attached(hello)
    },
    modEvent: (event, of) => by_module.happened(event, of.session_id),
    modDropped: (events) => session.missed(events),
    modLost: () => void (is_attached = false),
    hookFired(event) {
      if (!is_attached) by_hooks.fired(event)
    },
    continuedWith(doorbell) {
      if (!is_attached) by_hooks.continuedWith(doorbell)
    },
    interrupted() {
      if (!is_attached) by_hooks.interrupted()
    },
  }
}
