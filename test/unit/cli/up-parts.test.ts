import { describe, expect, onTestFinished, test } from 'vitest'
import { spawn } from 'node:child_process'
import fc from 'fast-check'
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { Exit, Launched } from '../../../src/cli/up/launch.ts'
import { startPart, type PartView } from '../../../src/cli/up/part.ts'
import { afterExit } from '../../../src/cli/up/restart.ts'
import { fakeClock } from '../../support/fake-clock.ts'

const exit = (code: number | null, os_signal: NodeJS.Signals | null = null): Exit => ({ code, os_signal })

describe('a process that ended', () => {
  test.each([
    [exit(0), { kind: 'stopped' }],
    [exit(75), { kind: 'adopt' }],
    [exit(78), { kind: 'failed' }],
    [exit(1), { kind: 'restart', in_ms: 1_000 }],
    [exit(null, 'SIGKILL'), { kind: 'restart', in_ms: 1_000 }],
    [exit(null), { kind: 'restart', in_ms: 1_000 }],
  ])('%j', (how, next) => expect(afterExit(how, 0)).toEqual(next))

  test('is started later and later, but never later than the bound', () => {
    fc.assert(
      fc.property(fc.nat(200), (failures) => {
        const now = afterExit(exit(1), failures)
        const next = afterExit(exit(1), failures + 1)
        if (now.kind !== 'restart' || next.kind !== 'restart') throw new Error('not started again')
        expect(next.in_ms).toBeGreaterThanOrEqual(now.in_ms)
        expect(next.in_ms).toBeLessThanOrEqual(LIMITS.process_restart_max_ms)
      }),
    )
  })
})

/** A part whose processes are made by the test. Pids of other people's processes are this test's own. */
function world(options: { found?: number | null; leftCleanly?: boolean } = {}) {
  const clock = fakeClock()
  const started: { args: readonly string[]; end(how: Exit): void; killed: string[] }[] = []
  const views: PartView[] = []
  const answers = { found: options.found ?? null, leftCleanly: options.leftCleanly ?? false }
  const part = startPart({
    name: 'ada',
    args: ['daemon'],
    find: async () => answers.found,
    leftCleanly: () => answers.leftCleanly,
    launch: (args): Launched => {
      let ended: Exit | null = null
      let end = (_: Exit): void => {}
      const exited = new Promise<Exit>((resolve) => {
        end = (how) => {
          ended = how
          resolve(how)
        }
      })
      const killed: string[] = []
      started.push({ args, end, killed })
      return {
        pid: 1_000 + started.length,
        exited,
        exit: () => ended,
        said: () => 'turnbell daemon ready ada /x\nwhat it\n  said',
        kill: (os_signal) => void killed.push(os_signal),
      }
    },
    clock,
    onChange: (view) => views.push(view),
  })
  onTestFinished(() => void part.release())
  return { clock, started, views, part, answers, last: () => started.at(-1) }
}

describe('a part of up', () => {
  test('that runs already is used and not started', async () => {
    const { part, started, clock } = world({ found: process.pid })
    await clock.advance(0)
    expect(part.view()).toMatchObject({ state: 'running', ours: false, pid: process.pid })
    expect(started).toHaveLength(0)
    expect(part.release()).toBeNull()
  })

  test('is running once it answers, not when it was started', async () => {
    const { part, started, clock, answers } = world()
    await clock.advance(500)
    expect(part.view()).toMatchObject({ state: 'starting', ours: true, pid: 1_001 })
    answers.found = 1_001
    await clock.advance(500)
    expect(part.view()).toMatchObject({ state: 'running', pid: 1_001 })
    expect(started).toHaveLength(1)
  })

  test('is started again after a crash, with its last words', async () => {
    const { part, started, clock, last } = world()
    await clock.advance(0)
    last()?.end(exit(1))
    await clock.advance(100)
    expect(part.view()).toMatchObject({ state: 'waiting', pid: null })
    expect(part.view().note).toBe('ended with 1, again in 1 s: what it said')
    expect(started).toHaveLength(1)
    await clock.advance(1_000)
    expect(started).toHaveLength(2)
    expect(part.view()).toMatchObject({ state: 'starting', restarts: 1 })
  })

  test('waits longer after each crash, and shortly again after a stable run', async () => {
    const { clock, last, part } = world()
    const waits: string[] = []
    const crash = async () => {
      last()?.end(exit(null, 'SIGSEGV'))
      await clock.advance(0)
      waits.push(/again in (\d+)/.exec(part.view().note ?? '')?.[1] ?? '')
      await clock.advance(LIMITS.process_restart_max_ms)
    }
    await clock.advance(0)
    for (let n = 0; n < 3; n += 1) await crash()
    await clock.advance(LIMITS.process_stable_ms)
    await crash()
    expect(waits).toEqual(['1', '2', '4', '1'])
  })

  test('that ends with 0 was stopped on purpose and stays', async () => {
    const { part, started, clock, last } = world()
    await clock.advance(0)
    last()?.end(exit(0))
    await clock.advance(LIMITS.process_restart_max_ms)
    expect(part.view().state).toBe('stopped')
    expect(started).toHaveLength(1)
  })

  test('that ends with 78 stays and says why', async () => {
    const { part, started, clock, last } = world()
    await clock.advance(0)
    last()?.end(exit(78))
    await clock.advance(LIMITS.process_restart_max_ms)
    expect(part.view()).toMatchObject({ state: 'failed', note: 'what it said' })
    expect(started).toHaveLength(1)
  })

  test('that ends with 75 gives way to the one that runs', async () => {
    const { part, started, clock, last, answers } = world()
    await clock.advance(0)
    last()?.end(exit(75))
    await clock.advance(1_000)
    answers.found = process.pid
    await clock.advance(1_000)
    expect(part.view()).toMatchObject({ state: 'running', ours: false, pid: process.pid })
    expect(started).toHaveLength(1)
  })

  test.each([
    ['leaves nothing behind stays stopped', true, 'stopped', 0],
    ['leaves its pid file has crashed and is replaced', false, 'starting', 1],
  ])('of somebody else that goes and %s', async (_, leftCleanly, state, starts) => {
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    onTestFinished(() => void other.kill('SIGKILL'))
    const { part, started, clock, answers } = world({ found: other.pid ?? 0, leftCleanly })
    await clock.advance(0)
    expect(part.view()).toMatchObject({ state: 'running', ours: false })
    other.kill('SIGKILL')
    await new Promise((resolve) => other.once('exit', resolve))
    answers.found = null
    await clock.advance(1_000)
    expect(part.view().state).toBe(state)
    expect(started).toHaveLength(starts)
  })

  test('that is released is not started again, and is handed over to be stopped', async () => {
    const { part, started, clock, last } = world()
    await clock.advance(0)
    const own = part.release()
    expect(own?.pid).toBe(1_001)
    last()?.end(exit(1))
    await clock.advance(LIMITS.process_restart_max_ms)
    expect(started).toHaveLength(1)
    expect(clock.armed()).toBe(0)
  })

  test('is settled as soon as it is known whether it runs', async () => {
    const { part, clock, last } = world()
    await clock.advance(0)
    last()?.end(exit(78))
    await clock.advance(0)
    expect((await part.settled).state).toBe('failed')
  })
})
