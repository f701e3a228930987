/** The last doorbells, from the hub's event stream: one line a bell, however many stages it went through. */
import type { HubEvent } from '../../contracts/events.ts'

export interface Bell {
  doorbell_id: string
  identity: string
  signal_id: string
  /** Of its last stage. */
  stage: 'requested' | 'accepted' | 'seen'
  /** When it was requested. */
  at: string
}

/** Only what the surface has taken was rung; one that it deferred stays requested. */
export const STAGE_WORDS: Record<Bell['stage'], string> = {
  requested: 'requested',
  accepted: 'rung',
  seen: 'seen',
}

const KEPT = 50
const STAGES = { 'doorbell.requested': 0, 'doorbell.accepted': 1, 'doorbell.seen': 2 } as const
const NAMES = ['requested', 'accepted', 'seen'] as const

/** Newest first. An event that is known already, or comes late, changes nothing. */
export function withBells(bells: readonly Bell[], events: readonly HubEvent[]): Bell[] {
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
