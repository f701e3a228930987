/** What an agent's session listened to before its link was gone, for when the session is back. */
import { ANONYMOUS_SESSION_PREFIX } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Member } from './link.ts'

export interface KeptChannels {
  /** Its link is gone. Nothing is kept of who cannot come back as the same: observers, daemons, unnamed sessions. */
  keep(member: Member, channels: ReadonlySet<string>): void
  /** What was kept of this session, once; nothing after `lease_ms`, when a session counts as lost. */
  take(member: Member): Iterable<string>
}

interface Kept {
  channels: ReadonlySet<string>
  at: number
}

export function createKeptChannels({ clock }: { clock: Pick<Clock, 'monotonic'> }): KeptChannels {
  /** The oldest first. */
  const sessions = new Map<string, Kept>()

  return {
    keep(member, channels) {
      if (!canComeBack(member) || channels.size === 0) return
      const key = keyOf(member)
      sessions.delete(key)
      sessions.set(key, { channels, at: clock.monotonic() })
      if (sessions.size <= LIMITS.kept_channels_max) return
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

/** A daemon says in its hello what it wants; an observer's name is shared by all who look with its token. */
function canComeBack({ kind, session_id }: Member): boolean {
  return kind === 'agent' && !session_id.startsWith(ANONYMOUS_SESSION_PREFIX)
}

const keyOf = ({ identity, session_id }: Member) => JSON.stringify([identity, session_id])
