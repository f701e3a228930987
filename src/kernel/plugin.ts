/**
 * What somebody else's package adds to a hub: facades and types of steps, with the same declarations as ours
 * and without the hub's insides. What a handler needs of turnbell it calls by name, like any other caller.
 */
import * as z from 'zod'
import type { Action, DispatchContext, Facade, KernelView } from './define.ts'
import { TurnbellError } from '../contracts/errors.ts'
import type { RecordKind } from '../contracts/records.ts'
import type { Caller } from '../contracts/token.ts'
import type { StepType } from '../modules/modules.ts'

/** What a plugin's handler sees. */
export interface PluginContext {
  caller: Caller
  context: DispatchContext
  kernel: KernelView
}

/** As an action of ours; it is never a tool of its own. */
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
  /** Instead of the plugin's. */
  facet?: string
  pro?: true
  actions: Record<string, PluginAction>
}

export interface Plugin {
  /** The facet of its facades, where it names none. */
  name: string
  facet?: string
  facades?: readonly PluginFacade[]
  /** Records that `store_put` takes from now on. */
  kinds?: readonly RecordKind[]
  /** What routines can do from now on. */
  steps?: readonly StepType[]
}

/** Only gives the literal its types; a plugin's module exports what this returns as its default. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin
}

/** The same for an action: its handler then knows what it is given and what it must answer. */
export function definePluginAction<I extends z.ZodType, O extends z.ZodType>(
  action: PluginAction<I, O>,
): PluginAction {
  return action
}

/** The same for a type of step. */
export function definePluginStep<I extends z.ZodType>(step: StepType<I>): StepType {
  return step
}

/** For a module that is installed nowhere near turnbell: its default export may be a function of this. */
export const PLUGIN_API = {
  ...{ z, Refusal: TurnbellError },
  ...{ defineAction: definePluginAction, defineStep: definePluginStep },
}
export type PluginApi = typeof PLUGIN_API

/** Its facades as the registry takes them: never in the short list, whatever they say of themselves. */
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
    // The hub's modules stay its own.
    handle: (input, { caller, context, kernel }) => action.handle(input, { caller, context, kernel }),
  }
}
