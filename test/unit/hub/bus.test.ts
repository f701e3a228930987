import { describe, expect, test, vi } from 'vitest'
import { createBus } from '../../../src/hub/bus.ts'
import { createJobs } from '../../../src/hub/jobs.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'

const PERSONA = { identity: 'ada', state: 'wrapped' } as never

describe('the bus', () => {
  test('the bus calls listeners of an event in the order of registration', () => {
    const bus = createBus()
    const called: string[] = []
    bus.listen({ personaChanged: () => called.push('first') })
    bus.listen({ personaChanged: () => called.push('second'), callerSeen: () => called.push('other event') })
    bus.emit.personaChanged(PERSONA)
    expect(called).toEqual(['first', 'second'])
  })

  test('the bus passes every argument of an event', () => {
    const bus = createBus()
    const rowLeft = vi.fn()
    bus.listen({ rowLeft })
    bus.emit.rowLeft({ identity: 'ada' } as never, 'expire')
    expect(rowLeft).toHaveBeenCalledExactlyOnceWith({ identity: 'ada' }, 'expire')
  })

  test('the bus has an emitter for an event without listeners', () => {
    expect(() => createBus().emit.dead({ to: 'ada', signal_ids: [], pending_count: 0 })).not.toThrow()
  })
})

describe('jobs', () => {
  test('a job reports a failure once until a run has succeeded', async () => {
    const clock = fakeClock()
    const onFailed = vi.fn()
    let broken = true
    const run = () => (broken ? Promise.reject(new Error('EIO')) : Promise.resolve())
    const jobs = createJobs([{ name: 'disk', jobs: [{ name: 'tidy', every_ms: 1_000, run }] }], {
      clock,
      onFailed,
    })
    jobs.start()
    await clock.advance(2_000)
    expect(onFailed.mock.calls).toEqual([['tidy', new Error('EIO')]])
    broken = false
    await clock.advance(1_000)
    broken = true
    await clock.advance(1_000)
    expect(onFailed).toHaveBeenCalledTimes(2)
    jobs.stop()
  })

  test('a job that throws is reported like one that rejects', async () => {
    const clock = fakeClock()
    const onFailed = vi.fn()
    const run = () => {
      throw new Error('bug')
    }
    createJobs([{ name: 'disk', jobs: [{ name: 'tidy', every_ms: 1_000, run }] }], {
      clock,
      onFailed,
    }).start()
    await clock.advance(1_000)
    expect(onFailed).toHaveBeenCalledExactlyOnceWith('tidy', new Error('bug'))
  })

  test('jobs sweep every module, and stop with the hub', async () => {
    const clock = fakeClock()
    const [sweep, other] = [vi.fn(), vi.fn()]
    const jobs = createJobs([{ name: 'one', sweep }, { name: 'two', sweep: other }, { name: 'three' }], {
      clock,
      onFailed: () => undefined,
    })
    jobs.start()
    await clock.advance(LIMITS.sweep_interval_ms)
    expect([sweep.mock.calls.length, other.mock.calls.length]).toEqual([1, 1])
    jobs.stop()
    await clock.advance(LIMITS.sweep_interval_ms)
    expect(sweep).toHaveBeenCalledTimes(1)
  })
})
