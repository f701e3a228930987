/** Calls of the kernel over HTTP: the same dispatch for every route, under every name. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { answeredBy } from './answered.ts'
import { PROBLEM_TYPE } from './problems.ts'
import { narrowingInHeaders, narrowingInRequest } from '../narrowing.ts'
import { batched } from '../../kernel/batch.ts'
import type { Deprecated, DispatchOutcome } from '../../kernel/define.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import type { HttpRoute } from '../../kernel/project-http.ts'
import { describeParams } from '../../contracts/describe.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { BatchRequest, CallerContext, CallRequest } from '../../contracts/http.ts'

/** `POST /call`: 200 `{result}`, or a problem with its status. What was called by an old name is told where today's is. */
export async function call(kernel: Kernel, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { tool, action, params } = parsed(CallRequest, request.body)
  const outcome = await kernel.dispatch({
    facade: tool,
    action,
    params,
    ...from(request, reply),
  })
  if (!outcome.ok) return refuse(reply, outcome)
  if (outcome.deprecated !== undefined) void reply.header('link', successor(outcome.deprecated))
  return { result: outcome.result }
}

/** `POST /batch`: in parallel, answered in order, each with its own error. */
export async function batch(kernel: Kernel, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { calls, context } = parsed(BatchRequest, request.body)
  const shared = from(request, reply)
  if (context !== undefined) shared.context = context
  return batched(calls, (one) => kernel.dispatch({ ...one, ...shared }))
}

/** `/api/<facade>/<action>`: the bare output. */
export async function action(
  kernel: Kernel,
  route: HttpRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const outcome = await kernel.dispatch({
    facade: route.facade,
    action: route.action,
    params: route.method === 'GET' ? route.fromQuery(request.query as Record<string, unknown>) : request.body,
    ...from(request, reply),
  })
  return outcome.ok ? outcome.result : refuse(reply, outcome)
}

/** Where today's name of an old one is (RFC 5829). */
function successor({ facade, action }: Deprecated): string {
  return `</api/${facade}/${action}>; rel="successor-version"`
}

function refuse(reply: FastifyReply, { problem }: Extract<DispatchOutcome, { ok: false }>): unknown {
  void reply.code(problem.status).type(PROBLEM_TYPE)
  return problem
}

type Part = 'body' | 'query' | 'headers'

/** Parses a part of a request; throws `request_invalid` naming field, found and allowed. */
export function parsed<T extends z.ZodType>(schema: T, value: unknown, part: Part = 'body'): z.output<T> {
  const result = schema.safeParse(value ?? {})
  if (result.success) return result.data
  throw new TurnbellError('request_invalid', {
    detail: describeParams(schema, value ?? {}, result.error, part),
    hint: `Check the ${part} against /openapi.json.`,
    cause: result.error,
  })
}

/** Who calls, from where and within which bounds. */
function from(request: FastifyRequest, reply: FastifyReply) {
  return {
    caller: request.caller,
    context: contextOf(request),
    // What a GET asks with are the action's parameters, and a bound is none of them.
    narrowing:
      request.method === 'GET' ? narrowingInHeaders(request.headers) : narrowingInRequest(request.raw),
    answered: answeredBy(reply.raw),
  }
}

function contextOf({ headers }: FastifyRequest): CallerContext {
  const told = {
    agent_id: headers['x-agent-id'],
    run_id: headers['x-run-id'],
    parent_call_id: headers['x-parent-call-id'],
    scope: headers['x-scope'],
  }
  const said = Object.entries(told).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value : textOf(value)]],
  )
  return parsed(CallerContext, Object.fromEntries(said), 'headers')
}

/** Node takes a header's bytes for characters; a path is sent in UTF-8, unless it is none. */
function textOf(header: string): string {
  const text = Buffer.from(header, 'latin1').toString()
  return text.includes('\ufffd') ? header : text
}
