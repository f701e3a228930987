/** The package export `turnbell/plugin`, for plugins outside this package. */
export { z } from 'zod'
export { TurnbellError as Refusal } from '../contracts/errors/errors.ts'
export type { ErrorCode } from '../contracts/errors/errors.ts'
export type { DispatchContext, DispatchOutcome, KernelView } from '../kernel/define.ts'
export {
  definePlugin,
  definePluginAction as defineAction,
  definePluginStep as defineStep,
} from '../kernel/plugins/plugin.ts'
export type {
  Plugin,
  PluginAction,
  PluginApi,
  PluginContext,
  PluginFacade,
} from '../kernel/plugins/plugin.ts'
export type { StepContext, StepDone, StepType } from '../modules/modules.ts'
