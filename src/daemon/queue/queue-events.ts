/** Translates the hub's queue frames into events of the machine. */
import { InProgressChanged, SignalsGone, type HubFrame } from '../../contracts/frames.ts'
import type { Ids } from '../../ports/random.ts'
import type { UntimedEvent } from '../mailbox.ts'

/** Returns null for a frame that does not concern the queue. */
export function queueEventOf(frame: HubFrame, ids: Pick<Ids, 'next'>): UntimedEvent | null {
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

/** Returns the persona's number of signals in progress, if the frame contains it. */
export function inProgressIn(frame: HubFrame): number | undefined {
  if (frame.type === 'event') return InProgressChanged.safeParse(frame).data?.data.in_progress_count
  const count = 'in_progress_count' in frame ? frame.in_progress_count : undefined
  return typeof count === 'number' ? count : undefined
}
