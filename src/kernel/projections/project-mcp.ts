/**
 * MCP tools of the kernel.
 *
 * A facade is one tool with `{action, params}`, because MCP requires an object at the root of a tool's input and a union
 * of the actions is not one. Dispatch validates the strict schema of each action. An action with `own_tool` has its
 * schema in the list, because it must be callable without a look-up.
 */
import * as z from 'zod'
import type { Action, Deprecated, DispatchOutcome, Facade, Found } from '../define.ts'
import type { Kernel } from '../dispatch.ts'
import { jsonSchema } from '../schema.ts'
import { spokenCall, type NamedCall } from '../normalize-call.ts'
import type { Problem } from '../../contracts/errors/errors.ts'
import type { Narrowing } from '../../contracts/http.ts'
import type { Json } from '../../contracts/ids.ts'
import type { Caller } from '../../contracts/token.ts'

export interface McpTool {
  name: string
  description?: string
  inputSchema: { type: 'object'; [key: string]: unknown }
  /** Only values that differ from the protocol's defaults, to save context. */
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

/** Tier and bounds of a client's tool list. */
export interface McpView {
  /** Affects only the list; other tools can still be called. Default: the short list. */
  detail?: McpDetail | undefined
  narrowing?: Narrowing | undefined
}

export interface McpProjection {
  /** Returns the tools for a caller. Throws `intent_unknown`, `facet_forbidden`. */
  tools(caller: Pick<Caller, 'kind' | 'facets'>, view?: McpView): readonly McpTool[]
  /** Calls a tool by any name, listed or not. */
  call(name: string, args: unknown): NamedCall
}

/** Lists are cached until the grants change. */
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
      // Not cached, because the number of possible narrowings is unbounded.
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

/** `bare`: only names, for tasks narrowed to a few facades that their author knows. */
type Words = McpDetail | 'bare'

/** Selects the facades, their level of detail, and whether actions may be separate tools. */
function shownIn({ detail, narrowing = {} }: McpView): {
  shown: (facade: Facade) => boolean
  detail: Words
  own: boolean
} {
  const all = () => true
  if (detail === 'micro') return { shown: ({ micro }) => micro !== undefined, detail, own: false }
  // The few facades of one task: as short as possible.
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
        // Without a schema for params, any object is valid.
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
  // The overview for agents does not mention actions of the operator.
  const offered = Object.values(facade.actions).filter(({ allow }) => allow.length > 0)
  const all = actions.length >= offered.length
  if (all && facade.overview !== undefined) return facade.overview
  return [facade.summary, ...actions.map(({ name, action }) => `- ${name}: ${action.summary}`)].join('\n')
}

/** With less detail only annotations that avoid a confirmation prompt. */
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

/** Returns the input schema without lengths and patterns, which validation errors report. */
function inputSchema(action: Action): McpTool['inputSchema'] {
  const { properties, ...schema } = jsonSchema(action.input, 'input')
  const fields = Object.entries((properties ?? {}) as Record<string, Record<string, unknown>>).map(
    ([name, { minLength: _, maxLength: __, pattern: ___, ...rest }]) => [name, rest],
  )
  return { ...schema, type: 'object', properties: Object.fromEntries(fields) }
}

/** Problems are tool results, because the model must read them. */
export function toolAnswer(outcome: DispatchOutcome): McpToolResult {
  return outcome.ok ? toolResult(outcome.result, outcome) : toolProblem(outcome.problem)
}

/** Adds the note to text and structured content, because clients show only one of them. */
export function toolResult(
  result: Json,
  { deprecated, note }: { deprecated?: Deprecated; note?: string } = {},
): McpToolResult {
  const content = note === undefined ? result : withNote(result, note)
  return {
    ...(deprecated === undefined ? {} : { _meta: { 'turnbell/deprecated': deprecated } }),
    content: [{ type: 'text', text: JSON.stringify(content) }],
    structuredContent: isMapping(content) ? content : { result: content },
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

/** Returns the problem as structured content, and as text for the model. */
export function toolProblem(problem: Problem): McpToolResult {
  return {
    content: [
      { type: 'text', text: `${problem.title}: ${problem.detail} ${problem.hint} (${problem.code})` },
    ],
    structuredContent: problem,
    isError: true,
  }
}
