import { describe, expect, test, vi } from 'vitest'
import { createMemoryKeeper, type MemoryFile } from '../../../src/daemon/memory.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { machineWorld, readyWorld, type MachineWorld } from '../../support/machine-world.ts'

/** The next daemon, connected, with the same surface attached. */
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

describe('a daemon that starts again', () => {
  test('rings no second bell in the turn of the first, while its surface holds it', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world)
    next.surfaceHolds = true
    next.pass(3_600_000)
    expect(next.bells).toHaveLength(0)
  })

  test('rings no second bell for a new signal either', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world)
    next.surfaceHolds = true
    next.pushes()
    next.pass(60_000)
    expect(next.bells).toHaveLength(0)
  })

  test('rings again once the surface says that the bell is gone, after the grace', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world)
    next.pass(LIMITS.reconnect_grace_ms - 1)
    expect(next.bells).toHaveLength(0)
    next.pass(1)
    expect(next.bells).toHaveLength(1)
  })

  test('in the turn of a bell leaves that turn alone, and reminds after it', () => {
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

  test('after the turn of a bell goes on with the time of its reminder', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.turnEnds()
    const next = restarted(world, 20_000)
    next.pass(15_000)
    expect(next.bells).toHaveLength(1)
  })

  test('whose shim was started again too, and counts turns from further on, rings no bell for that', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world, 2_000, { turn_seq: 1_000_000 })
    next.surfaceHolds = true
    next.pass(60_000)
    expect(next.bells).toHaveLength(0)
  })

  test('has not forgotten how often it reminded, nor that nobody drained', () => {
    const world = readyWorld()
    world.pushes()
    for (let turn = 0; turn < 4; turn += 1) world.ignoresTurn()
    expect(world.delivery_reason).toBe('not_drained')
    const next = restarted(world)
    next.pass(3_600_000)
    expect(next.bells).toHaveLength(0)
    expect(next.delivery_reason).toBe('not_drained')
  })

  test('knows of the signals that came meanwhile, and that they are new', () => {
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

  test('holds its bells after an interrupt for the rest of the five minutes', () => {
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

  test('waits with what another session, which it meets first, is rung for', () => {
    const world = readyWorld()
    world.pushes()
    const next = restarted(world, 2_000, { session_id: 'session-2', turn_seq: 0 })
    expect(next.bells).toHaveLength(0)
    next.pass(LIMITS.reconnect_grace_ms)
    expect(next.bells).toHaveLength(1)
  })

  test('goes on counting, and knows when it last rang, received and was drained', () => {
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

describe('the memory of a daemon', () => {
  const clock = { now: () => 1_000, monotonic: () => 0 }
  const file = (text: string | null): MemoryFile & { writes: string[] } => {
    const writes: string[] = []
    return { read: () => text, write: (given) => void writes.push(given), writes }
  }

  test.each([null, '', '{', '[]', '{"version":2}', '{"version":1,"bell":7}'])(
    'is nothing where the file says %j',
    (text) => {
      expect(createMemoryKeeper(file(text), clock, () => {}).read()).toBeNull()
    },
  )

  test('is written when something of it changed, and not otherwise', () => {
    const world = readyWorld()
    const kept = file(null)
    const keeper = createMemoryKeeper(kept, clock, () => {})
    keeper.keep(world.context)
    world.pass(60_000)
    keeper.keep(world.context)
    expect(kept.writes).toHaveLength(1)
    world.pushes()
    keeper.keep(world.context)
    expect(kept.writes).toHaveLength(2)
    keeper.forgetWritten()
    keeper.keep(world.context)
    expect(kept.writes).toHaveLength(3)
  })

  test('that cannot be written is told of once, and written as soon as it can be', () => {
    const onFailed = vi.fn<(error: unknown) => void>()
    let full = true
    const writes: string[] = []
    const write = (text: string) => {
      if (full) throw new Error('ENOSPC')
      writes.push(text)
    }
    const keeper = createMemoryKeeper({ read: () => null, write }, clock, onFailed)
    const world = readyWorld()
    keeper.keep(world.context)
    world.pushes()
    keeper.keep(world.context)
    expect(onFailed).toHaveBeenCalledTimes(1)
    full = false
    keeper.keep(world.context)
    expect(writes).toHaveLength(1)
  })

  test('has no moment that lies ahead, where the clock was set back', () => {
    const world = readyWorld()
    world.pass(50_000)
    world.pushes()
    const { memory } = world.ends(-40_000)
    expect(memory?.bell?.rung_at).toBe(0)
  })
})
