/** Tests the built-in step types except HTTP requests. */
import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../src/contracts/ids.ts'
import type { RoutineStep } from '../../../../src/contracts/runs/routine.ts'
import { playedOutside } from '../../../support/fakes/fake-outside.ts'
import { problem, routineWorld } from '../../../support/worlds/routine-world.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'

const only = async (world: ReturnType<typeof routineWorld>, step: RoutineStep, dry_run = false) => {
  const { report } = await world.run([step], { dry_run })
  return report.steps[0]
}

describe('a call', () => {
  const step: RoutineStep = {
    step: 'call',
    with: { facade: 'signals', action: 'inbox', params: { limit: 1 } },
  }

  test("a call is made through its caller's kernel", async () => {
    const asked: unknown[] = []
    const world = routineWorld({
      kernel: {
        call: (...call) => {
          asked.push(call)
          return Promise.resolve({ ok: true, result: { signals: [] } })
        },
      },
    })
    expect(await only(world, step)).toMatchObject({ status: 'ok', result: { signals: [] } })
    expect(asked).toEqual([['signals', 'inbox', { limit: 1 }]])
  })

  test('a rejected call has the same problem as for the caller', async () => {
    const refused = problem('facet_forbidden', 'It is closed.')
    const world = routineWorld({ kernel: { call: () => Promise.resolve({ ok: false, problem: refused }) } })
    expect(await only(world, step)).toMatchObject({ status: 'failed', problem: refused })
  })

  test('a call is checked in a dry run, and rejected there as well', async () => {
    const refuse = () => {
      throw new TurnbellError('facet_forbidden', { detail: 'It is closed.' })
    }
    const world = routineWorld({ kernel: { check: refuse } })
    expect(await only(world, step, true)).toMatchObject({
      status: 'failed',
      problem: { code: 'facet_forbidden' },
    })
  })

  test.each<[Record<string, Json>]>([
    [{}],
    [{ facade: 'signals' }],
    [{ facade: 'signals', action: '' }],
    [{ facade: 'signals', action: 'inbox', params: [] }],
    [{ facade: 'signals', action: 'inbox', caller: 'bob' }],
  ])('a call needs facade and action, and nothing else: %j', async (told) => {
    expect(await only(routineWorld(), { step: 'call', with: told })).toMatchObject({
      problem: { code: 'params_invalid' },
    })
  })
})

describe('a program', () => {
  const exec = (more: Record<string, Json> = {}): RoutineStep => ({
    step: 'exec',
    with: { argv: ['make', 'all'], ...more },
  })

  test('a program runs in the project, and succeeds with the expected exit code', async () => {
    const outside = playedOutside({ program: () => ({ exit_code: 2, stdout: 'out', stderr: 'err' }) })
    const world = routineWorld({ outside, sandbox: { exec: ['make'] } })
    expect(await only(world, exec({ expect_exit: 2, cwd: 'sub', timeout_ms: 500 }))).toMatchObject({
      status: 'ok',
      result: { exit_code: 2, stdout: 'out', stderr: 'err', cut: false },
    })
    expect(outside.ran).toMatchObject([
      { argv: ['make', 'all'], root: '/projects/project', cwd: 'sub', timeout_ms: 500 },
    ])
  })

  test.each([
    [{ exit_code: 1 }, 'program_failed', 'make all ended with code 1, not 0.'],
    [{ exit_code: null }, 'program_failed', 'make all was terminated by a signal.'],
    [{ exit_code: null, timed_out: true }, 'timed_out', 'make all was terminated after 120000 ms.'],
    // It exceeded its time limit all the same.
    [{ exit_code: 0, timed_out: true }, 'timed_out', 'was terminated after'],
  ])('a program that ends otherwise (%j) fails, and its output is shown', async (end, code, detail) => {
    const outside = playedOutside({ program: () => ({ ...end, stderr: 'no rule' }) })
    expect(await only(routineWorld({ outside, sandbox: { exec: ['make'] } }), exec())).toMatchObject({
      status: 'failed',
      result: { exit_code: end.exit_code, stderr: 'no rule' },
      problem: { code, detail: expect.stringContaining(detail) as string },
    })
  })

  test('a program needs a project, which is checked after the sandbox policy', async () => {
    const root = () => {
      throw new TurnbellError('project_unknown', { detail: 'There is none.' })
    }
    expect(await only(routineWorld({ root }), exec())).toMatchObject({ problem: { code: 'leash_forbidden' } })
    const world = routineWorld({ root, sandbox: { exec: ['make'] } })
    for (const dry_run of [true, false])
      expect(await only(world, exec(), dry_run)).toMatchObject({ problem: { code: 'project_unknown' } })
  })

  test.each<[Record<string, Json>]>([
    [{ argv: [] }],
    [{ argv: [''] }],
    [{ argv: 'make all' }],
    [{ argv: ['make', 'a\0b'] }],
    [{ argv: ['make', 1] }],
    [{ cwd: '' }],
    [{ cwd: 'a\0' }],
    [{ timeout_ms: 0 }],
    [{ timeout_ms: 10_000_000 }],
    [{ expect_exit: 256 }],
    [{ shell: true }],
    [{ env: { A: '1' } }],
  ])('a program with invalid parameters is not run: %j', async (told) => {
    const outside = playedOutside({ program: () => ({}) })
    const ended = await only(routineWorld({ outside, sandbox: { exec: ['make'] } }), exec(told))
    expect(ended).toMatchObject({ problem: { code: 'params_invalid' } })
    expect(outside.ran).toEqual([])
  })
})

describe('an expectation', () => {
  const expectation = (told: Record<string, Json>) => only(routineWorld(), { step: 'expect', with: told })

  test.each<[Record<string, Json>]>([
    [{ value: 3, equals: 3 }],
    [{ value: { a: [1, null] }, equals: { a: [1, null] } }],
    [{ value: null, equals: null }],
    [{ value: 3, at_most: 3, at_least: 3 }],
    [{ value: 'v1.2', matches: '^v\\d' }],
    [{ value: 0, matches: '^(0|null)$' }],
    [{ value: null, matches: '^(0|null)$' }],
    [{ value: { a: 1 }, matches: '"a":1' }],
    ...([null, '', [], {}] as Json[]).map((value): [Record<string, Json>] => [{ value, is_empty: true }]),
    ...([0, false, ' ', [null], { a: null }] as Json[]).map((value): [Record<string, Json>] => [
      { value, is_empty: false },
    ]),
  ])('an expectation holds: %j', async (told) => {
    expect(await expectation(told)).toMatchObject({ status: 'ok', result: { holds: true } })
  })

  test.each<[Record<string, Json>, string]>([
    [{ value: 3, equals: '3' }, 'Expected "3", found 3.'],
    [{ value: { a: 1 }, equals: { a: 1, b: 2 } }, 'found {"a":1}'],
    [{ value: 3, at_most: 2 }, 'Expected at most 2, found 3.'],
    [{ value: 3, at_least: 2, at_most: 2 }, 'at most 2'],
    [{ value: '1', at_most: 2 }, 'at most 2, found "1"'],
    [{ value: null, at_least: 0 }, 'at least 0, found null'],
    [{ value: 'main', matches: '^v' }, 'Expected a match of ^v, found "main".'],
    [{ value: [1], is_empty: true }, 'Expected an empty value, found [1].'],
    [{ value: '', is_empty: false }, 'Expected a value that is not empty, found "".'],
  ])('an expectation fails: %j', async (told, detail) => {
    expect(await expectation(told)).toMatchObject({
      status: 'failed',
      result: { holds: false },
      problem: { code: 'expectation_failed', detail: expect.stringContaining(detail) as string },
    })
  })

  test.each<[Record<string, Json>]>([
    [{}],
    [{ value: 3 }],
    [{ equals: 3 }],
    [{ value: 3, at_most: '3' }],
    [{ value: 'x', matches: '(' }],
    [{ value: `${'a'.repeat(60)}b`, matches: '^(a+)+$' }],
    [{ value: 'x', matches: 'x'.repeat(501) }],
    [{ value: 3, equal: 3 }],
  ])('an expectation is invalid: %j', async (told) => {
    expect(await expectation(told)).toMatchObject({ problem: { code: 'params_invalid' } })
  })
})

describe('an events step', () => {
  test("an events step reads with the caller's permissions", async () => {
    const wanted: unknown[] = []
    const event = { seq: 1, type: 'error', timestamp: '2026-03-01T12:00:00.000Z', agent_id: 'ada', data: {} }
    const events = (query: unknown) => {
      wanted.push(query)
      return [event]
    }
    const world = routineWorld({ kernel: { events } })
    const step: RoutineStep = { step: 'events', with: { types: ['error', 'signal.'], text: 'x' } }
    expect(await only(world, step, true)).toMatchObject({ status: 'ok', result: { events: [event] } })
    expect(wanted).toEqual([{ types: ['error', 'signal.'], text: 'x', limit: 20 }])
    expect(await only(world, { step: 'events', with: { limit: 0 } })).toMatchObject({
      problem: { code: 'params_invalid' },
    })
  })
})
