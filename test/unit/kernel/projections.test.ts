/** Tests the documents derived from the facades: tools, routes, OpenAPI and help. */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { cliAction, cliOverview, cliParams } from '../../../src/kernel/projections/project-cli.ts'
import {
  describeFacades,
  describeTools,
  projectHttp,
  projectOpenApi,
} from '../../../src/kernel/projections/project-http.ts'
import { projectMcp, toolProblem, toolResult } from '../../../src/kernel/projections/project-mcp.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { toProblem, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { smallKernel } from '../../support/worlds/small-kernel.ts'
import { FIXED_ROUTES } from '../../../src/transports/http/routes.ts'

const registry = createRegistry(FACADES)
const mcp = projectMcp(smallKernel(FACADES))

const validators = new AjvJsonSchemaValidator()
const valid = (schema: unknown, value: unknown, components: unknown = {}) =>
  validators.getValidator({ ...(schema as object), components } as Parameters<
    typeof validators.getValidator
  >[0])(value)

describe('a tool call', () => {
  test.each([
    [
      'signals',
      { action: 'send', params: { to: 'bob' } },
      { facade: 'signals', action: 'send', params: { to: 'bob' } },
    ],
    ['signals', { action: 'send', to: 'bob' }, { facade: 'signals', action: 'send', params: { to: 'bob' } }],
    [
      'signals',
      { action: 'send', params: '{"to":"bob"}' },
      { facade: 'signals', action: 'send', params: { to: 'bob' } },
    ],
    [
      'signals',
      { action: 'send', params: '{"to":' },
      { facade: 'signals', action: 'send', params: '{"to":' },
    ],
    ['signals', { action: 7 }, { facade: 'signals', action: '', params: {} }],
    ['signals', undefined, { facade: 'signals', action: '', params: undefined }],
    ['signals', [1], { facade: 'signals', action: '', params: [1] }],
    [
      'signals_pending',
      { limit: 1 },
      { facade: 'signals_pending', params: { limit: 1, max_tokens: LIMITS.drain_tokens_shown } },
    ],
    ['prism_signal', { to: 'bob' }, { facade: 'prism_signal', params: { to: 'bob' } }],
    ['no_such_tool', {}, { facade: 'no_such_tool', params: {} }],
  ])('a tool call is resolved: %s %j', (name, args, call) => expect(mcp.call(name, args)).toEqual(call))

  test('a tool call returns the result as JSON text and as an object', () => {
    expect(toolResult({ a: 1 })).toEqual({
      content: [{ type: 'text', text: '{"a":1}' }],
      structuredContent: { a: 1 },
    })
    expect(
      toolResult(1, { deprecated: { name: 'coord_send', facade: 'signals', action: 'send' } })._meta,
    ).toEqual({
      'turnbell/deprecated': { name: 'coord_send', facade: 'signals', action: 'send' },
    })
    const noted = toolResult({ a: 1, note: 'before' }, { note: 'limit: "5" was taken as 5' })
    expect(noted.structuredContent).toEqual({ a: 1, note: 'before; limit: "5" was taken as 5' })
    expect(JSON.parse(noted.content[0]?.text ?? '')).toEqual(noted.structuredContent)
    expect(toolResult([1], { note: 'n' }).structuredContent).toEqual({ result: [1], note: 'n' })
    expect(toolResult([1]).structuredContent).toEqual({ result: [1] })
    expect(toolResult(null).structuredContent).toEqual({ result: null })
  })

  test('a tool call returns an error with a hint for the model', () => {
    const problem = toProblem(
      new TurnbellError('queue_full', { detail: 'bob has 10000.', hint: 'Wait.' }),
      'I',
    )
    expect(toolProblem(problem)).toEqual({
      isError: true,
      content: [{ type: 'text', text: "The persona's queue is full: bob has 10000. Wait. (queue_full)" }],
      structuredContent: problem,
    })
  })
})

describe('the routes', () => {
  const routes = projectHttp(registry)

  test('every action has a POST route, and a GET route if it is read-only', () => {
    for (const { facade, name, action } of registry.actions) {
      const methods = routes
        .filter(({ url }) => url === `/api/${facade.name}/${name}`)
        .map(({ method }) => method)
      expect(methods).toEqual(action.mutates ? ['POST'] : ['POST', 'GET'])
    }
  })

  test('routes parse a query by the types of the schema, and leave other values to validation', () => {
    const inbox = routes.find(({ url, method }) => url === '/api/signals/inbox' && method === 'GET')
    expect(
      inbox?.fromQuery({ limit: '5', status: 'dead,acked', from: 'bob', before_seq: 'x', other: '1' }),
    ).toEqual({
      limit: 5,
      status: ['dead', 'acked'],
      from: 'bob',
      before_seq: 'x',
      other: '1',
    })
    expect(inbox?.fromQuery({ status: ['dead', 'acked'] })).toEqual({ status: ['dead', 'acked'] })
  })
})

describe('the OpenAPI document', () => {
  interface Operation {
    operationId: string
    parameters?: { name: string; in: string; schema: object }[]
    requestBody?: { content: Record<string, { schema: object; example?: unknown }> }
    responses: Record<string, { description: string; content: Record<string, { schema: object }> }>
    security?: unknown[]
  }
  const document = projectOpenApi(registry, '1.2.3', Object.values(FIXED_ROUTES)) as {
    openapi: string
    paths: Record<string, Record<string, Operation>>
    components: { schemas: Record<string, object> }
  }
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

  test('the OpenAPI document is version 3.1 and names every route with a unique id', () => {
    expect(document.openapi).toBe('3.1.0')
    const described = projectHttp(registry).filter(({ url }) => url.startsWith('/api/'))
    expect(operations.length).toBe(described.length + Object.keys(FIXED_ROUTES).length)
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[A-Za-z][A-Za-z0-9_]*$/)
  })

  test('the OpenAPI document declares every path parameter', () => {
    for (const { path, operation } of operations) {
      const inPath = (operation.parameters ?? [])
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => name)
      expect(inPath, path).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    }
  })

  test('the OpenAPI document contains only JSON Schemas that compile', () => {
    const schemas = operations.flatMap(({ operation }) => {
      const bodies = Object.values(operation.requestBody?.content ?? {})
      const answers = Object.values(operation.responses).flatMap(({ content }) => Object.values(content))
      return [...bodies, ...answers, ...(operation.parameters ?? [])].map(({ schema }) => schema)
    })
    for (const schema of new Map(schemas.map((one) => [JSON.stringify(one), one])).values()) {
      if ('$ref' in schema) expect(schema['$ref']).toMatch(/^#\/components\/schemas\/(Problem|Json)$/)
      else expect(() => valid(schema, {}, document.components)).not.toThrow()
    }
  })

  test('the OpenAPI document accepts its own examples and real problems', () => {
    const examples = operations.flatMap(({ operation }) =>
      Object.values(operation.requestBody?.content ?? {}),
    )
    for (const { schema, example } of examples)
      if (example !== undefined)
        expect(valid(schema, example, document.components)).toMatchObject({ valid: true })
    const problem = toProblem(new TurnbellError('queue_full', { detail: 'x' }), 'I')
    expect(valid(document.components.schemas['Problem'], problem)).toMatchObject({ valid: true })
    expect(valid(document.components.schemas['Problem'], { title: 'x' })).toMatchObject({ valid: false })
  })

  test('the OpenAPI document marks routes without a token', () => {
    const open = operations
      .filter(({ operation }) => operation.security?.length === 0)
      .map(({ path }) => path)
    expect(open).toEqual(['/health', '/ready'])
  })
})

describe('the other views', () => {
  test('every view lists each action once', () => {
    expect(describeTools(registry.actions)).toHaveLength(registry.actions.length)
    expect(describeFacades(registry.actions)).toHaveLength(FACADES.length)
    for (const tool of describeTools(registry.actions) as { input_schema: object; output_schema: object }[]) {
      expect(() => [valid(tool.input_schema, {}), valid(tool.output_schema, {})]).not.toThrow()
    }
  })

  test('the command line help names every action and every parameter', () => {
    const overview = cliOverview(registry)
    for (const { facade, name } of registry.actions)
      expect(overview).toMatch(new RegExp(`${facade.name}:[^]*\\n  ${name} `))
    const help = cliAction(registry.resolve('signals_send'))
    expect(help).toContain('turnbell call signals send [--params JSON]')
    expect(help).toMatch(/to +string, required/)
    expect(help).toMatch(/priority +integer \(default 3\)/)
    expect(help).toContain(`--params '{"to":"bob"`)
    const [, surface] = cliParams(registry.resolve('personas_add'))
    expect(surface?.type).toBe('"claude-code"|"codex"|"opencode"|"tmux"|"command"|"mcp"')
  })
})
