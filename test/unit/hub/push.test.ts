import { expect, test } from 'vitest'
import { SignalsGone, type HubFrame } from '../../../src/contracts/frames.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { createPush } from '../../../src/hub/push.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { signalMaker } from '../../support/signals.ts'

const SIGNAL_ID = '01KJMMA2G0S00PBKNE345H2K00'
const DRAIN_ID = '01KJMMA2G0S00PBKNE345H2K01'

/** With one daemon of Bob's, for which two signals wait. */
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
    signals: { pendingCount: () => 2 },
    ids: { next: () => make.id() },
    clock,
  } as unknown as Parameters<typeof createPush>[0])
  return { signals, frames, events }
}

const confirmed = { to: 'bob', drain_id: DRAIN_ID, signal_ids: [SIGNAL_ID] }

test('whoever rings is told when a late confirmation takes signals out of the queue', () => {
  const { signals, frames, events } = pushing()
  signals.confirmed({ ...confirmed, waited: [SIGNAL_ID], pending_count: 2 })
  // Not as drained: the agent may have a bell for them that it has not seen.
  expect(frames).toMatchObject([
    { type: 'event', event: 'signal.confirmed', data: { signal_ids: [SIGNAL_ID], pending_count: 2 } },
  ])
  expect(SignalsGone.safeParse(frames[0]).success).toBe(true)
  expect(events).toMatchObject([{ type: 'signal.confirmed', data: { signal_ids: [SIGNAL_ID] } }])
})

test('whoever rings is told nothing of a confirmation of what had left the queue before', () => {
  const { signals, frames, events } = pushing()
  signals.confirmed({ ...confirmed, waited: [], pending_count: 2 })
  expect(frames).toEqual([])
  expect(events).toHaveLength(1)
})
