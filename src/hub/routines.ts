/** Routines of this hub: built-in steps and those of plugins, within the configured sandbox policy. */
import type { Config } from '../contracts/config.ts'
import type { RecordKind } from '../contracts/memory/records.ts'
import { projectRoot, type ScopeDeps } from '../modules/registry/scope.ts'
import { createReports } from '../modules/routines/reports.ts'
import {
  createRoutines,
  type RoutineModule,
  type RoutineDeps,
  type RoutineSettings,
} from '../modules/routines/service.ts'
import { createStepTypes, type StepType } from '../modules/routines/step-type.ts'
import { builtInSteps } from '../modules/routines/steps/built-in.ts'
import { createWorkflow, type WorkflowService } from '../modules/routines/workflow.ts'
import type { Log } from '../ports/log.ts'
import type { RegexMatcher } from '../ports/regex-matcher.ts'
import type { RecordStore } from '../ports/record-store.ts'

/** Access of steps to programs, web and environment, before the sandbox policy restricts it. */
export type Outside = Pick<RoutineDeps, 'programs' | 'web' | 'variable'> & { patterns: RegexMatcher }

export function routineSettingsOf({ routines, sandbox, workflow }: Config): RoutineSettings {
  return { routines, sandbox, workflow }
}

const NOTHING: RoutineSettings = {
  routines: {},
  sandbox: { exec: [], network: [], env: [] },
  workflow: { preflight: [], ship: [] },
}

export function openRoutines(
  deps: Pick<RoutineDeps, 'clock' | 'ids' | 'log'> &
    ScopeDeps & {
      outside: Outside
      settings?: RoutineSettings | undefined
      /** Step types in addition to the built-in ones. */
      steps?: readonly StepType[] | undefined
      /** Record kinds that the workflow reads. */
      kinds: readonly RecordKind[]
      /** Store of the reports. */
      hub_records: RecordStore
    },
): { routines: RoutineModule; workflow: WorkflowService } {
  const { outside, settings = NOTHING, hub_records, clock, ids, log } = deps
  const routines = createRoutines({
    ...{ ...outside, settings, clock, ids, log },
    types: createStepTypes(builtInSteps({ ...outside, clock }), deps.steps),
    reports: createReports({ records: hub_records, ids, log }),
    rootOf: (call) => projectRoot(deps, call),
  })
  return { routines, workflow: createWorkflow(routines, deps.kinds) }
}

/** Warns about configured steps of unknown types. Such a step fails at every run without stopping its routine. */
export function warnOfUnknownSteps(
  routines: Pick<RoutineModule, 'settings' | 'steps'>,
  log: Pick<Log, 'warn'>,
): void {
  const known = routines.steps().map(({ name }) => name)
  for (const [name, { steps }] of Object.entries(routines.settings().routines)) {
    const unknown = [...new Set(steps.map(({ step }) => step))].filter((step) => !known.includes(step))
    if (unknown.length === 0) continue
    log.warn({ key: `routines.${name}`, detail: unknown.join(', ') }, 'routine has steps of an unknown type')
  }
}
