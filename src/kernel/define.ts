/**
 * How a facade is written down: a declaration from which the MCP tool, the HTTP route, the WebSocket
 * call, the command line, the OpenAPI operation and the reference are derived.
 */
import type { z } from 'zod'
import type { ErrorCode, Problem } from '../contracts/errors.ts'
import type { HubEvent } from '../contracts/events.ts'
import type { BatchAnswer, BatchRequest } from '../contracts/http.ts'
import type { Json } from '../contracts/ids.ts'
import type { RecordKind } from '../contracts/records.ts'
import type { Caller } from '../contracts/token.ts'
import type { Modules } from '../modules/modules.ts'

/** Where a call came from, as the caller told it. Handed to handlers unchanged; never a permission. */
export interface DispatchContext {
  agent_id: string
  run_id: string | null
  parent_call_id: string | null
  /** A project id, a root path, or `portfolio`. */
  scope: string | null
}

/** What a handler sees: the modules, who calls, and how the answer fared. */
export interface CallContext extends Modules {
  caller: Caller
  context: DispatchContext
  kernel: KernelView
  /**
   * Settles once the transport knows whether the answer left this process completely. A drain's lease
   * stands on `written` and is released on `broken`.
   */
  answered: Promise<'written' | 'broken'>
}

/** The kernel as one call sees it: as much of it as that call's caller was given. */
export interface KernelView {
  /** Actions that fit the words, best first; small misspellings are forgiven. */
  search(query: string, limit: number): ActionLine[]
  /**
   * What there is to know of an action, or which actions a facade has; of an action that works on any kind of
   * record, also which there are, or what one of them holds. Throws what refuses it.
   */
  describe(name: string, kind?: string): { [key: string]: Json }
  /**
   * Runs another action as a part of this call: same caller, same bounds, judged and logged like any other.
   * What hands over is refused: it has to be its caller's own call.
   */
  call(facade: string, action: string | undefined, params: unknown): Promise<DispatchOutcome>
  /** Judges a call as `call` would, up to its handler. Throws what refuses it. */
  check(
    facade: string,
    action: string,
    params: unknown,
  ): { /** Whether it could change anything, with these parameters. */ mutates: boolean }
  /** Several calls at once, answered in their order. */
  batch(calls: BatchRequest['calls']): Promise<BatchAnswer>
  /**
   * As `call`, under any name, with arguments as `tools/call` takes them. What it answers is to be the whole
   * answer of this call, so an action that delegates may call by it what hands over.
   */
  invoke(name: string, args: unknown): Promise<DispatchOutcome>
  /** What the event stream still has of what the caller may hear, newest first. */
  events(wanted: EventsWanted): HubEvent[]
}

export interface EventsWanted {
  /** Exact types, or prefixes that end with `.`. */
  types?: readonly string[] | undefined
  /** Part of what the event says, in upper or lower case. */
  text?: string | undefined
  limit: number
}

/** An action in one line. */
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
      /** A name that was used is an old one. */
      deprecated?: Deprecated
      /** What the caller wrote and what it was taken as. */
      note?: string
    }
  | { ok: false; problem: Problem }

/** An old name, and the facade and action that it stands for. */
export interface Deprecated {
  name: string
  facade: string
  action: string
}

/** An action with the names it goes by. */
export interface Found {
  facade: Facade
  /** The action's name in its facade. */
  name: string
  action: Action
  /** The old name it was found under. */
  alias?: string
  /** How a call under this name must be rewritten; undefined for today's names. */
  adapt?: Alias['params']
}

type AnySchema = z.ZodType

/** An old name whose parameters were called otherwise; `params` turns them into today's. */
export interface Alias {
  name: string
  params: (old: Record<string, unknown>) => Record<string, unknown>
}

export interface Action<I extends AnySchema = AnySchema, O extends AnySchema = AnySchema> {
  summary: string
  /** True when a call can change anything; false makes it a GET route and a read-only tool. */
  mutates: boolean
  idempotent?: boolean
  /** True when a call can take away what nobody can bring back. */
  destructive?: boolean
  /** With these parameters it changes nothing after all: a peek, a dry run. */
  harmless?(input: z.output<I>): boolean
  /** Unless it is harmless, what it answers is answered once: it has to be the whole answer of its caller's call. */
  hands_over?: true
  /** It only runs other actions, and each of them is judged by itself: read-only bounds let it through. */
  delegates?: true
  /** Present as an MCP tool of its own, named `<facade>_<action>`, instead of an entry of the facade's enum. */
  own_tool?: {
    description: string
    meta?: Record<string, unknown>
    /** What a model is taken to mean that leaves out what programs say: its client shows it only so much of an answer. */
    meant?: (params: Record<string, unknown>) => Record<string, unknown>
  }
  /** Old names that resolve here for ever. Never listed. */
  aliases?: readonly (string | Alias)[]
  input: I
  output: O
  errors: readonly ErrorCode[]
  /** Kinds that may call it; empty means only the operator. The operator always may. */
  allow: readonly ('agent' | 'daemon' | 'observer')[]
  examples?: readonly z.input<I>[]
  handle(input: z.output<I>, context: CallContext): Promise<z.input<O>> | z.input<O>
}

export interface Facade {
  name: string
  summary: string
  /**
   * What the tool list says to who may call every action, instead of the summary and a line for each: for
   * a facade whose actions speak for themselves by their names.
   */
  overview?: string
  /** One line for the compact tier. */
  compact: string
  /**
   * What an agent should do with it of its own accord; a line of the text that `turnbell connect` leaves for agents.
   */
  agent_hint?: string
  /** The group it is exposed with. Only `core` is, unless the configuration names others. */
  facet: string
  /** Part of the list that a client gets unasked, which stays small however much is loaded. */
  listed?: true
  /** The actions that the smallest tier shows; without any the facade is no part of it. */
  micro?: readonly string[]
  /** Exists only where pro features are switched on. */
  pro?: true
  /** Where its HTTP routes were before, and still are: `/dojo` for `/dojo/<action>`. Like an old name, for ever. */
  old_path?: string
  /** Open in every facet: it reaches nothing that its caller may not call. */
  everywhere?: true
  /** The kinds of records that are its own; each belongs to one facade. */
  kinds?: readonly RecordKind[]
  actions: Record<string, Action>
}

/** Who may call what only looks, for `Action.allow`. */
export const READERS = ['agent', 'observer'] as const

/** Only gives the literal its types. */
export function defineAction<I extends AnySchema, O extends AnySchema>(action: Action<I, O>): Action {
  return action
}

export function defineFacade(facade: Facade): Facade {
  return facade
}
