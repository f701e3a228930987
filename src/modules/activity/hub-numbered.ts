/**
 * Stores facts of sessions that have no shim: the hub numbers their events, one call of a session after the other. As soon as
 * a shim reports a session, its own numbers replace those of the hub.
 */
import type {
  ActivityData,
  ActivityEvent,
  ActivityKind,
  ActivitySource,
} from '../../contracts/activity/event.ts'
import type { Identity, SessionId, Timestamp } from '../../contracts/ids.ts'
import type { Ids } from '../../ports/random.ts'
import { createKeyedQueue } from '../../ports/serial-queue.ts'
import { isOnlyImported } from './imported.ts'
import { highestReceived } from './received.ts'
import type { Session, SessionTrack } from './session-track.ts'
import type { Sessions } from './sessions.ts'
import type { Activity, IngestResult } from './types.ts'

/** An event without its numbers. */
export type Fact = {
  [Kind in ActivityKind]: {
    kind: Kind
    data: ActivityData<Kind>
    agent_id?: string | null | undefined
    /** The fact belongs to the next turn, and so do the following ones. */
    begins_turn?: true
  }
}[ActivityKind]

export interface FactsOf {
  session_id: SessionId
  /** Persona and client of a new session. */
  identity: Identity
  client: string
  source: ActivitySource
  at: Timestamp
}

/** Number of the turn of the last fact. */
export type Numbered = IngestResult & { turn_seq: number }

export interface HubNumbered {
  /**
   * `make` returns the facts, from the stored session or null. Resolves with null without facts. Errors of `make` reject
   * the call; otherwise rejects as `ingest`.
   */
  add(of: FactsOf, make: (session: Session | null) => readonly Fact[]): Promise<Numbered | null>
}

export interface HubNumberedDeps {
  sessions: Pick<Sessions, 'exclusive'>
  ingest: Activity['ingest']
  ids: Pick<Ids, 'next'>
}

export function createHubNumbered({ sessions, ingest, ids }: HubNumberedDeps): HubNumbered {
  const queued = createKeyedQueue()
  return {
    add: (of, make) =>
      queued(of.session_id, async () => {
        const { session_id } = of
        const stored = await sessions.exclusive(session_id, (held) => held.read())
        const facts = make(stored)
        if (facts.length === 0) return null
        const { identity, client } = stored === null || isOnlyImported(stored) ? of : stored.row
        const common = { session_id, identity, client, source: of.source, at: of.at }
        const { turn_seq, events } = numbered(facts, stored?.track ?? null, common, ids)
        const numbers = { numbered_by_hub: true, spooled: false, dropped: 0 }
        return { ...(await ingest({ session_id, identity, client, events, ...numbers })), turn_seq }
      }),
  }
}

type Common = Pick<ActivityEvent, 'session_id' | 'identity' | 'client' | 'source' | 'at'>

function numbered(
  facts: readonly Fact[],
  track: SessionTrack | null,
  common: Common,
  ids: Pick<Ids, 'next'>,
) {
  let turn_seq = track?.state?.turn ?? 0
  let seq = highestReceived(track?.received ?? [])
  const events = facts.map(({ begins_turn, agent_id = null, ...fact }): ActivityEvent => {
    if (begins_turn === true) turn_seq += 1
    seq += 1
    return { ...fact, ...common, event_id: ids.next(), agent_id, turn_seq, seq }
  })
  return { turn_seq, events }
}
