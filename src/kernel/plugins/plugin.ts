/**
 * Plugins: packages that add facades and types of steps to a hub, with the same declarations as the built-in ones but
 * without access to the hub's modules. A handler calls turnbell's actions by name, like any other caller.
 */
import * as z from 'zod'
import type { Action, DispatchContext, Facade, KernelView } from '../define.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { RecordKind } from '../../contracts/memory/records.ts'
import type { Caller } from '../../contracts/token.ts'
import type { StepType } from '../../modules/modules.ts'

/** Context of a plugin's handler. */
export interface PluginContext {
  caller: Caller
  context: DispatchContext
  kernel: KernelView
}

/** As a built-in action, but never a separate tool. */
export interface PluginAction<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> extends Omit<
  Action<I, O>,
  'handle' | 'own_tool' | 'delegates'
> {
  handle(input: z.output<I>, context: PluginContext): Promise<z.input<O>> | z.input<O>
}

export interface PluginFacade {
  name: string
  summary: string
  /** One line for the compact tier. */
  compact: string
  /** See `Facade.agent_hint`. */
  agent_hint?: string
  /** Replaces the plugin's facet. */
  facet?: string
  pro?: true
  actions: Record<string, PluginAction>
}

export interface Plugin {
  /** Default facet of its facades. */
  name: string
  facet?: string
  facades?: readonly PluginFacade[]
  /** Kinds of records for `store_put`. */
  kinds?: readonly RecordKind[]
  /** Types of steps for routines. */
  steps?: readonly StepType[]
}

/** Returns its argument; infers its types. A plugin's module exports the result as its default. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin
}

/** As `definePlugin`, for an action: infers the types of its handler's input and output. */
export function definePluginAction<I extends z.ZodType, O extends z.ZodType>(
  action: PluginAction<I, O>,
): PluginAction {
  return action
}

/** As `definePlugin`, for a type of step. */
export function definePluginStep<I extends z.ZodType>(step: StepType<I>): StepType {
  return step
}

/** Passed to a plugin whose default export is a function, for modules that cannot import turnbell. */
export const PLUGIN_API = {
  ...{ z, Refusal: TurnbellError },
  ...{ defineAction: definePluginAction, defineStep: definePluginStep },
}
export type PluginApi = typeof PLUGIN_API

/** Returns the facades of a plugin for the registry; they are never in the default tool list. */
export function pluginFacades(plugin: Plugin): Facade[] {
  return (plugin.facades ?? []).map(({ name, summary, compact, agent_hint, facet, pro, actions }) => ({
    ...{ name, summary, compact },
    ...(agent_hint === undefined ? {} : { agent_hint }),
    ...(pro === undefined ? {} : { pro }),
    facet: facet ?? plugin.facet ?? plugin.name,
    actions: Object.fromEntries(Object.entries(actions).map(([action, one]) => [action, adapted(one)])),
  }))
}

function adapted(action: PluginAction): Action {
  const { own_tool: _, delegates: __, ...plain } = action as Action
  return {
    ...plain,
    // Plugins have no access to the hub's modules.
    handle: (input, { caller, context, kernel }) => action.handle(input, { caller, context, kernel }),
  }
}
