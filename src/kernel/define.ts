/**
 * Declarations of facades. The MCP tool, the HTTP route, the WebSocket call, the command line, the OpenAPI operation and
 * the reference are derived from them.
 */
import type { z } from 'zod'
import type { ErrorCode, Problem } from '../contracts/errors/errors.ts'
import type { HubEvent } from '../contracts/events.ts'
import type { BatchAnswer, BatchRequest } from '../contracts/http.ts'
import type { Json } from '../contracts/ids.ts'
import type { RecordKind } from '../contracts/memory/records.ts'
import type { Caller } from '../contracts/token.ts'
import type { Modules } from '../modules/modules.ts'
import type { SentAnswer } from '../ports/sent-answer.ts'

/** Origin of a call as given by the caller. It grants no permissions. */
export interface DispatchContext {
  agent_id: string
  run_id: string | null
  parent_call_id: string | null
  /** A project id, a root path, or `portfolio`. */
  scope: string | null
}

/** The second argument of every handler. */
export interface CallContext {
  modules: Modules
  caller: Caller
  context: DispatchContext
  kernel: KernelView
  /** Delivery of the answer to this call, on which the lease of a drain depends. */
  answer: SentAnswer
}

/** The kernel as one call sees it: only actions and events that its caller may use. */
export interface KernelView {
  /** Returns actions that match the words, best first; tolerates small misspellings. */
  search(query: string, limit: number): ActionLine[]
  /**
   * Describes an action, or lists the actions of a facade. For an action that takes any kind of record, also lists the
   * kinds, or describes one. Throws if the caller may not call it.
   */
  describe(name: string, kind?: string): { [key: string]: Json }
  /**
   * Runs another action as part of this call, with the same caller and bounds, checked and logged like any other.
   * Actions with `hands_over` are refused, because they must be called directly.
   */
  call(facade: string, action: string | undefined, params: unknown): Promise<DispatchOutcome>
  /** Checks a call as `call` does, without running its handler. Throws the refusal. */
  check(
    facade: string,
    action: string,
    params: unknown,
  ): { /** Whether the call could change anything with these parameters. */ mutates: boolean }
  /** Runs several calls; the answers are in the same order. */
  batch(calls: BatchRequest['calls']): Promise<BatchAnswer>
  /**
   * As `call`, with any name and the arguments of `tools/call`. Its answer must be the whole answer of this call, so an
   * action with `delegates` may call an action with `hands_over`.
   */
  invoke(name: string, args: unknown): Promise<DispatchOutcome>
  /** Returns stored events that the caller may read, newest first. */
  events(wanted: EventsWanted): HubEvent[]
}

export interface EventsWanted {
  /** Exact types, or prefixes that end with `.`. */
  types?: readonly string[] | undefined
  /** Text in the data of the event, ignoring case. */
  text?: string | undefined
  limit: number
}

/** Summary of an action. */
export interface ActionLine {
  /** As `tool_invoke` takes it: `signals_send`. */
  name: string
  summary: string
  mutates: boolean
}

export type DispatchOutcome =
  | {
      ok: true
      result: Json
      /** The deprecated name that was used. */
      deprecated?: Deprecated
      /** Input of the caller that was interpreted leniently. */
      note?: string
    }
  | { ok: false; problem: Problem }

/** A deprecated name, with its facade and action. */
export interface Deprecated {
  name: string
  facade: string
  action: string
}

/** A resolved action. */
export interface Found {
  facade: Facade
  /** Name of the action in its facade. */
  name: string
  action: Action
  /** The deprecated name by which it was found. */
  alias?: string
  /** Converts the parameters of a deprecated name; undefined for current names. */
  adapt?: Alias['params']
}

type AnySchema = z.ZodType

/** A deprecated name with other parameters; `params` converts them to the current ones. */
export interface Alias {
  name: string
  params: (old: Record<string, unknown>) => Record<string, unknown>
}

export interface Action<I extends AnySchema = AnySchema, O extends AnySchema = AnySchema> {
  summary: string
  /** Whether a call can change anything. If false, it is also a GET route and a read-only tool. */
  mutates: boolean
  idempotent?: boolean
  /** Whether a call can remove something irrecoverably. */
  destructive?: boolean
  /** Returns whether a call with these parameters changes nothing, such as a peek or a dry run. */
  harmless?(input: z.output<I>): boolean
  /** Its result is delivered once, as by a drain, so it must be the whole answer of the outermost call, unless `harmless`. */
  hands_over?: true
  /** Only runs other actions, which are checked themselves, so read-only bounds allow it. */
  delegates?: true
  /** Listed as a separate MCP tool `<facade>_<action>` instead of an action of the facade's tool. */
  own_tool?: {
    description: string
    meta?: Record<string, unknown>
    /** Adds defaults for models, whose clients truncate answers. */
    meant?: (params: Record<string, unknown>) => Record<string, unknown>
  }
  /** Deprecated names, which stay valid but are not listed. */
  aliases?: readonly (string | Alias)[]
  input: I
  output: O
  errors: readonly ErrorCode[]
  /** Kinds of callers besides the operator, who may call every action. */
  allow: readonly ('agent' | 'daemon' | 'observer')[]
  examples?: readonly z.input<I>[]
  handle(input: z.output<I>, context: CallContext): Promise<z.input<O>> | z.input<O>
}

export interface Facade {
  name: string
  summary: string
  /**
   * Description in the tool list for callers that may call every action, instead of the summary and a line for each
   * action. For facades with self-explanatory action names.
   */
  overview?: string
  /** One line for the compact tier. */
  compact: string
  /**
   * When an agent should use the facade unprompted; a line of the instructions that `turnbell connect` writes.
   */
  agent_hint?: string
  /** Only facades of the facet `core` are exposed, unless the configuration names others. */
  facet: string
  /** Part of the default tool list, which stays small. */
  listed?: true
  /** Actions in the smallest tier; without it the facade is not in that tier. */
  micro?: readonly string[]
  /** Available only with pro features. */
  pro?: true
  /** Deprecated prefix of its HTTP routes, which is still served: `/dojo` for `/dojo/<action>`. */
  old_path?: string
  /** Available to the operator and to observers, whatever the hub exposes, because they are not models. */
  for_watchers?: true
  /** Available in every facet, because it only gives access to actions that its caller may call. */
  everywhere?: true
  /** The kinds of records that belong to this facade. */
  kinds?: readonly RecordKind[]
  actions: Record<string, Action>
}

/** `Action.allow` of read-only actions. */
export const READERS = ['agent', 'observer'] as const

/** Returns its argument; infers the types of the literal. */
export function defineAction<I extends AnySchema, O extends AnySchema>(action: Action<I, O>): Action {
  return action
}

export function defineFacade(facade: Facade): Facade {
  return facade
}
