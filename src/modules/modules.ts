/** What facades may ask of the modules. One line per module; the hub's composition root fills it. */
import type { PluginReport } from '../contracts/plugin.ts'
import type { Blackboard } from './blackboard/service.ts'
import type { ContextService } from './context/service.ts'
import type { Decisions } from './decisions/service.ts'
import type { Graph } from './graph/service.ts'
import type { MemoryImport } from './memory/import.ts'
import type { Records } from './records/service.ts'
import type { GitService } from './git/service.ts'
import type { Coordinator } from './coordinator/service.ts'
import type { PersonaRegistry } from './registry/personas.ts'
import type { Projects } from './registry/projects.ts'
import type { Runs } from './runs/service.ts'
import type { RoutineService } from './routines/service.ts'
import type { WorkflowService } from './routines/workflow.ts'
import type { SignalService } from './signals/service.ts'

export type { StepContext, StepDone, StepType } from './routines/step-type.ts'

export interface Modules {
  signals: SignalService
  personas: PersonaRegistry
  /** What became of the plugins that the configuration names. */
  plugins: readonly PluginReport[]
  projects: Projects
  records: Records
  blackboard: Blackboard
  decisions: Decisions
  graph: Graph
  /** `context` is what a call says of itself. */
  memory: ContextService
  imports: MemoryImport
  git: GitService
  coordinator: Coordinator
  runs: Runs
  routines: RoutineService
  workflow: WorkflowService
}
