/** The kernel as HTTP routes, and as the OpenAPI document that describes them. */
import type { z } from 'zod'
import type { Action, Found } from '../define.ts'
import { jsonSchema, type JsonSchema } from '../schema.ts'
import { queryReader, type QueryReader } from '../query-reader.ts'
import type { Registry } from '../registry.ts'
import { ERRORS, type ErrorCode } from '../../contracts/errors/error-catalogue.ts'
import { Problem } from '../../contracts/errors/errors.ts'

export interface HttpRoute {
  method: 'GET' | 'POST'
  /** `/api/signals/send`. */
  url: string
  facade: string
  action: string
  /** For GET: the parameters of the query, converted to the types of the schema. */
  fromQuery: QueryReader
}

/** POST for every action, and GET for read-only ones. Deprecated paths are served but not documented. */
export function projectHttp(registry: Registry): HttpRoute[] {
  return registry.actions.flatMap((found) => {
    const { old_path } = found.facade
    const urls = [routeOf(found), ...(old_path === undefined ? [] : [`${old_path}/${found.name}`])]
    const route = {
      ...{ facade: found.facade.name, action: found.name },
      fromQuery: queryReader(found.action),
    }
    return urls.flatMap((url): HttpRoute[] => {
      const post: HttpRoute = { ...route, url, method: 'POST' }
      return found.action.mutates ? [post] : [post, { ...post, method: 'GET' }]
    })
  })
}

/** Overview for clients that start: `GET /facades`. */
export function describeFacades(actions: readonly Found[]): object[] {
  return [...new Set(actions.map(({ facade }) => facade))].map((facade) => ({
    name: facade.name,
    summary: facade.summary,
    facet: facade.facet,
    actions: actions
      .filter((found) => found.facade === facade)
      .map(({ name, action: { summary, mutates, allow } }) => ({ name, summary, mutates, allow })),
  }))
}

/** Each of these actions with its schemas: `GET /tools`. `/call` works for all of them. */
export function describeTools(actions: readonly Found[]): object[] {
  return actions.map(toolOf)
}

const described = new WeakMap<Action, object>()

function toolOf({ facade, name, action }: Found): object {
  const known = described.get(action)
  if (known !== undefined) return known
  const tool = {
    name: `${facade.name}_${name}`,
    tool: facade.name,
    action: name,
    facet: facade.facet,
    summary: action.summary,
    mutates: action.mutates,
    input_schema: jsonSchema(action.input, 'input'),
    output_schema: jsonSchema(action.output, 'output'),
  }
  described.set(action, tool)
  return tool
}

/** A route of the transport that is not an action. */
export interface FixedRoute {
  method: 'get' | 'post'
  path: string
  summary: string
  /** Answered without a token. */
  open?: boolean
  query?: z.ZodType
  body?: z.ZodType
  /** Media type, if it is not JSON. */
  answer: z.ZodType | string
  errors: readonly ErrorCode[]
}

const ALWAYS: readonly ErrorCode[] = [
  'token_missing',
  'token_invalid',
  'token_expired',
  'origin_forbidden',
  'rate_limited',
  'limit_reached',
]

/** OpenAPI 3.1: its schemas are JSON Schema 2020-12, so zod's are taken as they are. */
export function projectOpenApi(registry: Registry, version: string, fixed: readonly FixedRoute[]): object {
  const paths: Record<string, Record<string, unknown>> = {}
  const shared: Record<string, unknown> = { Problem: jsonSchema(Problem, 'output') }
  const add = (path: string, method: string, operation: object) => {
    paths[path] = { ...paths[path], [method]: operation }
  }
  for (const route of fixed) add(route.path.replace(/:(\w+)/g, '{$1}'), route.method, fixedOperation(route))
  for (const found of registry.actions) {
    add(routeOf(found), 'post', actionOperation(found, 'post'))
    if (!found.action.mutates) add(routeOf(found), 'get', actionOperation(found, 'get'))
  }
  return withSharedSchemas(shared, {
    openapi: '3.1.0',
    info: {
      title: 'turnbell hub',
      version,
      description: 'Durable signals for teams of coding agents.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: registry.facades.map(({ name, summary, facet }) => ({
      name,
      description: summary,
      'x-facet': facet,
    })),
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: shared,
    },
  })
}

/** Moves the definitions of a schema to the components of the document, and adjusts references to them. */
function withSharedSchemas(shared: Record<string, unknown>, document: object): object {
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value as JsonSchema).flatMap(([key, part]): [string, unknown][] => {
      if (key === '$defs') {
        for (const [name, definition] of Object.entries(part as JsonSchema))
          shared[name] ??= moved(definition)
        return []
      }
      if (key === '$ref') return [[key, String(part).replace('#/$defs/', '#/components/schemas/')]]
      return [[key, moved(part)]]
    })
    return Object.fromEntries(entries)
  }
  const { components, ...rest } = document as { components: object }
  return { ...(moved(rest) as object), components: { ...components, schemas: moved(shared) } }
}

function routeOf({ facade, name }: Found): string {
  return `/api/${facade.name}/${name}`
}

function actionOperation({ facade, name, action }: Found, method: 'get' | 'post'): object {
  const input = jsonSchema(action.input, 'input')
  return {
    operationId: `${facade.name}_${name}${method === 'get' ? '_get' : ''}`,
    tags: [facade.name],
    summary: action.summary,
    ...(method === 'get'
      ? { parameters: queryParameters(input) }
      : { requestBody: jsonBody(input, action.examples?.[0]) }),
    responses: {
      200: {
        description: 'Done.',
        content: { 'application/json': { schema: jsonSchema(action.output, 'output') } },
      },
      ...problems(['params_invalid', ...action.errors, ...ALWAYS]),
    },
  }
}

function fixedOperation(route: FixedRoute): object {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const parameters = [
    ...inPath,
    ...(route.query === undefined ? [] : queryParameters(jsonSchema(route.query, 'input'))),
  ]
  const content =
    typeof route.answer === 'string'
      ? { [route.answer]: { schema: { type: 'string' } } }
      : { 'application/json': { schema: jsonSchema(route.answer, 'output') } }
  return {
    operationId: `${route.method}${route.path.replace(/[^A-Za-z]+/g, '_')}`.replace(/_$/, ''),
    summary: route.summary,
    ...(route.open === true ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined
      ? {}
      : { requestBody: jsonBody(jsonSchema(route.body, 'input'), undefined) }),
    responses: {
      200: { description: 'Done.', content },
      ...problems(route.open === true ? route.errors : [...route.errors, ...ALWAYS]),
    },
  }
}

function jsonBody(schema: JsonSchema, example: unknown): object {
  return {
    required: true,
    content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
  }
}

function queryParameters(schema: JsonSchema): object[] {
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []
  return Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>).map(
    ([name, property]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      schema: property,
    }),
  )
}

/** One response for each status, with its error codes. */
function problems(codes: readonly ErrorCode[]): Record<string, object> {
  const byStatus = new Map<number, Set<string>>()
  for (const code of codes) {
    const status = ERRORS[code].status
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code))
  }
  return Object.fromEntries(
    [...byStatus].map(([status, named]) => [
      String(status),
      {
        description: `Refused: ${[...named].join(', ')}.`,
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  )
}
