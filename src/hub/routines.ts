/** Routines as this hub has them: the built-in steps, on the leash that the configuration gives them. */
import type { Config } from '../contracts/config.ts'
import type { RecordKind } from '../contracts/records.ts'
import { projectRoot, type ScopeNeeds } from '../modules/registry/scope.ts'
import { createReports } from '../modules/routines/reports.ts'
import {
  createRoutines,
  type RoutineModule,
  type RoutineNeeds,
  type RoutineSettings,
} from '../modules/routines/service.ts'
import { createStepTypes, type StepType } from '../modules/routines/step-type.ts'
import { builtInSteps } from '../modules/routines/steps/built-in.ts'
import { createWorkflow, type WorkflowService } from '../modules/routines/workflow.ts'
import type { Log } from '../ports/log.ts'
import type { Patterns } from '../ports/patterns.ts'
import type { RecordStore } from '../ports/record-store.ts'

/** What steps can reach beyond the hub, before the leash is looked at. */
export type Outside = Pick<RoutineNeeds, 'programs' | 'web' | 'variable'> & { patterns: Patterns }

export function routineSettingsOf({ routines, leash, workflow }: Config): RoutineSettings {
  return { routines, leash, workflow }
}

const NOTHING: RoutineSettings = {
  routines: {},
  leash: { exec: [], network: [], env: [] },
  workflow: { preflight: [], ship: [] },
}

export function openRoutines(
  needs: Pick<RoutineNeeds, 'clock' | 'ids' | 'log'> &
    ScopeNeeds & {
      outside: Outside
      settings?: RoutineSettings | undefined
      /** Types of steps beside the built-in ones. */
      steps?: readonly StepType[] | undefined
      /** Records that are looked at. */
      kinds: readonly RecordKind[]
      /** Where reports are kept. */
      home: RecordStore
    },
): { routines: RoutineModule; workflow: WorkflowService } {
  const { outside, settings = NOTHING, home, clock, ids, log } = needs
  const routines = createRoutines({
    ...{ ...outside, settings, clock, ids, log },
    types: createStepTypes(builtInSteps({ ...outside, clock }), needs.steps),
    reports: createReports({ records: home, ids, log }),
    rootOf: (call) => projectRoot(needs, call),
  })
  return { routines, workflow: createWorkflow(routines, needs.kinds) }
}

/** Says which configured steps nothing here can do. They fail softly, each time. */
export function warnOfUnknownSteps(
  routines: Pick<RoutineModule, 'settings' | 'steps'>,
  log: Pick<Log, 'warn'>,
): void {
  const known = routines.steps().map(({ name }) => name)
  for (const [name, { steps }] of Object.entries(routines.settings().routines)) {
    const strange = [...new Set(steps.map(({ step }) => step))].filter((step) => !known.includes(step))
    if (strange.length === 0) continue
    log.warn(
      { key: `routines.${name}`, detail: strange.join(', ') },
      'a routine has steps of an unknown type',
    )
  }
}
