/** Modules that facades may call. The hub's composition root creates them. */
import type { PluginReport } from '../contracts/plugin.ts'
import type { Activity } from './activity/types.ts'
import type { Blackboard } from './blackboard/types.ts'
import type { ContextService } from './context/service.ts'
import type { Decisions } from './decisions/types.ts'
import type { Graph } from './graph/service.ts'
import type { MemoryImport } from './memory/import.ts'
import type { Records } from './records/service.ts'
import type { GitService } from './git/service.ts'
import type { Coordinator } from './coordinator/types.ts'
import type { ModuleContext, ModuleFactory } from './module-context.ts'
import type { PersonaRegistry } from './registry/personas.ts'
import type { Projects } from './registry/projects.ts'
import { createRuns, type Runs } from './runs/service.ts'
import type { RoutineService } from './routines/service.ts'
import type { WorkflowService } from './routines/workflow.ts'
import type { SignalService } from './signals/types.ts'

export type { StepContext, StepDone, StepType } from './routines/step-type.ts'

/**
 * Modules that need only what every module gets. A line here and one in `MODULES` add a module, and the hub creates it.
 */
export interface TableModules {
  runs: Runs
}

export const MODULES: Readonly<Record<string, ModuleFactory>> = { runs: createRuns }

/** Modules that depend on each other; `hub/modules.ts` connects them. */
interface ConnectedModules {
  signals: SignalService
  personas: PersonaRegistry
  /** State of each configured plugin. */
  plugins: readonly PluginReport[]
  projects: Projects
  records: Records
  blackboard: Blackboard
  decisions: Decisions
  graph: Graph
  context: ContextService
  memoryImport: MemoryImport
  git: GitService
  coordinator: Coordinator
  routines: RoutineService
  workflow: WorkflowService
  activity: Activity
}

export type Modules = ConnectedModules & TableModules

/** Creates the modules of a table. */
export function createModules(
  table: Readonly<Record<string, ModuleFactory>>,
  context: ModuleContext,
): TableModules {
  const created = Object.entries(table).map(([name, create]) => [name, create(context)])
  return Object.fromEntries(created) as TableModules
}
