/**
 * Does steps in their order and reports what became of each.
 *
 * A step that fails is soft: it is told, what builds on it is left out, and the rest goes on. A bug in a step
 * is that step's problem and ends nothing.
 */
import type { RoutineCall, UnkeptReport } from './needs.ts'
import type { Reach } from './reach.ts'
import { resolved, type Earlier } from './references.ts'
import { createShortener, shortProblem } from './shorten.ts'
import type { StepContext, StepDone, StepType, StepTypes } from './step-type.ts'
import { Problem, toProblem, TurnbellError } from '../../contracts/errors.ts'
import { fitted } from '../../contracts/fit.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { withIds, type GivenParams, type ReportStep, type RoutineStep } from '../../contracts/routine.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'

export interface Execution {
  /** Null for steps that came with the call. */
  routine: string | null
  steps: readonly RoutineStep[]
  params: GivenParams
  dry_run: boolean
}

export interface ExecutorNeeds {
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
  /** By id, with whole results. */
  ended: ReadonlyMap<string, Earlier>
}

export async function execute(
  needs: ExecutorNeeds,
  call: RoutineCall,
  { routine, steps, params, dry_run }: Execution,
): Promise<Executed> {
  const { clock } = needs
  const context: StepContext = {
    ...{ caller: call.caller, kernel: call.kernel, reach: needs.reach },
    root: () => needs.rootOf(call),
  }
  const started_at = timestamp(clock)
  const started = clock.monotonic()
  const short = createShortener()
  const earlier = new Map<string, Earlier>()
  const reported: ReportStep[] = []
  let ended_by: string | null = null
  /** When others last had their turn: steps that only compute would stop the hub, one after the other. */
  let turned_at = clock.monotonic()

  for (const step of withIds(steps)) {
    if (clock.monotonic() - turned_at > LIMITS.routine_turn_ms) {
      await new Promise<void>((resolve) => clock.soon(resolve))
      turned_at = clock.monotonic()
    }
    const step_started = clock.monotonic()
    const ended: Ended =
      ended_by === null
        ? await attempt(needs, step, { params, earlier, dry_run, routine }, context)
        : { status: 'skipped', because: ended_by }
    const { result, problem, ...how } = ended
    earlier.set(step.id, { status: ended.status, ...(result === undefined ? {} : { result }) })
    reported.push({
      ...{ id: step.id, step: step.step, ...how },
      duration_ms: rounded(clock.monotonic() - step_started),
      ...(result === undefined ? {} : short(result)),
      ...(problem === undefined ? {} : { problem: shortProblem(problem) }),
    })
    if (ended.status === 'failed' && step.required === true) ended_by = step.id
  }
  const failures = reported.filter(({ status }) => status === 'failed').length
  const report: UnkeptReport = {
    ...{ routine, identity: call.caller.identity, dry_run, ok: failures === 0, started_at },
    ...{ duration_ms: rounded(clock.monotonic() - started), failures, steps: reported },
  }
  return { report, ended: earlier }
}

type Ended = Pick<ReportStep, 'status' | 'result' | 'problem' | 'because'>

interface Circumstances {
  params: GivenParams
  earlier: ReadonlyMap<string, Earlier>
  dry_run: boolean
  routine: string | null
}

async function attempt(
  { types, ids, log }: ExecutorNeeds,
  step: RoutineStep & { id: string },
  { params, earlier, dry_run, routine }: Circumstances,
  context: StepContext,
): Promise<Ended> {
  const fared = (wanted: readonly ReportStep['status'][]) => (id: string) =>
    wanted.includes(earlier.get(id)?.status ?? 'skipped')
  const needs = step.needs ?? []
  const failed = needs.find(fared(['failed', 'skipped']))
  if (failed !== undefined) return { status: 'skipped', because: failed }
  try {
    const type = types.get(step.step)
    const given = resolved(step.with ?? {}, { params, earlier })
    if ('without' in given) {
      // What it would be given only a real run can tell.
      if (fared(['planned'])(given.without)) return { status: 'planned' }
      return { status: 'skipped', because: given.without }
    }
    const input: unknown = fitted(type.input, given.value)
    if (dry_run && (needs.some(fared(['planned'])) || mutates(type, input, context))) {
      type.check?.(input, context)
      return { status: 'planned' }
    }
    return ended(await type.run(input, context), ids)
  } catch (error) {
    const instance = ids.next()
    const problem = toProblem(error, instance)
    if (problem.code === 'internal') {
      log.error({ err: error, instance, routine, id: step.id, step: step.step }, 'a step broke')
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
  // What is neither is a bug of the step.
  const problem = failure instanceof TurnbellError ? toProblem(failure, ids.next()) : Problem.parse(failure)
  return { status: 'failed', ...result, problem }
}

/** What a report can hold, and what nobody changes any more. What is no JSON is a bug of the step. */
function plain(result: Json): Json {
  return JSON.parse(JSON.stringify(result)) as Json
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
