import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { createHeartbeat } from '../../../src/daemon/heartbeat.ts'
import { fakeClock } from '../../support/fake-clock.ts'

const INTERVAL_MS = LIMITS.heartbeat_interval_ms

/** A heartbeat on a link that takes everything; a test says when the hub answers. */
function started() {
  const clock = fakeClock()
  const failures: string[] = []
  const heartbeat = createHeartbeat({
    clock,
    link: { send: () => true },
    facts: () => ({ attached: true, session_id: 's', turn: 'idle', turn_seq: 0 }),
    metrics: () => ({}) as never,
    onFailed: (detail) => void failures.push(detail),
  })
  heartbeat.start(INTERVAL_MS)
  return { clock, heartbeat, failures }
}

describe('a heartbeat', () => {
  test('that left out of turn just before the next one is due is not late', async () => {
    const { clock, heartbeat, failures } = started()
    heartbeat.accepted()
    await clock.advance(INTERVAL_MS - 1)
    heartbeat.beat('facts')
    await clock.advance(1)
    expect(failures).toEqual([])
  })

  test('that left out of turn is late where the hub has had the whole interval for it', async () => {
    const { clock, heartbeat, failures } = started()
    heartbeat.accepted()
    await clock.advance(INTERVAL_MS - 1)
    heartbeat.beat('facts')
    await clock.advance(1 + INTERVAL_MS)
    expect(failures).toEqual(['the hub has not accepted the last heartbeat'])
  })

  test('is no more late for what was left unanswered on the link before', async () => {
    const { clock, heartbeat, failures } = started()
    heartbeat.stop()
    heartbeat.start(INTERVAL_MS)
    heartbeat.accepted()
    await clock.advance(INTERVAL_MS)
    expect(failures).toEqual([])
  })
})
