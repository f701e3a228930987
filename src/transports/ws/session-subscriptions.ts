/** Subscriptions of agents' sessions whose link has closed, for their reconnect. */
import { ANONYMOUS_SESSION_PREFIX } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Member } from './link.ts'

export interface SessionSubscriptions {
  /** Stores the subscriptions, except those of observers, daemons and unnamed sessions, which cannot be recognised later. */
  keep(member: Member, channels: ReadonlySet<string>): void
  /** Returns the stored subscriptions once; none after `lease_ms`, when a session counts as lost. */
  take(member: Member): Iterable<string>
}

interface Kept {
  channels: ReadonlySet<string>
  at: number
}

export function createSessionSubscriptions({
  clock,
}: {
  clock: Pick<Clock, 'monotonic'>
}): SessionSubscriptions {
  /** Oldest first. */
  const sessions = new Map<string, Kept>()

  return {
    keep(member, channels) {
      if (!canComeBack(member) || channels.size === 0) return
      const key = keyOf(member)
      sessions.delete(key)
      sessions.set(key, { channels, at: clock.monotonic() })
      if (sessions.size <= LIMITS.stored_subscriptions_max) return
      const [oldest] = sessions.keys()
      if (oldest !== undefined) sessions.delete(oldest)
    },

    take(member) {
      if (!canComeBack(member)) return []
      const kept = sessions.get(keyOf(member))
      sessions.delete(keyOf(member))
      return kept !== undefined && clock.monotonic() - kept.at <= LIMITS.lease_ms ? kept.channels : []
    },
  }
}

/** A daemon names its channels in its hello; observers with the same token share a name. */
function canComeBack({ kind, session_id }: Member): boolean {
  return kind === 'agent' && !session_id.startsWith(ANONYMOUS_SESSION_PREFIX)
}

const keyOf = ({ identity, session_id }: Member) => JSON.stringify([identity, session_id])
