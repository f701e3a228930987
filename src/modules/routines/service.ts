/** Routines as facades see them: run what is configured, run what is given, look at what came of it. */
import { bench, type BenchInput } from './bench.ts'
import { execute, type Executed, type Execution, type ExecutorNeeds } from './executor.ts'
import type { Reports, RoutineCall } from './needs.ts'
import { createReach, type ReachNeeds } from './reach.ts'
import type { Config } from '../../contracts/config.ts'
import { toProblem, TurnbellError } from '../../contracts/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { nearest } from '../../contracts/names.ts'
import type {
  BenchAnswer,
  GivenParams,
  KeptReport,
  Report,
  Routine,
  RoutineLine,
  RoutineStep,
  StepTypeLine,
} from '../../contracts/routine.ts'
import type { Log } from '../../ports/log.ts'

/** What the configuration says, as it is at the moment. */
export type RoutineSettings = Pick<Config, 'routines' | 'leash' | 'workflow'>

export interface EvalInput {
  steps: readonly RoutineStep[]
  params: GivenParams
  dry_run: boolean
}

/**
 * What runs answers with its report, whatever became of the steps; a report that cannot be kept says why.
 * All throw `limit_reached` when too many run.
 */
export interface RoutineService {
  /** Throws `routine_unknown`, and `params_invalid` where its parameters are others. */
  run(call: RoutineCall, input: { name: string; params: GivenParams; dry_run: boolean }): Promise<Report>
  eval(call: RoutineCall, input: EvalInput): Promise<Report>
  step(
    call: RoutineCall,
    input: { step: string; with?: { [key: string]: Json } | undefined; dry_run: boolean },
  ): Promise<Report>
  /** Times a program. Throws `leash_forbidden`, `project_unknown`, `program_failed` and `params_invalid`. */
  bench(call: RoutineCall, input: BenchInput): Promise<BenchAnswer>
  /** `hint` where the configuration says otherwise by now, and cannot be read. */
  list(): { routines: RoutineLine[]; hint?: string }
  /** Newest first. What a step of somebody else's found is not shown. Throws `report_unknown`. */
  reports(
    call: Pick<RoutineCall, 'caller'>,
    query: { name?: string | undefined; report_id?: string | undefined; limit: number },
  ): Promise<KeptReport[]>
  steps(): StepTypeLine[]
}

export interface RoutineModule extends RoutineService {
  settings(): RoutineSettings
  /** From now on the configuration says this. What runs goes on, on the new leash. */
  configure(settings: RoutineSettings): void
  /** Whether the configuration was changed to what cannot be read: then answers say that they come from before. */
  outdated(is: boolean): void
  /** Steps that come from turnbell itself; `keep` false for those that only look. */
  perform(call: RoutineCall, execution: Execution & { keep?: boolean }): Promise<Performed>
}

export interface Performed extends Omit<Executed, 'report'> {
  report: Report
}

export interface RoutineNeeds extends Omit<ExecutorNeeds, 'reach' | 'log'>, Omit<ReachNeeds, 'leash'> {
  reports: Reports
  settings: RoutineSettings
  log: Pick<Log, 'error' | 'warn'>
}

export function createRoutines(needs: RoutineNeeds): RoutineModule {
  const { types, reports, ids, log } = needs
  let { settings } = needs
  let outdated: string | null = null
  const reach = createReach({ ...needs, leash: () => settings.leash, outdated: () => outdated })
  let running = 0

  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= LIMITS.routine_runs_max) {
      throw new TurnbellError('limit_reached', {
        detail: `${LIMITS.routine_runs_max} routines run already.`,
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

  const perform: RoutineModule['perform'] = (call, { keep = true, ...execution }) =>
    inTurn(async () => {
      const { report, ended } = await execute({ ...needs, reach }, call, execution)
      const unkept: Report = { report_id: null, generation: null, ...report }
      if (!keep || execution.dry_run) return { report: unkept, ended }
      try {
        return { report: await reports.keep(report), ended }
      } catch (error) {
        // What was done is done: its caller must hear of it, or would do it again.
        const instance = ids.next()
        log.error({ err: error, instance, routine: report.routine }, 'a report could not be kept')
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
      const given = bound(name, routine, params)
      const { steps } = routine
      return (await perform(call, { routine: name, steps, params: given, dry_run })).report
    },
    step: (call, { step, with: told, dry_run }) =>
      evaluate(call, {
        steps: [{ step, ...(told === undefined ? {} : { with: told }) }],
        params: {},
        dry_run,
      }),
    bench: (call, input) =>
      inTurn(() => bench({ reach, clock: needs.clock, root: () => needs.rootOf(call) }, input)),
    list: () => ({
      routines: Object.entries(settings.routines).map(([name, { summary = null, params = {}, steps }]) => ({
        ...{ name, summary, params, steps: steps.length },
      })),
      ...(outdated === null ? {} : { hint: outdated }),
    }),
    async reports({ caller }, { name, report_id, limit }) {
      const found = await reports.list({ routine: name, report_id, limit })
      if (report_id !== undefined && found.length === 0) {
        throw new TurnbellError('report_unknown', { detail: `There is no report ${report_id}.` })
      }
      const sees = (report: KeptReport) => caller.kind !== 'agent' || report.identity === caller.identity
      // One in full; of several what each came to.
      return found.map((report) => (sees(report) && found.length === 1 ? report : outline(report)))
    },
    steps: () => types.lines(),
  }
}

/** Not what is wrong with it: that may be a line with a secret in it, and agents read this. */
const OUTDATED =
  'The configuration was changed and cannot be read, so what it said before counts; `turnbell doctor` tells the operator why.'

function routineCalled(
  name: string,
  routines: RoutineSettings['routines'],
  outdated: string | null,
): Routine {
  const routine = Object.hasOwn(routines, name) ? routines[name] : undefined
  if (routine !== undefined) return routine
  const names = Object.keys(routines)
  const meant = nearest(name, names)
  throw new TurnbellError('routine_unknown', {
    detail: `There is no routine ${JSON.stringify(name)}; the configuration has ${names.join(', ') || 'none'}.`,
    ...(outdated === null ? {} : { hint: outdated }),
    ...(meant === null ? {} : { hint: `Did you mean ${meant}?` }),
  })
}

/** What is given, and defaults for the rest. Throws `params_invalid`. */
function bound(name: string, { params: declared = {} }: Routine, given: GivenParams): GivenParams {
  const names = Object.keys(declared)
  const strange = Object.keys(given).filter((param) => !names.includes(param))
  const missing = names.filter(
    (param) => !Object.hasOwn(given, param) && declared[param]?.default === undefined,
  )
  if (strange.length + missing.length > 0) {
    const wrong = [
      ...strange.map((param) => `${name} takes no ${JSON.stringify(param)}`),
      ...missing.map((param) => `${name} needs ${param}`),
    ]
    throw new TurnbellError('params_invalid', {
      detail: `params: ${wrong.slice(0, 5).join('; ')}; it takes ${names.join(', ') || 'none'}.`,
    })
  }
  const defaults = names.flatMap((param) => {
    const value = declared[param]?.default
    return value === undefined ? [] : [[param, value] as const]
  })
  return { ...(Object.fromEntries(defaults) as GivenParams), ...given }
}

/** How each step ended, without what it found. */
function outline(report: KeptReport): KeptReport {
  return {
    ...report,
    steps: report.steps.map(({ id, step, status, duration_ms, because }) => ({
      ...{ id, step, status, duration_ms },
      ...(because === undefined ? {} : { because }),
    })),
  }
}
