/** Routines: run configured routines or given steps, and read their reports. */
import { bench, type BenchInput } from './bench.ts'
import { execute, type Executed, type Execution, type ExecutorDeps } from './executor.ts'
import type { Reports, RoutineCall } from './deps.ts'
import { createReach, type SandboxDeps } from './sandbox.ts'
import type { Config } from '../../contracts/config.ts'
import { toProblem, TurnbellError } from '../../contracts/errors/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { nearest } from '../../contracts/text/names.ts'
import type {
  BenchAnswer,
  GivenParams,
  KeptReport,
  Report,
  Routine,
  RoutineLine,
  RoutineStep,
  StepTypeLine,
} from '../../contracts/runs/routine.ts'
import type { Log } from '../../ports/log.ts'

/** The current configuration. */
export type RoutineSettings = Pick<Config, 'routines' | 'sandbox' | 'workflow'>

export interface EvalInput {
  steps: readonly RoutineStep[]
  params: GivenParams
  dry_run: boolean
}

/**
 * A run returns its report even if steps failed; `unkept` in the report contains the error if it could not be stored. Runs
 * throw `limit_reached` if too many are running.
 */
export interface RoutineService {
  /** Throws `routine_unknown` and `params_invalid`. */
  run(call: RoutineCall, input: { name: string; params: GivenParams; dry_run: boolean }): Promise<Report>
  eval(call: RoutineCall, input: EvalInput): Promise<Report>
  step(
    call: RoutineCall,
    input: { step: string; with?: { [key: string]: Json } | undefined; dry_run: boolean },
  ): Promise<Report>
  /** Times a program. Throws `leash_forbidden`, `project_unknown`, `program_failed` and `params_invalid`. */
  bench(call: RoutineCall, input: BenchInput): Promise<BenchAnswer>
  /** `hint` is set if the configuration was changed and cannot be read. */
  list(): { routines: RoutineLine[]; hint?: string }
  /** Newest first. An agent gets the step results only of its own reports. Throws `report_unknown`. */
  reports(
    call: Pick<RoutineCall, 'caller'>,
    query: { name?: string | undefined; report_id?: string | undefined; limit: number },
  ): Promise<KeptReport[]>
  steps(): StepTypeLine[]
}

export interface RoutineModule extends RoutineService {
  settings(): RoutineSettings
  /** Sets the configuration. Running routines continue with the new sandbox. */
  configure(settings: RoutineSettings): void
  /** Sets whether the changed configuration cannot be read; responses then contain a hint. */
  outdated(is: boolean): void
  /** Runs built-in steps. `keep: false` does not store the report. */
  perform(call: RoutineCall, execution: Execution & { keep?: boolean }): Promise<Performed>
}

export interface Performed extends Omit<Executed, 'report'> {
  report: Report
}

export interface RoutineDeps extends Omit<ExecutorDeps, 'reach' | 'log'>, Omit<SandboxDeps, 'sandbox'> {
  reports: Reports
  settings: RoutineSettings
  log: Pick<Log, 'error' | 'warn'>
}

export function createRoutines(deps: RoutineDeps): RoutineModule {
  const { types, reports, ids, log } = deps
  let { settings } = deps
  let outdated: string | null = null
  const reach = createReach({ ...deps, sandbox: () => settings.sandbox, outdated: () => outdated })
  const withinLimit = createRunLimit()

  const perform: RoutineModule['perform'] = (call, { keep = true, ...execution }) =>
    withinLimit(async () => {
      const { report, ended } = await execute({ ...deps, reach }, call, execution)
      const unkept: Report = { report_id: null, generation: null, ...report }
      if (!keep || execution.dry_run) return { report: unkept, ended }
      try {
        return { report: await reports.keep(report), ended }
      } catch (error) {
        // The caller gets the report, because the steps have run and must not be repeated.
        const instance = ids.next()
        log.error({ err: error, instance, routine: report.routine }, 'report not stored')
        return { report: { ...unkept, unkept: toProblem(error, instance) }, ended }
      }
    })

  const evaluate: RoutineService['eval'] = async (call, input) =>
    (await perform(call, { routine: null, ...input })).report

  return {
    perform,
    eval: evaluate,
    settings: () => settings,
    configure: (next) => void (settings = next),
    outdated: (is) => void (outdated = is ? OUTDATED : null),
    async run(call, { name, params, dry_run }) {
      const routine = routineCalled(name, settings.routines, outdated)
      const given = withDefaults(name, routine, params)
      const { steps } = routine
      return (await perform(call, { routine: name, steps, params: given, dry_run })).report
    },
    step: (call, { step, with: params, dry_run }) =>
      evaluate(call, {
        steps: [{ step, ...(params === undefined ? {} : { with: params }) }],
        params: {},
        dry_run,
      }),
    bench: (call, input) =>
      withinLimit(() => bench({ reach, clock: deps.clock, root: () => deps.rootOf(call) }, input)),
    list: () => ({
      routines: Object.entries(settings.routines).map(([name, { summary = null, params = {}, steps }]) => ({
        name,
        summary,
        params,
        steps: steps.length,
      })),
      ...(outdated === null ? {} : { hint: outdated }),
    }),
    async reports({ caller }, { name, report_id, limit }) {
      const found = await reports.list({ routine: name, report_id, limit })
      if (report_id !== undefined && found.length === 0) {
        throw new TurnbellError('report_unknown', { detail: `There is no report ${report_id}.` })
      }
      const sees = (report: KeptReport) => caller.kind !== 'agent' || report.identity === caller.identity
      // A single report is complete; several are shown without results.
      return found.map((report) => (sees(report) && found.length === 1 ? report : outline(report)))
    },
    steps: () => types.lines(),
  }
}

/** Returns a function that runs work unless `routine_runs_max` are running; then it throws `limit_reached`. */
function createRunLimit(): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0
  return async (work) => {
    if (running >= LIMITS.routine_runs_max) {
      throw new TurnbellError('limit_reached', {
        detail: `${LIMITS.routine_runs_max} routines are running, the maximum.`,
        hint: 'Try again when one of them has ended.',
      })
    }
    running += 1
    try {
      return await work()
    } finally {
      running -= 1
    }
  }
}

/** Does not contain the error, because agents read it and the error may quote a secret. */
const OUTDATED =
  'The changed configuration cannot be read, so the previous one is used; the operator can run `turnbell doctor` to find the error.'

function routineCalled(
  name: string,
  routines: RoutineSettings['routines'],
  outdated: string | null,
): Routine {
  const routine = Object.hasOwn(routines, name) ? routines[name] : undefined
  if (routine !== undefined) return routine
  const names = Object.keys(routines)
  const similar = nearest(name, names)
  throw new TurnbellError('routine_unknown', {
    detail: `There is no routine ${JSON.stringify(name)}; the configuration has ${names.join(', ') || 'none'}.`,
    ...(outdated === null ? {} : { hint: outdated }),
    ...(similar === null ? {} : { hint: `Did you mean ${similar}?` }),
  })
}

/** Adds defaults to the given parameters. Throws `params_invalid`. */
function withDefaults(name: string, { params: declared = {} }: Routine, given: GivenParams): GivenParams {
  const names = Object.keys(declared)
  const unknown = Object.keys(given).filter((param) => !names.includes(param))
  const missing = names.filter(
    (param) => !Object.hasOwn(given, param) && declared[param]?.default === undefined,
  )
  if (unknown.length + missing.length > 0) {
    const wrong = [
      ...unknown.map((param) => `${name} has no parameter ${JSON.stringify(param)}`),
      ...missing.map((param) => `${name} needs ${param}`),
    ]
    throw new TurnbellError('params_invalid', {
      detail: `params: ${wrong.slice(0, 5).join('; ')}; its parameters: ${names.join(', ') || 'none'}.`,
    })
  }
  const defaults = names.flatMap((param) => {
    const value = declared[param]?.default
    return value === undefined ? [] : [[param, value] as const]
  })
  return { ...(Object.fromEntries(defaults) as GivenParams), ...given }
}

/** Returns the report without the results of its steps. */
function outline(report: KeptReport): KeptReport {
  return {
    ...report,
    steps: report.steps.map(({ id, step, status, duration_ms, because }) => ({
      id,
      step,
      status,
      duration_ms,
      ...(because === undefined ? {} : { because }),
    })),
  }
}
