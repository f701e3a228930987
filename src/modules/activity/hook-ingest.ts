/**
 * Stores hook payloads of a session that has no shim: the hub numbers their events. As soon as a shim reports the session,
 * its hooks are ignored, because the shim reports the same facts.
 */
import type { ActivityEvent } from '../../contracts/activity/event.ts'
import type { SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import { createKeyedQueue } from '../../ports/serial-queue.ts'
import { hookEvents, type HookEvent } from './hook-events.ts'
import { highestReceived } from './received.ts'
import type { SessionTrack } from './session-track.ts'
import type { Sessions } from './sessions.ts'
import type { Activity, HookReport, IngestResult } from './types.ts'

export interface HookIngestDeps {
  sessions: Pick<Sessions, 'exclusive'>
  ingest: Activity['ingest']
  clock: Pick<Clock, 'now'>
  ids: Pick<Ids, 'next'>
}

export function createHookIngest(deps: HookIngestDeps): (hook: HookReport) => Promise<IngestResult | null> {
  const { sessions, ingest } = deps
  // Numbers are assigned and stored before the next hook of the session.
  const queued = createKeyedQueue()

  return async (hook) => {
    const session_id = hook.body['session_id']
    if (typeof session_id !== 'string' || session_id === '') return null
    if (session_id.length > LIMITS.session_id_length_max) return null
    return queued(session_id, async () => {
      const track = await sessions.exclusive(session_id, async (held) => (await held.read())?.track ?? null)
      if (track !== null && !track.numbered_by_hub) return null
      const events = numbered(deps, hook, session_id, track)
      if (events.length === 0) return null
      const { identity, client } = hook
      return ingest({
        session_id,
        identity,
        client,
        events,
        numbered_by_hub: true,
        spooled: false,
        dropped: 0,
      })
    })
  }
}

function numbered(
  { clock, ids }: HookIngestDeps,
  { identity, client, body, at = timestamp(clock) }: HookReport,
  session_id: SessionId,
  track: SessionTrack | null,
): ActivityEvent[] {
  const state = track?.state ?? null
  let turn_seq = state?.turn ?? 0
  let seq = highestReceived(track?.received ?? [])
  const session = {
    request_id: state?.request == null ? null : (track?.request_id ?? null),
    waiting: state?.waits.map(({ id }) => id) ?? [],
  }
  return hookEvents(body, session).map(({ begins_turn, ...event }: HookEvent): ActivityEvent => {
    if (begins_turn === true) turn_seq += 1
    seq += 1
    const common = { event_id: ids.next(), turn_seq, seq, at, source: 'hook' as const }
    return { ...event, ...common, session_id, identity, client } as ActivityEvent
  })
}
