import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { createHeartbeat } from '../../../src/daemon/heartbeat.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'

const INTERVAL_MS = LIMITS.heartbeat_interval_ms

/** A heartbeat on a link that accepts every frame; the test sends the hub's responses. */
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

describe('the heartbeat', () => {
  test('an extra heartbeat sent just before the next one is due does not count as late', async () => {
    const { clock, heartbeat, failures } = started()
    heartbeat.accepted()
    await clock.advance(INTERVAL_MS - 1)
    heartbeat.beat('facts')
    await clock.advance(1)
    expect(failures).toEqual([])
  })

  test('an extra heartbeat counts as late if the hub had the whole interval to accept it', async () => {
    const { clock, heartbeat, failures } = started()
    heartbeat.accepted()
    await clock.advance(INTERVAL_MS - 1)
    heartbeat.beat('facts')
    await clock.advance(1 + INTERVAL_MS)
    expect(failures).toEqual(['the hub did not accept the last heartbeat'])
  })

  test('heartbeats left unanswered on the previous link do not count as late', async () => {
    const { clock, heartbeat, failures } = started()
    heartbeat.stop()
    heartbeat.start(INTERVAL_MS)
    heartbeat.accepted()
    await clock.advance(INTERVAL_MS)
    expect(failures).toEqual([])
  })
})
