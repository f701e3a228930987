import { expect, test } from 'vitest'
import { HubFrame, InProgressChanged, SignalsGone } from '../../../../src/contracts/frames.ts'
import type { Json } from '../../../../src/contracts/ids.ts'
import { createPush } from '../../../../src/transports/ws/push.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { signalMaker } from '../../../support/signals.ts'

const SIGNAL_ID = '01KJMMA2G0S00PBKNE345H2K00'
const DRAIN_ID = '01KJMMA2G0S00PBKNE345H2K01'

/** Returns a link with one daemon of bob, for which two signals wait. */
function pushing() {
  const clock = fakeClock()
  const make = signalMaker(clock)
  const frames: HubFrame[] = []
  const events: { type: string; data: Record<string, Json> }[] = []
  const member = { identity: 'bob', kind: 'daemon', ticket: null }
  const send = (frame: HubFrame) => frames.push(frame) > 0
  const { signals } = createPush({
    links: { of: () => [{ member, send }] },
    channels: { subscribers: () => [] },
    events: { append: (event: (typeof events)[number]) => events.push(event) },
    registrations: { rows: () => [] },
    store: { mark() {} },
    signals: { pendingCount: () => 2, inProgressCount: () => 3 },
    ids: { next: () => make.id() },
    clock,
  } as unknown as Parameters<typeof createPush>[0])
  return { signals, frames, events }
}

const confirmed = { to: 'bob', drain_id: DRAIN_ID, signal_ids: [SIGNAL_ID] }

test('the daemon is notified when a late confirmation takes signals out of the queue', () => {
  const { signals, frames, events } = pushing()
  signals.confirmed({ ...confirmed, waited: [SIGNAL_ID], pending_count: 2 })
  // Not reported as drained, because the agent may have an unseen doorbell for them.
  expect(frames).toMatchObject([
    { type: 'event', event: 'signal.confirmed', data: { signal_ids: [SIGNAL_ID], pending_count: 2 } },
    { type: 'event', event: 'signal.in_progress', data: { in_progress_count: 3 } },
  ])
  expect(SignalsGone.safeParse(frames[0]).success).toBe(true)
  expect(events).toMatchObject([{ type: 'signal.confirmed', data: { signal_ids: [SIGNAL_ID] } }])
})

test('the daemon is sent only the number in progress when signals are confirmed that had left the queue', () => {
  const { signals, frames, events } = pushing()
  signals.confirmed({ ...confirmed, waited: [], pending_count: 2 })
  expect(frames).toMatchObject([{ event: 'signal.in_progress', data: { in_progress_count: 3 } }])
  expect(InProgressChanged.safeParse(frames[0]).success).toBe(true)
  expect(SignalsGone.safeParse(frames[0]).success).toBe(false)
  expect(events).toHaveLength(1)
})

test('every frame about the queue carries the number of signals in progress', () => {
  const { signals, frames } = pushing()
  const entry = { signal_id: SIGNAL_ID, seq: 1, from: 'alice', intent: 'note', priority: 3 }
  const leaving = { to: 'bob', signal_ids: [SIGNAL_ID], session_id: 'run-1', pending_count: 2 }
  signals.pushed({ ...entry, to: 'bob', pending_count: 2 })
  signals.drained({ ...leaving, drain_id: DRAIN_ID })
  signals.released({ ...leaving, cause: 'asked' })
  signals.freed(leaving)
  signals.replayed(leaving)
  signals.completed({ ...leaving, by: 'agent', waited: [] })
  expect(frames.map((frame) => HubFrame.safeParse(frame).success)).toEqual(Array(6).fill(true))
  expect(
    frames.slice(0, 5).map((frame) => [frame.type, 'in_progress_count' in frame && frame.in_progress_count]),
  ).toEqual(
    ['signal.pushed', 'signal.drained', 'signal.released', 'signal.released', 'signal.released'].map(
      (type) => [type, 3],
    ),
  )
  expect(frames[5]).toMatchObject({ event: 'signal.in_progress', data: { in_progress_count: 3 } })
})
