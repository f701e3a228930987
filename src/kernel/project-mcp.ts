/**
 * The kernel as MCP tools.
 *
 * A facade becomes one tool that takes `{action, params}`: MCP wants an object at the root of a tool's
 * input, and a union of the actions is none. The strict schema of each action is checked by dispatch.
 * An action with a tool of its own carries its schema, because it must be callable without a look-up.
 */
import { z } from 'zod'
import type { Action, Facade } from './define.ts'
import { refusal } from './policy.ts'
import type { Found, Registry } from './registry.ts'
import { jsonSchema } from './schema.ts'
import type { Problem } from '../contracts/errors.ts'
import type { Json } from '../contracts/ids.ts'
import type { Caller } from '../contracts/token.ts'

export interface McpTool {
  name: string
  description: string
  inputSchema: { type: 'object'; [key: string]: unknown }
  /** Only where they differ from what the protocol assumes: a list costs its reader context. */
  annotations: {
    readOnlyHint?: true
    destructiveHint?: false
    idempotentHint?: true
    openWorldHint: false
  }
  _meta?: Record<string, unknown>
}

export interface McpToolResult {
  content: { type: 'text'; text: string }[]
  structuredContent: Record<string, unknown>
  isError?: true
  [key: string]: unknown
}

/** What a `tools/call` asks dispatch for. */
export interface McpCall {
  facade: string
  action?: string
  params: unknown
}

export const McpDetail = z.enum(['full', 'compact', 'micro'])
export type McpDetail = z.infer<typeof McpDetail>

/** How much a client wants to see. Presentation only: what is not listed can still be called. */
export interface McpView {
  detail?: McpDetail | undefined
  /** Narrows the exposed facets to these; never widens them. */
  facets?: readonly string[] | undefined
}

export interface McpProjection {
  /** The facets that may be shown at all. */
  facets: readonly string[]
  /** What a kind of caller is shown, in the order of the list. Made once per view. */
  tools(kind: Caller['kind'], view?: McpView): readonly McpTool[]
  /** Any name, listed or not: a list is a diet, not an authorisation. */
  call(name: string, args: unknown): McpCall
}

const FACETS_DEFAULT: readonly string[] = ['core']
/** Never a tool, whatever is exposed: the operator has the command line and the HTTP routes. */
const FACET_HIDDEN = 'admin'

export function projectMcp(registry: Registry, exposed = FACETS_DEFAULT): McpProjection {
  const facets = exposed.filter((facet) => facet !== FACET_HIDDEN)
  const names = new Set(registry.facades.map((facade) => facade.name))
  const lists = new Map<string, readonly McpTool[]>()
  return {
    facets,
    tools(kind, { detail = 'full', facets: wanted } = {}) {
      const shown = wanted === undefined ? facets : facets.filter((facet) => wanted.includes(facet))
      const key = [kind, detail, ...shown].join(' ')
      const list = lists.get(key) ?? listFor(kind, registry, shown, detail)
      lists.set(key, list)
      return list
    },
    call: (name, args) => (names.has(name) ? facadeCall(name, args) : { facade: name, params: args }),
  }
}

function listFor(
  kind: Caller['kind'],
  registry: Registry,
  facets: readonly string[],
  detail: McpDetail,
): McpTool[] {
  const caller: Caller = { tenant_id: 'local', kind, identity: kind }
  const facades = registry.facades.filter(
    (facade) => facets.includes(facade.facet) && (detail !== 'micro' || facade.micro),
  )
  const permitted = registry.actions.filter(
    ({ facade, action }) => facades.includes(facade) && refusal(caller, facade, action) === null,
  )
  const own = permitted.filter(({ action }) => detail !== 'micro' && action.own_tool !== undefined)
  const inFacades = facades.flatMap((facade) => {
    const actions = permitted.filter((found) => found.facade === facade && !own.includes(found))
    return actions.length === 0 ? [] : [facadeTool(facade, actions, detail)]
  })
  return [...own.map(ownTool), ...inFacades]
}

function ownTool({ facade, name, action }: Found): McpTool {
  return {
    name: `${facade.name}_${name}`,
    description: action.own_tool?.description ?? action.summary,
    inputSchema: inputSchema(action),
    annotations: annotations([action]),
    ...(action.own_tool?.meta === undefined ? {} : { _meta: action.own_tool.meta }),
  }
}

function facadeTool(facade: Facade, actions: readonly Found[], detail: McpDetail): McpTool {
  const lines = actions.map(({ name, action }) => `- ${name}: ${action.summary}`)
  return {
    name: facade.name,
    description: detail === 'full' ? [facade.summary, ...lines].join('\n') : facade.compact,
    inputSchema: {
      type: 'object',
      properties: {
        action: { type: 'string', enum: actions.map(({ name }) => name) },
        params: { type: 'object', additionalProperties: true },
      },
      required: ['action'],
    },
    annotations: annotations(actions.map(({ action }) => action)),
  }
}

function annotations(actions: readonly Action[]): McpTool['annotations'] {
  const readOnly = actions.every((action) => !action.mutates)
  const idempotent = !readOnly && actions.every((action) => !action.mutates || action.idempotent === true)
  return {
    ...(readOnly ? { readOnlyHint: true } : {}),
    ...(idempotent ? { idempotentHint: true } : {}),
    ...(readOnly || actions.some((action) => action.destructive === true) ? {} : { destructiveHint: false }),
    openWorldHint: false,
  }
}

/** The JSON Schema a caller must meet, without what only fills the reader's context. */
function inputSchema(action: Action): McpTool['inputSchema'] {
  return { ...jsonSchema(action.input, 'input'), type: 'object' }
}

/**
 * Models forget the nesting, or hand `params` over as JSON text. Both are meant clearly, so neither
 * costs a turn; the strict schema still judges what is in it.
 */
function facadeCall(facade: string, args: unknown): McpCall {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    return { facade, action: '', params: args }
  const { action, params, ...rest } = args as Record<string, unknown>
  const name = typeof action === 'string' ? action : ''
  if (params === undefined) return { facade, action: name, params: rest }
  return { facade, action: name, params: typeof params === 'string' ? parsedOrItself(params) : params }
}

function parsedOrItself(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

export function toolResult(result: Json): McpToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(result) }],
    structuredContent:
      typeof result === 'object' && result !== null && !Array.isArray(result) ? result : { result },
  }
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
