/**
 * The kernel as MCP tools.
 *
 * A facade becomes one tool that takes `{action, params}`: MCP wants an object at the root of a tool's
 * input, and a union of the actions is none. The strict schema of each action is checked by dispatch.
 * An action with a tool of its own carries its schema, because it must be callable without a look-up.
 */
import * as z from 'zod'
import type { Action, Deprecated, DispatchOutcome, Facade, Found } from './define.ts'
import type { Kernel } from './dispatch.ts'
import { jsonSchema } from './schema.ts'
import { spokenCall, type NamedCall } from './spoken-call.ts'
import type { Problem } from '../contracts/errors.ts'
import type { Narrowing } from '../contracts/http.ts'
import type { Json } from '../contracts/ids.ts'
import type { Caller } from '../contracts/token.ts'

export interface McpTool {
  name: string
  description?: string
  inputSchema: { type: 'object'; [key: string]: unknown }
  /** Only where they differ from what the protocol assumes: a list costs its reader context. */
  annotations?: {
    readOnlyHint?: true
    destructiveHint?: false
    idempotentHint?: true
    openWorldHint?: false
  }
  _meta?: Record<string, unknown>
}

export interface McpToolResult {
  content: { type: 'text'; text: string }[]
  structuredContent: Record<string, unknown>
  isError?: true
  [key: string]: unknown
}

export const McpDetail = z.enum(['full', 'compact', 'micro'])
export type McpDetail = z.infer<typeof McpDetail>

/** How much a client wants to see, and within which bounds. */
export interface McpView {
  /** Presentation only: what is not listed can still be called. Without it, the short list of what matters. */
  detail?: McpDetail | undefined
  narrowing?: Narrowing | undefined
}

export interface McpProjection {
  /** What a caller is shown, in the order of the list. Throws `intent_unknown`, `facet_forbidden`. */
  tools(caller: Pick<Caller, 'kind' | 'facets'>, view?: McpView): readonly McpTool[]
  /** Any name, listed or not: a list is a diet, not an authorisation. */
  call(name: string, args: unknown): NamedCall
}

/** Lists are made once per view, until something else is offered. */
export function projectMcp(kernel: Pick<Kernel, 'registry' | 'permitted' | 'changed'>): McpProjection {
  const lists = new Map<string, readonly McpTool[]>()
  kernel.changed(() => lists.clear())
  return {
    tools({ kind, facets }, view = {}) {
      const key = JSON.stringify([kind, facets, view])
      const known = lists.get(key)
      if (known !== undefined) return known
      const caller: Caller = { tenant_id: 'local', kind, identity: kind, ...(facets && { facets }) }
      const list = listOf(kernel.permitted(caller, view.narrowing), view)
      // Whoever asks chooses the bounds: a cache of all they can think of has no end.
      if (lists.size < LISTS_MAX) lists.set(key, list)
      return list
    },
    call: (name, args) => spokenCall(kernel.registry, name, args),
  }
}

const LISTS_MAX = 256

function listOf(permitted: readonly Found[], view: McpView): McpTool[] {
  const { shown, detail, own } = shownIn(view)
  const facades = new Set(permitted.map(({ facade }) => facade).filter((facade) => shown(facade)))
  return [...facades].flatMap((facade) => {
    const actions = permitted.filter((found) => found.facade === facade && isShown(found, view))
    const apart = actions.filter(({ action }) => own && action.own_tool !== undefined)
    const inside = actions.filter((found) => !apart.includes(found))
    return [
      ...apart.map((found) => ownTool(found, detail)),
      ...(inside.length === 0 ? [] : [facadeTool(facade, inside, detail)]),
    ]
  })
}

/** `bare`: names that speak for themselves, for a task that was given its few facades by somebody who knows them. */
type Words = McpDetail | 'bare'

/** Which facades, with how many words, and whether some actions are tools of their own. */
function shownIn({ detail, narrowing = {} }: McpView): {
  shown: (facade: Facade) => boolean
  detail: Words
  own: boolean
} {
  const all = () => true
  if (detail === 'micro') return { shown: ({ micro }) => micro !== undefined, detail, own: false }
  // One task's few facades: as little as can be said of them.
  if (narrowing.facades !== undefined || narrowing.intents !== undefined)
    return { shown: all, detail: detail === 'full' ? 'full' : 'bare', own: false }
  if (detail !== undefined || narrowing.facets !== undefined)
    return { shown: all, detail: detail ?? 'full', own: true }
  return { shown: ({ listed }) => listed === true, detail: 'full', own: true }
}

function isShown({ facade, name }: Found, { detail }: McpView): boolean {
  return detail !== 'micro' || facade.micro?.includes(name) === true
}

function ownTool({ facade, name, action }: Found, detail: Words): McpTool {
  const description = action.own_tool?.description ?? action.summary
  return {
    name: `${facade.name}_${name}`,
    description: detail === 'full' ? description : action.summary,
    inputSchema: inputSchema(action),
    ...annotated([action], detail),
    ...(action.own_tool?.meta === undefined ? {} : { _meta: action.own_tool.meta }),
  }
}

function facadeTool(facade: Facade, actions: readonly Found[], detail: Words): McpTool {
  const names = actions.map(({ name }) => name)
  return {
    name: facade.name,
    ...(detail === 'bare'
      ? {}
      : { description: detail === 'full' ? fullText(facade, actions) : facade.compact }),
    inputSchema: {
      type: 'object',
      properties: {
        action: detail === 'bare' ? { enum: names } : { type: 'string', enum: names },
        // Whatever is in it: JSON Schema says so by itself.
        params: detail === 'full' ? { type: 'object', additionalProperties: true } : { type: 'object' },
      },
      required: ['action'],
    },
    ...annotated(
      actions.map(({ action }) => action),
      detail,
    ),
  }
}

function fullText(facade: Facade, actions: readonly Found[]): string {
  // What is the operator's alone is no part of what an overview tells agents.
  const offered = Object.values(facade.actions).filter(({ allow }) => allow.length > 0)
  const all = actions.length >= offered.length
  if (all && facade.overview !== undefined) return facade.overview
  return [facade.summary, ...actions.map(({ name, action }) => `- ${name}: ${action.summary}`)].join('\n')
}

/** In few words only what spares a person a question. */
function annotated(actions: readonly Action[], detail: Words): Pick<McpTool, 'annotations'> {
  if (detail === 'full') return { annotations: annotations(actions) }
  return actions.every((action) => !action.mutates) ? { annotations: { readOnlyHint: true } } : {}
}

function annotations(actions: readonly Action[]): NonNullable<McpTool['annotations']> {
  const readOnly = actions.every((action) => !action.mutates)
  const idempotent = !readOnly && actions.every((action) => !action.mutates || action.idempotent === true)
  return {
    ...(readOnly ? { readOnlyHint: true } : {}),
    ...(idempotent ? { idempotentHint: true } : {}),
    ...(readOnly || actions.some((action) => action.destructive === true) ? {} : { destructiveHint: false }),
    openWorldHint: false,
  }
}

/**
 * What a caller must send, without what only fills the reader's context: how long a text may be, or what an id looks
 * like, is told to the few who get it wrong.
 */
function inputSchema(action: Action): McpTool['inputSchema'] {
  const { properties, ...schema } = jsonSchema(action.input, 'input')
  const fields = Object.entries((properties ?? {}) as Record<string, Record<string, unknown>>).map(
    ([name, { minLength: _, maxLength: __, pattern: ___, ...said }]) => [name, said],
  )
  return { ...schema, type: 'object', properties: Object.fromEntries(fields) }
}

/** A problem is told as a result: the model is to read it and act. */
export function toolAnswer(outcome: DispatchOutcome): McpToolResult {
  return outcome.ok ? toolResult(outcome.result, outcome) : toolProblem(outcome.problem)
}

/** `note` is put into the result, since some clients show only its structured form, and others only its text. */
export function toolResult(
  result: Json,
  { deprecated, note }: { deprecated?: Deprecated; note?: string } = {},
): McpToolResult {
  const told = note === undefined ? result : withNote(result, note)
  return {
    ...(deprecated === undefined ? {} : { _meta: { 'turnbell/deprecated': deprecated } }),
    content: [{ type: 'text', text: JSON.stringify(told) }],
    structuredContent: isMapping(told) ? told : { result: told },
  }
}

function withNote(result: Json, note: string): Json {
  if (!isMapping(result)) return { result, note }
  const { note: own } = result
  return { ...result, note: typeof own === 'string' ? `${own}; ${note}` : note }
}

function isMapping(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The problem for programs, and the same as sentences for the model that must act next. */
export function toolProblem(problem: Problem): McpToolResult {
  return {
    content: [
      { type: 'text', text: `${problem.title}: ${problem.detail} ${problem.hint} (${problem.code})` },
    ],
    structuredContent: problem,
    isError: true,
  }
}
