import { describe, expect, onTestFinished, test } from 'vitest'
import { spawn } from 'node:child_process'
import fc from 'fast-check'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { Exit, Launched } from '../../../../src/cli/up/launch.ts'
import { manageProcess, type ProcessView } from '../../../../src/cli/up/managed-process.ts'
import { afterExit } from '../../../../src/cli/up/restart.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'

const exit = (code: number | null, os_signal: NodeJS.Signals | null = null): Exit => ({ code, os_signal })

describe('the restart policy', () => {
  test.each([
    [exit(0), { kind: 'stopped' }],
    [exit(75), { kind: 'adopt' }],
    [exit(78), { kind: 'failed' }],
    [exit(1), { kind: 'restart', in_ms: 1_000 }],
    [exit(null, 'SIGKILL'), { kind: 'restart', in_ms: 1_000 }],
    [exit(null), { kind: 'restart', in_ms: 1_000 }],
  ])('after the exit %j the policy is %j', (how, next) => expect(afterExit(how, 0)).toEqual(next))

  test('the restart delay grows up to its limit', () => {
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

/**
 * Returns a managed process whose child processes are made by the test. Pids of foreign processes are this test's own.
 */
function world(options: { found?: number | null; leftCleanly?: boolean } = {}) {
  const clock = fakeClock()
  const started: { args: readonly string[]; end(how: Exit): void; killed: string[] }[] = []
  const views: ProcessView[] = []
  const answers = { found: options.found ?? null, leftCleanly: options.leftCleanly ?? false }
  const managed = manageProcess({
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
        output: () => 'turnbell daemon ready ada /x\nwhat it\n  said',
        kill: (os_signal) => void killed.push(os_signal),
      }
    },
    clock,
    onChange: (view) => views.push(view),
  })
  onTestFinished(() => void managed.release())
  return { clock, started, views, managed, answers, last: () => started.at(-1) }
}

describe('a managed process', () => {
  test('a running process is used and not started', async () => {
    const { managed, started, clock } = world({ found: process.pid })
    await clock.advance(0)
    expect(managed.view()).toMatchObject({ state: 'running', ours: false, pid: process.pid })
    expect(started).toHaveLength(0)
    expect(managed.release()).toBeNull()
  })

  test('a process is running once it answers', async () => {
    const { managed, started, clock, answers } = world()
    await clock.advance(500)
    expect(managed.view()).toMatchObject({ state: 'starting', ours: true, pid: 1_001 })
    answers.found = 1_001
    await clock.advance(500)
    expect(managed.view()).toMatchObject({ state: 'running', pid: 1_001 })
    expect(started).toHaveLength(1)
  })

  test('a process is restarted after a crash and its output is noted', async () => {
    const { managed, started, clock, last } = world()
    await clock.advance(0)
    last()?.end(exit(1))
    await clock.advance(100)
    expect(managed.view()).toMatchObject({ state: 'waiting', pid: null })
    expect(managed.view().note).toMatch(/exit code 1.* 1 s: what it said$/)
    expect(started).toHaveLength(1)
    await clock.advance(1_000)
    expect(started).toHaveLength(2)
    expect(managed.view()).toMatchObject({ state: 'starting', restarts: 1 })
  })

  test('the restart delay grows with each crash and is reset by a stable run', async () => {
    const { clock, last, managed } = world()
    const waits: string[] = []
    const crash = async () => {
      last()?.end(exit(null, 'SIGSEGV'))
      await clock.advance(0)
      waits.push(/in (\d+) s/.exec(managed.view().note ?? '')?.[1] ?? '')
      await clock.advance(LIMITS.process_restart_max_ms)
    }
    await clock.advance(0)
    for (let n = 0; n < 3; n += 1) await crash()
    await clock.advance(LIMITS.process_stable_ms)
    await crash()
    expect(waits).toEqual(['1', '2', '4', '1'])
  })

  test('a process that exits 0 is not restarted', async () => {
    const { managed, started, clock, last } = world()
    await clock.advance(0)
    last()?.end(exit(0))
    await clock.advance(LIMITS.process_restart_max_ms)
    expect(managed.view().state).toBe('stopped')
    expect(started).toHaveLength(1)
  })

  test('a process that exits 78 is not restarted and its output is noted', async () => {
    const { managed, started, clock, last } = world()
    await clock.advance(0)
    last()?.end(exit(78))
    await clock.advance(LIMITS.process_restart_max_ms)
    expect(managed.view()).toMatchObject({ state: 'failed', note: 'what it said' })
    expect(started).toHaveLength(1)
  })

  test('a process that exits 75 is replaced by the running one', async () => {
    const { managed, started, clock, last, answers } = world()
    await clock.advance(0)
    last()?.end(exit(75))
    await clock.advance(1_000)
    answers.found = process.pid
    await clock.advance(1_000)
    expect(managed.view()).toMatchObject({ state: 'running', ours: false, pid: process.pid })
    expect(started).toHaveLength(1)
  })

  test('a process that exits 75 without a running one is retried later', async () => {
    const { managed, started, clock, last } = world()
    await clock.advance(0)
    last()?.end(exit(75))
    await clock.advance(LIMITS.process_start_ms + 100)
    expect(managed.view()).toMatchObject({ state: 'waiting', note: 'what it said' })
    await clock.advance(LIMITS.process_restart_max_ms)
    expect(started).toHaveLength(2)
    expect(managed.view()).toMatchObject({ state: 'starting', restarts: 1 })
  })

  test.each([
    ['leaves nothing behind stays stopped', true, 'stopped', 0],
    ['leaves its pid file has crashed and is replaced', false, 'starting', 1],
  ])('a process that was started elsewhere ends and %s', async (_, leftCleanly, state, starts) => {
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    onTestFinished(() => void other.kill('SIGKILL'))
    const { managed, started, clock, answers } = world({ found: other.pid ?? 0, leftCleanly })
    await clock.advance(0)
    expect(managed.view()).toMatchObject({ state: 'running', ours: false })
    other.kill('SIGKILL')
    await new Promise((resolve) => other.once('exit', resolve))
    answers.found = null
    await clock.advance(1_000)
    expect(managed.view().state).toBe(state)
    expect(started).toHaveLength(starts)
  })

  test('a released process is not restarted and is returned to be stopped', async () => {
    const { managed, started, clock, last } = world()
    await clock.advance(0)
    const own = managed.release()
    expect(own?.pid).toBe(1_001)
    last()?.end(exit(1))
    await clock.advance(LIMITS.process_restart_max_ms)
    expect(started).toHaveLength(1)
    expect(clock.armed()).toBe(0)
  })

  test('a managed process settles once its state is known', async () => {
    const { managed, clock, last } = world()
    await clock.advance(0)
    last()?.end(exit(78))
    await clock.advance(0)
    expect((await managed.settled).state).toBe('failed')
  })
})
