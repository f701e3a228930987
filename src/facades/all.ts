/** All facades, in the order of tool lists and the reference. */
import type { Facade } from '../kernel/define.ts'
import { activity } from './activity.ts'
import { architect } from './architect.ts'
import { blackboard } from './blackboard.ts'
import { context } from './context.ts'
import { decisions } from './decisions.ts'
import { dojo } from './dojo.ts'
import { feedback } from './feedback.ts'
import { friction } from './friction.ts'
import { git } from './git.ts'
import { graph } from './graph.ts'
import { learnings } from './learnings.ts'
import { coordinator } from './coordinator.ts'
import { personas } from './personas.ts'
import { plugins } from './plugins.ts'
import { projects } from './projects.ts'
import { registry } from './registry.ts'
import { routine } from './routine.ts'
import { sentinel } from './sentinel.ts'
import { signals } from './signals.ts'
import { store } from './store.ts'
import { tool } from './tool.ts'
import { vector } from './vector.ts'
import { workflow } from './workflow.ts'

export const FACADES: readonly Facade[] = [
  ...[signals, context, blackboard, decisions, workflow, store, routine, git, tool, coordinator, graph],
  ...[sentinel],
  ...[architect, dojo],
  ...[friction, feedback, learnings],
  ...[vector, activity],
  ...[personas, projects, registry, plugins],
]
