import { describe, expect, test } from 'vitest'
import { createSupervisor, type ShimProcess } from '../../../src/daemon/supervise.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { daemonWorld } from '../../support/worlds/daemon-world.ts'

function supervised() {
  const clock = fakeClock()
  const starts: { at: number; stops: string[]; exit: (code?: number) => void }[] = []
  const supervisor = createSupervisor(
    (onExit): ShimProcess => {
      const stops: string[] = []
      starts.push({ at: clock.monotonic(), stops, exit: (code = 1) => onExit(code, `exit code ${code}`) })
      return { pid: 4_000 + starts.length, stop: (how) => stops.push(how) }
    },
    clock,
    silentLog,
  )
  return { clock, starts, supervisor }
}

describe('a supervised shim', () => {
  test('a shim that keeps crashing is restarted after 1 s, growing to 60 s', async () => {
    const { clock, starts, supervisor } = supervised()
    supervisor.start()
    for (let crash = 0; crash < 9; crash += 1) {
      starts.at(-1)?.exit()
      await clock.advance(60_000)
    }
    const gaps = starts.slice(1).map(({ at }, n) => at - n * 60_000)
    expect(gaps).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
    expect(supervisor.restarts()).toBe(9)
  })

  test('a shim that was stable for a minute is restarted with short delays again', async () => {
    const { clock, starts, supervisor } = supervised()
    supervisor.start()
    starts[0]?.exit()
    await clock.advance(1_000)
    starts[1]?.exit()
    await clock.advance(2_000)
    await clock.advance(60_000)
    starts[2]?.exit()
    await clock.advance(1_000)
    expect(starts).toHaveLength(4)
  })

  test('a shim that exited is restarted at once for resume_surface', () => {
    const { starts, supervisor } = supervised()
    supervisor.start()
    supervisor.restartNow()
    expect(starts).toHaveLength(1)
    starts[0]?.exit()
    supervisor.restartNow()
    expect(starts).toHaveLength(2)
  })

  test('a shim is asked to stop, then killed after its grace', async () => {
    const { clock, starts, supervisor } = supervised()
    supervisor.start()
    const stopped = supervisor.stop()
    expect(starts[0]?.stops).toEqual(['ask'])
    await clock.advance(4_999)
    expect(starts[0]?.stops).toEqual(['ask'])
    await clock.advance(1)
    expect(starts[0]?.stops).toEqual(['ask', 'kill'])
    starts[0]?.exit()
    await stopped
    await clock.advance(600_000)
    expect(starts).toHaveLength(1)
  })

  test('a shim that waits for its restart is not started once the daemon stops', async () => {
    const { clock, starts, supervisor } = supervised()
    supervisor.start()
    starts[0]?.exit()
    await supervisor.stop()
    await clock.advance(600_000)
    expect(starts).toHaveLength(1)
    expect(clock.armed()).toBe(0)
  })

  test("the daemon's status contains the restarts of its shim", async () => {
    const clock = fakeClock()
    const exits: (() => void)[] = []
    const world = await daemonWorld({
      daemon: {
        clock,
        startShim: (onExit) => {
          exits.push(() => onExit(1, 'exit code 1'))
          return { pid: 1, stop: () => exits.at(-1)?.() }
        },
      },
    })
    await world.daemon.start()
    exits[0]?.()
    await clock.advance(1_000)
    expect(world.status().restarts).toBe(1)
  })
})
