/**
 * Runs steps in order and reports the outcome of each.
 *
 * A failed step is reported, the steps that need it are skipped, and the others run. A bug in a step fails only that step.
 */
import type { RoutineCall, UnkeptReport } from './deps.ts'
import type { Reach } from './sandbox.ts'
import { resolved, type Earlier } from './references.ts'
import { createShortener, shortProblem } from './truncate-report.ts'
import type { StepContext, StepDone, StepType, StepTypes } from './step-type.ts'
import { Problem, toProblem, TurnbellError } from '../../contracts/errors/errors.ts'
import { parseParams } from '../../contracts/validation/parse-params.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { withIds, type GivenParams, type ReportStep, type RoutineStep } from '../../contracts/runs/routine.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'

export interface Execution {
  /** Null for steps given in the call. */
  routine: string | null
  steps: readonly RoutineStep[]
  params: GivenParams
  dry_run: boolean
}

export interface ExecutorDeps {
  types: StepTypes
  reach: Reach
  /** Throws `project_unknown`. */
  rootOf(call: RoutineCall): string
  clock: Clock
  ids: Pick<Ids, 'next'>
  log: Pick<Log, 'error'>
}

export interface Executed {
  report: UnkeptReport
  /** Outcomes by step id, with complete results. */
  ended: ReadonlyMap<string, Earlier>
}

export async function execute(
  deps: ExecutorDeps,
  call: RoutineCall,
  { routine, steps, params, dry_run }: Execution,
): Promise<Executed> {
  const { clock } = deps
  const context: StepContext = {
    caller: call.caller,
    kernel: call.kernel,
    reach: deps.reach,
    root: () => deps.rootOf(call),
  }
  const started_at = timestamp(clock)
  const started = clock.monotonic()
  const short = createShortener()
  const earlier = new Map<string, Earlier>()
  const reported: ReportStep[] = []
  let ended_by: string | null = null
  /** Time of the last yield to the event loop, because steps that only compute would block the hub. */
  let yielded_at = clock.monotonic()

  for (const step of withIds(steps)) {
    if (clock.monotonic() - yielded_at > LIMITS.routine_turn_ms) {
      await new Promise<void>((resolve) => clock.soon(resolve))
      yielded_at = clock.monotonic()
    }
    const step_started = clock.monotonic()
    const ended: Ended =
      ended_by === null
        ? await attempt(deps, step, { params, earlier, dry_run, routine }, context)
        : { status: 'skipped', because: ended_by }
    const { result, problem, ...how } = ended
    earlier.set(step.id, { status: ended.status, ...(result === undefined ? {} : { result }) })
    reported.push({
      id: step.id,
      step: step.step,
      ...how,
      duration_ms: rounded(clock.monotonic() - step_started),
      ...(result === undefined ? {} : short(result)),
      ...(problem === undefined ? {} : { problem: shortProblem(problem) }),
    })
    if (ended.status === 'failed' && step.required === true) ended_by = step.id
  }
  const failures = reported.filter(({ status }) => status === 'failed').length
  const report: UnkeptReport = {
    routine,
    identity: call.caller.identity,
    dry_run,
    ok: failures === 0,
    started_at,
    duration_ms: rounded(clock.monotonic() - started),
    failures,
    steps: reported,
  }
  return { report, ended: earlier }
}

type Ended = Pick<ReportStep, 'status' | 'result' | 'problem' | 'because'>

interface StepInput {
  params: GivenParams
  earlier: ReadonlyMap<string, Earlier>
  dry_run: boolean
  routine: string | null
}

async function attempt(
  { types, ids, log }: ExecutorDeps,
  step: RoutineStep & { id: string },
  { params, earlier, dry_run, routine }: StepInput,
  context: StepContext,
): Promise<Ended> {
  const hasStatus = (wanted: readonly ReportStep['status'][]) => (id: string) =>
    wanted.includes(earlier.get(id)?.status ?? 'skipped')
  const needs = step.needs ?? []
  const failed = needs.find(hasStatus(['failed', 'skipped']))
  if (failed !== undefined) return { status: 'skipped', because: failed }
  try {
    const type = types.get(step.step)
    const given = resolved(step.with ?? {}, { params, earlier })
    if ('without' in given) {
      // Its input depends on a step that a dry run does not execute.
      if (hasStatus(['planned'])(given.without)) return { status: 'planned' }
      return { status: 'skipped', because: given.without }
    }
    const input: unknown = parseParams(type.input, given.value)
    if (dry_run && (needs.some(hasStatus(['planned'])) || mutates(type, input, context))) {
      type.check?.(input, context)
      return { status: 'planned' }
    }
    return ended(await type.run(input, context), ids)
  } catch (error) {
    const instance = ids.next()
    const problem = toProblem(error, instance)
    if (problem.code === 'internal') {
      log.error(
        { err: error, instance, routine, id: step.id, step: step.step },
        'step failed with an internal error',
      )
    }
    return { status: 'failed', problem }
  }
}

function mutates(type: StepType, input: unknown, context: StepContext): boolean {
  return typeof type.mutates === 'boolean' ? type.mutates : type.mutates(input, context)
}

function ended(done: StepDone, ids: Pick<Ids, 'next'>): Ended {
  const result = done.result === undefined ? {} : { result: plain(done.result) }
  if (!('failure' in done)) return { status: 'ok', ...result }
  const { failure } = done
  // Any other value throws, as a bug of the step.
  const problem = failure instanceof TurnbellError ? toProblem(failure, ids.next()) : Problem.parse(failure)
  return { status: 'failed', ...result, problem }
}

/** Returns a copy as plain JSON. Throws for any other value, as a bug of the step. */
function plain(result: Json): Json {
  return JSON.parse(JSON.stringify(result)) as Json
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
