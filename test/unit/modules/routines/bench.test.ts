/** Tests `dojo bench` with fake programs whose durations the test defines. */
import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { SandboxPolicy } from '../../../../src/contracts/sandbox-policy.ts'
import { bench, type BenchInput } from '../../../../src/modules/routines/bench.ts'
import type { ProgramResult } from '../../../../src/ports/step-runner.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { playedOutside } from '../../../support/fakes/fake-outside.ts'
import { reachOn } from '../../../support/worlds/routine-world.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'

/** Each run uses the duration and the exit of the next entry. */
function world(
  runs: readonly (Partial<ProgramResult> & { ms: number })[],
  policy: Partial<SandboxPolicy> = { exec: ['make'] },
) {
  const clock = fakeClock()
  const left = [...runs]
  const outside = playedOutside({
    program() {
      const { ms, ...end } = left.shift() ?? { ms: 0 }
      void clock.advance(ms)
      return end
    },
  })
  const reach = reachOn(policy, outside)
  const input = (more: Partial<BenchInput>): BenchInput => ({
    argv: ['make'],
    cwd: '.',
    runs: runs.length,
    timeout_ms: 1_000,
    ...more,
  })
  return {
    outside,
    bench: (more: Partial<BenchInput> = {}, root = () => '/projects/app') =>
      bench({ reach, clock, root }, input(more)),
  }
}
const figures = async (...ms: number[]) => {
  const { min_ms, median_ms, max_ms } = await world(ms.map((one) => ({ ms: one }))).bench()
  return [min_ms, median_ms, max_ms]
}

describe('a program is timed', () => {
  test('a program is timed the requested number of times, in its project, one run after another', async () => {
    const { bench: timed, outside } = world([{ ms: 5 }, { ms: 30 }, { ms: 10 }])
    expect(await timed({ cwd: 'sub' })).toEqual({
      runs: [5, 30, 10].map((duration_ms) => ({ duration_ms, exit_code: 0 })),
      min_ms: 5,
      median_ms: 10,
      max_ms: 30,
      timed_out: false,
      failed: null,
    })
    expect(outside.ran).toMatchObject(
      [1_000, 995, 965].map((timeout_ms) => ({
        argv: ['make'],
        root: '/projects/app',
        cwd: 'sub',
        timeout_ms,
      })),
    )
  })

  test('the result is the median, or the mean of the two middle values', async () => {
    expect(await figures(7)).toEqual([7, 7, 7])
    expect(await figures(40, 10)).toEqual([10, 25, 40])
    expect(await figures(9, 100, 10)).toEqual([9, 10, 100])
    expect(await figures(4, 3, 1, 2)).toEqual([1, 2.5, 4])
  })

  test('a failing program is timed as well, with the start of its output', async () => {
    const runs = [
      { ms: 1 },
      { ms: 2, exit_code: 2, stderr: `${'x'.repeat(LIMITS.bench_output_length_max)} no rule` },
      { ms: 3, exit_code: 7, stderr: 'later' },
      { ms: 4, exit_code: null },
    ]
    const answer = await world(runs).bench()
    expect(answer.runs.map(({ exit_code }) => exit_code)).toEqual([0, 2, 7, null])
    expect(answer).toMatchObject({ max_ms: 4, failed: { exit_code: 2, stdout: '' } })
    expect(answer.failed?.stderr).toHaveLength(LIMITS.bench_output_length_max)
    expect(answer.failed?.stderr).toMatch(/no rule$/)
  })

  test('a run that exceeded the time limit does not count', async () => {
    const cut_off = await world([
      { ms: 400 },
      { ms: 600, timed_out: true, exit_code: null },
      { ms: 1 },
    ]).bench()
    expect(cut_off).toMatchObject({ runs: [{ duration_ms: 400 }], max_ms: 400, timed_out: true })
    const over = await world([{ ms: 400 }, { ms: 600 }, { ms: 1 }]).bench()
    expect(over).toMatchObject({ runs: [{}, {}], timed_out: true, failed: null })
    const none = await world([{ ms: 1_000, timed_out: true, exit_code: null }]).bench()
    expect(none).toMatchObject({ runs: [], min_ms: null, median_ms: null, max_ms: null, timed_out: true })
  })
})

describe('a program is not run', () => {
  test.each<[string, Partial<SandboxPolicy>, string[]]>([
    ['is not allowed by the sandbox policy', {}, ['make']],
    ['is allowed only with other arguments', { exec: ['make test'] }, ['make', 'all']],
    ['only begins like an allowed one', { exec: ['make'] }, ['makers']],
  ])('a program is not run if it %s', async (_, policy, argv) => {
    const { bench: timed, outside } = world([{ ms: 1 }], policy)
    expect(await refusedWith(() => timed({ argv }))).toBe('leash_forbidden')
    expect(outside.ran).toEqual([])
  })

  test('a program is not run for a caller without a project, which is checked after the sandbox policy', async () => {
    const root = () => {
      throw new TurnbellError('project_unknown', { detail: 'None.' })
    }
    expect(await refusedWith(() => world([{ ms: 1 }]).bench({}, root))).toBe('project_unknown')
    expect(await refusedWith(() => world([{ ms: 1 }], {}).bench({}, root))).toBe('leash_forbidden')
  })
})
