import { describe, expect, test, vi } from 'vitest'
import { createStateKeeper, type StateFile } from '../../../src/daemon/saved-state.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { machineWorld, readyWorld, type MachineWorld } from '../../support/worlds/machine-world.ts'

/** Returns the next daemon, connected, with the same surface attached. */
function restarted(
  world: MachineWorld,
  later_ms = 2_000,
  report: Parameters<MachineWorld['reports']>[0] = {},
) {
  const next = machineWorld({}, world.ends(later_ms))
  next.connects()
  next.reports(report, false)
  return next
}

describe('a restarted daemon', () => {
  test('a restarted daemon sends no second doorbell in the turn of the first while the surface holds it', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world)
    next.surfaceHolds = true
    next.pass(3_600_000)
    expect(next.bells).toHaveLength(0)
  })

  test('a restarted daemon sends no second doorbell for a new signal either', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world)
    next.surfaceHolds = true
    next.pushes()
    next.pass(60_000)
    expect(next.bells).toHaveLength(0)
  })

  test('a restarted daemon rings again after the grace once the surface reports that the doorbell is gone', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world)
    next.pass(LIMITS.reconnect_grace_ms - 1)
    expect(next.bells).toHaveLength(0)
    next.pass(1)
    expect(next.bells).toHaveLength(1)
  })

  test('a daemon restarted in the turn of a doorbell waits for that turn and sends a reminder after it', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    const next = restarted(world)
    next.turnEnds()
    next.pass(LIMITS.reminders_ms[0] - 1)
    expect(next.bells).toHaveLength(0)
    next.pass(1)
    expect(next.bells).toHaveLength(1)
  })

  test('a daemon restarted after the turn of a doorbell continues the delay of its reminder', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.turnEnds()
    const next = restarted(world, 20_000)
    next.pass(15_000)
    expect(next.bells).toHaveLength(1)
  })

  test('a daemon whose restarted shim counts turns from a higher number rings no doorbell for that', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world, 2_000, { turn_seq: 1_000_000 })
    next.surfaceHolds = true
    next.pass(60_000)
    expect(next.bells).toHaveLength(0)
  })

  test('a restarted daemon remembers the number of reminders and that the agent did not drain', () => {
    const world = readyWorld()
    world.pushes()
    for (let turn = 0; turn < 4; turn += 1) world.ignoresTurn()
    expect(world.delivery_reason).toBe('not_drained')
    const next = restarted(world)
    next.pass(3_600_000)
    expect(next.bells).toHaveLength(0)
    expect(next.delivery_reason).toBe('not_drained')
  })

  test('a restarted daemon counts signals that arrived while it was down as new', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.turnEnds()
    world.accepts()
    const next = restarted(world)
    expect(next.bells).toHaveLength(0)
    next.pass(LIMITS.reconnect_grace_ms)
    expect(next.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([2])
  })

  test('a restarted daemon holds doorbells for the rest of the five minutes after an interrupt', () => {
    const world = readyWorld()
    world.turnBegins()
    world.reports({ turn: 'idle', interrupted: true })
    world.pushes()
    world.pass(100_000)
    const next = restarted(world, 100_000, { interrupted: undefined })
    next.passUntilBell(300_000)
    expect(next.bells).toHaveLength(1)
    expect(next.now).toBeGreaterThanOrEqual(100_000)
  })

  test('a restarted daemon delays doorbells for another session that it meets first', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world, 2_000, { session_id: 'session-2', turn_seq: 0 })
    expect(next.bells).toHaveLength(0)
    next.pass(LIMITS.reconnect_grace_ms)
    expect(next.bells).toHaveLength(1)
  })

  test('a restarted daemon keeps its counters and the times of the last doorbell, signal and drain', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.pass(1_000)
    world.drains()
    world.turnEnds()
    const { context } = machineWorld({}, world.ends(5_000))
    expect(context).toMatchObject({
      doorbells_rung: 1,
      last_drain_at: -5_000,
      last_received: { from: 'bob', intent: 'task', at: -6_000 },
      history: { bell: null, last_rung_at: -6_000, last_seen_at: -6_000 },
    })
  })
})

describe('the state file', () => {
  const clock = { now: () => 1_000, monotonic: () => 0 }
  const file = (text: string | null): StateFile & { writes: string[] } => {
    const writes: string[] = []
    return { read: () => text, write: (given) => void writes.push(given), writes }
  }

  test.each([null, '', '{', '[]', '{"version":2}', '{"version":1,"bell":7}'])(
    'an invalid state file %j is ignored',
    (text) => {
      expect(createStateKeeper(file(text), clock, () => {}).read()).toBeNull()
    },
  )

  test('the state file is written only when a saved field changed', () => {
    const world = readyWorld()
    const kept = file(null)
    const keeper = createStateKeeper(kept, clock, () => {})
    keeper.save(world.context)
    world.pass(60_000)
    keeper.save(world.context)
    expect(kept.writes).toHaveLength(1)
    world.pushes()
    keeper.save(world.context)
    expect(kept.writes).toHaveLength(2)
    keeper.checkWritten()
    keeper.save(world.context)
    expect(kept.writes).toHaveLength(3)
  })

  test('a failed write is reported once and retried with the next change', () => {
    const onFailed = vi.fn<(error: unknown) => void>()
    let full = true
    const writes: string[] = []
    const write = (text: string) => {
      if (full) throw new Error('ENOSPC')
      writes.push(text)
    }
    const keeper = createStateKeeper({ read: () => null, write }, clock, onFailed)
    const world = readyWorld()
    keeper.save(world.context)
    world.pushes()
    keeper.save(world.context)
    expect(onFailed).toHaveBeenCalledTimes(1)
    full = false
    keeper.save(world.context)
    expect(writes).toHaveLength(1)
  })

  test('no restored time is in the future after the clock was set back', () => {
    const world = readyWorld()
    world.pass(50_000)
    world.pushes()
    const { memory } = world.ends(-40_000)
    expect(memory?.bell?.rung_at).toBe(0)
  })
})
