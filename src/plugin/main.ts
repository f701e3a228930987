/** For plugins that live outside this package, as `turnbell/plugin`. */
export { z } from 'zod'
export { TurnbellError as Refusal } from '../contracts/errors.ts'
export type { ErrorCode } from '../contracts/errors.ts'
export type { DispatchContext, DispatchOutcome, KernelView } from '../kernel/define.ts'
export {
  definePlugin,
  definePluginAction as defineAction,
  definePluginStep as defineStep,
} from '../kernel/plugin.ts'
export type { Plugin, PluginAction, PluginApi, PluginContext, PluginFacade } from '../kernel/plugin.ts'
export type { StepContext, StepDone, StepType } from '../modules/modules.ts'
