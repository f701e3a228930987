/** The latest doorbells, from the hub's event stream, each with its latest stage. */
import type { HubEvent } from '../../contracts/events.ts'

export interface RecentDoorbell {
  doorbell_id: string
  identity: string
  signal_id: string
  /** Latest stage. */
  stage: 'requested' | 'accepted' | 'seen'
  /** Time of the request. */
  at: string
}

/** A doorbell counts as rung once the surface accepted it. One that was deferred stays requested. */
export const STAGE_WORDS: Record<RecentDoorbell['stage'], string> = {
  requested: 'requested',
  accepted: 'rung',
  seen: 'seen',
}

const KEPT = 50
const STAGES = { 'doorbell.requested': 0, 'doorbell.accepted': 1, 'doorbell.seen': 2 } as const
const NAMES = ['requested', 'accepted', 'seen'] as const

/** Returns the newest first. Known and late events are ignored. */
export function withDoorbells(
  bells: readonly RecentDoorbell[],
  events: readonly HubEvent[],
): RecentDoorbell[] {
  const known = new Map(bells.map((bell) => [bell.doorbell_id, bell]))
  for (const event of events) {
    const rank = STAGES[event.type as keyof typeof STAGES] as number | undefined
    const { doorbell_id, signal_id } = event.data
    if (rank === undefined || typeof doorbell_id !== 'string' || typeof signal_id !== 'string') continue
    const before = known.get(doorbell_id)
    const stage = NAMES[Math.max(rank, before === undefined ? 0 : NAMES.indexOf(before.stage))] ?? 'requested'
    known.set(doorbell_id, {
      doorbell_id,
      identity: event.agent_id ?? '',
      signal_id,
      stage,
      at: before?.at ?? event.timestamp,
    })
  }
  return [...known.values()].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, KEPT)
}
