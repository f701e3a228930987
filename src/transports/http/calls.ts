/** Calls of actions over HTTP; all routes use the same dispatch. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answerOf } from './answered.ts'
import { contextInHeaders } from './context.ts'
import { parsed } from './parsed.ts'
import { PROBLEM_TYPE } from './problems.ts'
import { narrowingInHeaders, narrowingInRequest } from '../narrowing.ts'
import { batched } from '../../kernel/batch.ts'
import { createBudget } from '../../kernel/budget.ts'
import type { Deprecated, DispatchOutcome } from '../../kernel/define.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import type { AliasRoute } from '../../kernel/projections/alias-routes.ts'
import type { HttpRoute } from '../../kernel/projections/project-http.ts'
import { BatchRequest, CallRequest } from '../../contracts/http.ts'

/** `POST /call`: 200 `{result}`, or a problem with its status. A `link` header points from an old name to the current one. */
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
  const { result, note } = outcome
  return note === undefined ? { result } : { result, note }
}

/** `POST /batch`: runs several at a time; answers are in order, each with its own error. */
export async function batch(kernel: Kernel, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { calls, context } = parsed(BatchRequest, request.body)
  const shared = { ...from(request, reply), budget: createBudget() }
  shared.context = { ...shared.context, ...context }
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
  if (!outcome.ok) return refuse(reply, outcome)
  if (outcome.note !== undefined) void reply.header('x-turnbell-note', asciiOf(outcome.note))
  return outcome.result
}

/** A former path: the same as the route of the action that it stands for. */
export async function alias(
  kernel: Kernel,
  route: AliasRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { facade, action, method } = route
  const path = request.params as Record<string, unknown>
  const given = method === 'GET' || method === 'DELETE' ? request.query : (request.body ?? {})
  const params = route.params({ ...(given as Record<string, unknown>), ...path })
  const outcome = await kernel.dispatch({ facade, action, params, ...from(request, reply) })
  if (!outcome.ok) return refuse(reply, outcome)
  void reply.header('link', successor({ name: route.url, facade, action }))
  return outcome.result
}

/** Replaces characters that a header cannot contain. */
function asciiOf(text: string): string {
  return text.replace(/[^ -~]/g, '?')
}

/** Returns the link to the current name of an action (RFC 5829). */
function successor({ facade, action }: Deprecated): string {
  return `</api/${facade}/${action}>; rel="successor-version"`
}

function refuse(reply: FastifyReply, { problem }: Extract<DispatchOutcome, { ok: false }>): unknown {
  void reply.code(problem.status).type(PROBLEM_TYPE)
  return problem
}

/** Returns the caller, its context and its bounds. */
function from(request: FastifyRequest, reply: FastifyReply) {
  return {
    caller: request.caller,
    context: contextInHeaders(request.headers),
    // The query of a GET contains the action's parameters, so bounds are only read from headers.
    narrowing:
      request.method === 'GET' ? narrowingInHeaders(request.headers) : narrowingInRequest(request.raw),
    answer: answerOf(reply.raw),
  }
}
