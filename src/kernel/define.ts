/**
 * How a facade is written down: a declaration from which the MCP tool, the HTTP route, the WebSocket
 * call, the command line, the OpenAPI operation and the reference are derived.
 */
import type { z } from 'zod'
import type { ErrorCode } from '../contracts/errors.ts'
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
  /**
   * Settles once the transport knows whether the answer left this process completely. A drain's lease
   * stands on `written` and is released on `broken`.
   */
  answered: Promise<'written' | 'broken'>
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
  /** Present as an MCP tool of its own, named `<facade>_<action>`, instead of an entry of the facade's enum. */
  own_tool?: { description: string; meta?: Record<string, unknown> }
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
  /** One line for the compact tier. */
  compact: string
  /** What an agent should do with it of its own accord; a line of the text that `turnbell connect` leaves for agents. */
  agent_hint?: string
  /** The group it is exposed with; `core` by default, `admin` is never listed as a tool. */
  facet: string
  /** Part of the smallest tier. */
  micro: boolean
  actions: Record<string, Action>
}

/** Only gives the literal its types. */
export function defineAction<I extends AnySchema, O extends AnySchema>(action: Action<I, O>): Action {
  return action
}

export function defineFacade(facade: Facade): Facade {
  return facade
}
