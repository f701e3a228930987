/** What the hub's frames say of the queue, in the machine's words. */
import { InProgressChanged, SignalsGone, type HubFrame } from '../contracts/frames.ts'
import type { Ids } from '../ports/random.ts'
import type { News } from './mailbox.ts'

/** Null for a frame that says nothing of it. */
export function queueNews(frame: HubFrame, ids: Pick<Ids, 'next'>): News | null {
  switch (frame.type) {
    case 'signal.pushed': {
      const { signal_id, seq, from, intent, priority, pending_count: total } = frame
      return { type: 'SIGNAL_PUSHED', entry: { signal_id, seq, from, intent, priority }, total }
    }
    case 'signal.drained': {
      const { signal_ids, session_id, pending_count: total } = frame
      return { type: 'SIGNALS_DRAINED', signal_ids, session_id, total }
    }
    case 'signal.released':
      return { type: 'SIGNALS_RELEASED', signal_ids: frame.signal_ids, total: frame.pending_count }
    case 'pending': {
      const { id, signals, total, as_of_seq } = frame
      return {
        type: 'PENDING_LISTED',
        peek_id: String(id),
        signals,
        total,
        as_of_seq,
        doorbell_id: ids.next(),
      }
    }
    case 'event': {
      const gone = SignalsGone.safeParse(frame).data?.data
      return gone ? { type: 'SIGNALS_GONE', signal_ids: gone.signal_ids, total: gone.pending_count } : null
    }
    default:
      return null
  }
}

/** How many of the persona's signals are in progress, where a frame tells. */
export function inProgressIn(frame: HubFrame): number | undefined {
  if (frame.type === 'event') return InProgressChanged.safeParse(frame).data?.data.in_progress_count
  const count = 'in_progress_count' in frame ? frame.in_progress_count : undefined
  return typeof count === 'number' ? count : undefined
}
