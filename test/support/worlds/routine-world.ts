/** Routine steps in an environment that a test controls. */
import * as z from 'zod'
import { TurnbellError, type Problem } from '../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import type { SandboxPolicy } from '../../../src/contracts/sandbox-policy.ts'
import { RoutineSteps, type Report, type RoutineStep } from '../../../src/contracts/runs/routine.ts'
import { execute, type Executed } from '../../../src/modules/routines/executor.ts'
import type { KernelCalls, RoutineCall } from '../../../src/modules/routines/deps.ts'
import { createReach, type Reach } from '../../../src/modules/routines/sandbox.ts'
import { createStepTypes, defineStep, type StepType } from '../../../src/modules/routines/step-type.ts'
import { builtInSteps } from '../../../src/modules/routines/steps/built-in.ts'
import { createIds } from '../../../src/system/random.ts'
import { fakeClock, seededRandom, type FakeClock } from '../fakes/fake-clock.ts'
import { playedOutside, type PlayedOutside } from '../fakes/fake-outside.ts'
import { AGENT } from './small-kernel.ts'

export const NO_SANDBOX: SandboxPolicy = { exec: [], network: [], env: [] }

export function reachOn(policy: Partial<SandboxPolicy>, outside: PlayedOutside = playedOutside()): Reach {
  return createReach({ ...outside, sandbox: () => ({ ...NO_SANDBOX, ...policy }) })
}

/** Step types: one returns its input, one makes a change, and others fail. */
export const PLAYED: readonly StepType[] = [
  defineStep({
    ...{ name: 'say', summary: 'Says.', mutates: false, input: z.strictObject({ value: z.any() }) },
    run: ({ value }) => ({ result: value as Json }),
  }),
  defineStep({
    ...{
      name: 'change',
      summary: 'Changes.',
      mutates: true,
      input: z.strictObject({ to: z.number().max(9) }),
    },
    run: ({ to }) => ({ result: { changed: to } }),
  }),
  defineStep({
    ...{
      name: 'fail',
      summary: 'Fails.',
      mutates: false,
      input: z.strictObject({ shows: z.any().optional() }),
    },
    run: ({ shows }) => {
      const failure = new TurnbellError('expectation_failed', { detail: 'As it was told to.' })
      if (shows === undefined) throw failure
      return { failure, result: shows as Json }
    },
  }),
  defineStep({
    ...{ name: 'bug', summary: 'Breaks.', mutates: false, input: z.strictObject({ how: z.string() }) },
    run: ({ how }) => {
      if (how === 'reject') return Promise.reject(new TypeError('the secret is 42'))
      if (how === 'no json') return { result: { big: 1n } as unknown as Json }
      if (how === 'nothing') return undefined as unknown as { result: Json }
      throw new Error('the secret is 42')
    },
  }),
]

export interface RoutineWorld {
  clock: FakeClock
  logged: { fields: object; message: string }[]
  call: RoutineCall
  run(
    steps: readonly RoutineStep[],
    how?: { params?: Record<string, Json>; dry_run?: boolean; routine?: string | null },
  ): Promise<Executed>
  /** Returns how each step ended: `ok`, or its status and reason. */
  ends(steps: readonly RoutineStep[], how?: Parameters<RoutineWorld['run']>[1]): Promise<string[]>
}

export function routineWorld(
  played: {
    types?: readonly StepType[]
    kernel?: Partial<KernelCalls>
    outside?: PlayedOutside
    sandbox?: Partial<SandboxPolicy>
    root?: () => string
  } = {},
): RoutineWorld {
  const clock = fakeClock()
  const outside = played.outside ?? playedOutside()
  const logged: RoutineWorld['logged'] = []
  const call: RoutineCall = {
    caller: AGENT,
    context: { scope: null },
    kernel: {
      call: (facade) => Promise.resolve({ ok: false, problem: problem('facade_unknown', `No ${facade}.`) }),
      check: () => ({ mutates: true }),
      events: () => [],
      ...played.kernel,
    },
  }
  const run: RoutineWorld['run'] = (steps, { params = {}, dry_run = false, routine = null } = {}) =>
    execute(
      {
        types: createStepTypes([...builtInSteps({ ...outside, clock }), ...PLAYED], played.types),
        reach: reachOn(played.sandbox ?? {}, outside),
        rootOf: played.root ?? (() => '/projects/project'),
        clock,
        ids: createIds(clock, seededRandom()),
        log: { error: (fields, message) => void logged.push({ fields, message }) },
      },
      call,
      { routine, steps: RoutineSteps.parse(steps), params, dry_run },
    )
  return {
    ...{ clock, logged, call, run },
    ends: async (steps, how) => (await run(steps, how)).report.steps.map(endOf),
  }
}

export function endOf({ status, problem: why, because }: Report['steps'][number]): string {
  return [status, why?.code ?? because].filter((word) => word !== undefined).join(' ')
}

export function problem(code: string, detail: string): Problem {
  const told = {
    title: 'It was refused',
    status: 400,
    error_class: 'caller',
    retry: 'never',
    hint: '',
  } as const
  return { type: `urn:turnbell:error:${code}`, instance: 'urn:turnbell:instance:x', code, detail, ...told }
}
