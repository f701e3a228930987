/** How long a program takes, with programs that take as long as the test says. */
import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits.ts'
import type { Leash } from '../../../../src/contracts/leash.ts'
import { bench, type BenchInput } from '../../../../src/modules/routines/bench.ts'
import type { ProgramEnd } from '../../../../src/ports/programs.ts'
import { fakeClock } from '../../../support/fake-clock.ts'
import { playedOutside } from '../../../support/outside.ts'
import { reachOn } from '../../../support/routine-world.ts'
import { refusedWith } from '../../../support/small-hub.ts'

/** Each run takes what the next entry says, and ends as it says. */
function world(
  runs: readonly (Partial<ProgramEnd> & { ms: number })[],
  leash: Partial<Leash> = { exec: ['make'] },
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
  const reach = reachOn(leash, outside)
  const input = (more: Partial<BenchInput>): BenchInput => ({
    ...{ argv: ['make'], cwd: '.', runs: runs.length, timeout_ms: 1_000 },
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
  test('as often as was asked for, in its project, one run after the other', async () => {
    const { bench: timed, outside } = world([{ ms: 5 }, { ms: 30 }, { ms: 10 }])
    expect(await timed({ cwd: 'sub' })).toEqual({
      runs: [5, 30, 10].map((duration_ms) => ({ duration_ms, exit_code: 0 })),
      ...{ min_ms: 5, median_ms: 10, max_ms: 30, timed_out: false, failed: null },
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

  test('with the figure in the middle, or between the two that are', async () => {
    expect(await figures(7)).toEqual([7, 7, 7])
    expect(await figures(40, 10)).toEqual([10, 25, 40])
    expect(await figures(9, 100, 10)).toEqual([9, 10, 100])
    expect(await figures(4, 3, 1, 2)).toEqual([1, 2.5, 4])
  })

  test('also where it fails, and then what it said at first is told', async () => {
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

  test('as long as there is time: a run that was ended counts for nothing', async () => {
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
  test.each<[string, Partial<Leash>, string[]]>([
    ['is not on the leash', {}, ['make']],
    ['is on it with other arguments', { exec: ['make test'] }, ['make', 'all']],
    ['only begins like one that is', { exec: ['make'] }, ['makers']],
  ])('that %s', async (_, leash, argv) => {
    const { bench: timed, outside } = world([{ ms: 1 }], leash)
    expect(await refusedWith(() => timed({ argv }))).toBe('leash_forbidden')
    expect(outside.ran).toEqual([])
  })

  test('for a caller without a project, which is found out after the leash', async () => {
    const root = () => {
      throw new TurnbellError('project_unknown', { detail: 'None.' })
    }
    expect(await refusedWith(() => world([{ ms: 1 }]).bench({}, root))).toBe('project_unknown')
    expect(await refusedWith(() => world([{ ms: 1 }], {}).bench({}, root))).toBe('leash_forbidden')
  })
})
