/**
 * The hub's HTTP transport: fastify on a given server, so that `/ws` and `/mcp` share the port.
 *
 * Every request is authenticated first, and every error is answered as a problem. Actions are defined in the kernel only.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import rateLimit from '@fastify/rate-limit'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { heardFrom, whenClosed } from './answered.ts'
import { becomesStream, createAdmission, type Enter, type Admission } from './admission.ts'
import { requestWindows } from './request-windows.ts'
import { action, alias, batch, call } from './calls.ts'
import { position, readPage, streamEvents } from './events.ts'
import { admit, checkOrigin } from './guard.ts'
import { hookContext } from './hook-context.ts'
import { parsed } from './parsed.ts'
import { answerClientError, PROBLEM_TYPE, problemOf, sendProblem } from './problems.ts'
import { FIXED_ROUTES, Nothing } from './routes.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import { boundsOf, permit } from '../../kernel/policy.ts'
import { aliasRoutes } from '../../kernel/projections/alias-routes.ts'
import {
  describeFacades,
  describeTools,
  projectHttp,
  projectOpenApi,
} from '../../kernel/projections/project-http.ts'
import { ActivityReport } from '../../contracts/activity/event.ts'
import { CLIENT_FORM, hookFacts } from '../../contracts/spool/hook.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { EventsQuery } from '../../contracts/http.ts'
import { sizeProblem } from '../../contracts/validation/json.ts'
import { inexactNumber, InexactNumberError } from '../../contracts/validation/json-numbers.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { TeamView } from '../../contracts/team-view.ts'
import { TokenRequest, type Caller } from '../../contracts/token.ts'
import type { HubApi, TransportAdapter } from '../hub-api.ts'
import { keyOf } from '../quotas.ts'
import { narrowingInRequest } from '../narrowing.ts'
import { describeWebSocket } from '../ws/asyncapi.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Authenticated caller; set on every route that needs a token. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** The route needs no token. */
    open?: boolean
    /** Numbers of the body may lose digits, because the body is not stored as it is. */
    rounds?: boolean
  }
}

/** A route outside fastify on the same port, for example `/mcp`. */
export interface RawRoute {
  path: string
  /** Never rejects: it answers its own errors. Must call `enter` once the caller is known. */
  handle(request: IncomingMessage, response: ServerResponse, enter: Enter): Promise<void>
  /** Closes streams. Resolves once running requests are answered. */
  stop(): Promise<void>
}

export interface HttpOptions {
  kernel: Kernel
  api: HubApi
  version: string
  raw?: readonly RawRoute[]
}

/** `start` takes over the requests of the server, which need not listen yet. */
export function createHttpTransport(options: HttpOptions): TransportAdapter<Server> {
  const streams = new Set<{ end(): void }>()
  const admission = createAdmission({ ...options.api, queue: options.kernel.queue })
  let app: FastifyInstance | null = null
  let stopping = false
  let underway = 0
  let idle: (() => void) | null = null

  const serve = (handler: Handler, request: IncomingMessage, response: ServerResponse) => {
    underway++
    whenClosed(response, () => {
      underway--
      if (underway === 0) idle?.()
    })
    if (stopping) {
      refuseWhileStopping(options.api, request, response)
      return
    }
    const raw = options.raw?.find(({ path }) => isPath(request.url ?? '', path))
    if (raw === undefined) handler(request, response)
    else void raw.handle(request, response, admission.enter)
  }
  const onRequest = (handler: Handler): Handler => {
    return (request, response) => {
      heardFrom(request.socket)
      admission.arrived(request, response, () => serve(handler, request, response))
    }
  }

  return {
    name: 'http',
    async start(server) {
      server.keepAliveTimeout = LIMITS.http_keep_alive_ms
      server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', admission.connected)
      server.on('upgrade', ({ socket }: IncomingMessage) => admission.upgraded(socket))
      app = build(options, { server, admission, onRequest, streams })
      await app.ready()
    },
    async stop() {
      stopping = true
      for (const stream of streams) stream.end()
      await Promise.all((options.raw ?? []).map((raw) => raw.stop()))
      if (underway > 0) await new Promise<void>((resolve) => (idle = resolve))
      admission.close()
      await app?.close()
    },
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

interface Parts {
  server: Server
  admission: Admission
  onRequest: (handler: Handler) => Handler
  streams: Set<{ end(): void }>
}

function build(
  { kernel, api, version }: HttpOptions,
  { server, admission, onRequest, streams }: Parts,
): FastifyInstance {
  const app = fastify({
    bodyLimit: LIMITS.body_bytes_max,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    serverFactory: (handler) => server.on('request', onRequest(handler)),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, api),
    frameworkErrors: (error, request, reply) => void answerError(api, error, request, reply),
  })
  app.decorateRequest('caller', null as unknown as Caller)
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.open === true) return checkOrigin(request.headers, api.ownHosts())
    request.caller = admit(request.raw, api, { token_in_query: false })
    await admission.enter(request.raw, reply.raw, request.caller)
  })
  app.setErrorHandler((error, request, reply) => answerError(api, error, request, reply))
  app.setNotFoundHandler((request) => {
    throw unknownRoute(kernel, request)
  })
  acceptEmptyJson(app)
  addFixedRoutes(app, kernel, api, version, streams)
  for (const route of projectHttp(kernel.registry)) {
    app.route({
      method: route.method,
      url: route.url,
      handler: (request, reply) => action(kernel, route, request, reply),
    })
  }
  for (const route of aliasRoutes(kernel.registry)) {
    app.route({
      method: route.method,
      url: route.url,
      handler: (request, reply) => alias(kernel, route, request, reply),
    })
  }
  return app
}

/** For the path of an action, the error names the closest action, as in the other transports. */
function unknownRoute({ registry }: Kernel, { method, url }: FastifyRequest): TurnbellError {
  const path = url.split('?')[0] ?? ''
  const [, facade, action] = /^\/api\/(\w+)\/(\w+)$/.exec(path) ?? []
  const detail = `There is no ${method} ${path}.`
  if (facade === undefined || action === undefined) return new TurnbellError('route_unknown', { detail })
  const found = registry.resolve(facade, action)
  return new TurnbellError('route_unknown', {
    detail,
    hint: `Use POST /api/${found.facade.name}/${found.name}.`,
  })
}

/** Accepts an empty body with content type JSON, for actions without parameters. */
function acceptEmptyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    void parse(request, body as string, (error, value) => {
      if (error !== null) return done(error)
      const inexact = request.routeOptions.config.rounds === true ? null : inexactNumber(body as string)
      const too_large = sizeProblem(value)
      const why =
        too_large === null
          ? inexact && new InexactNumberError(inexact).message
          : `Body rejected: ${too_large}.`
      if (why === null) done(null, value)
      else done(new TurnbellError('params_invalid', { detail: why }))
    })
  })
}

function addFixedRoutes(
  app: FastifyInstance,
  kernel: Kernel,
  api: HubApi,
  version: string,
  streams: Set<{ end(): void }>,
): void {
  const open = { config: { open: true } }
  const listed = ({ caller, raw }: FastifyRequest) => kernel.permitted(caller, narrowingInRequest(raw))
  /** Queued like read-only actions, because they take as much time. */
  const look = async <T>({ caller }: FastifyRequest, answer: () => T | Promise<T>): Promise<T> => {
    const leave = await kernel.queue.enter(caller, 'look')
    try {
      return await answer()
    } finally {
      leave()
    }
  }
  // Generated at the first request, because only authors of clients need them.
  let openapi: string | null = null
  let asyncapi: string | null = null
  const json = (reply: FastifyReply, text: string) => reply.type('application/json; charset=utf-8').send(text)

  app.get('/', open, (_, reply) => reply.type('text/html; charset=utf-8').send(PAGE))
  app.get('/health', open, () => ({ ...api.health(), tool_count: kernel.registry.actions.length }))
  app.get('/ready', open, (request, reply) => {
    const { ready, reason, hint } = api.readiness()
    if (ready) return { ready, reason }
    const refused = new TurnbellError('hub_not_ready', {
      detail: reason ?? 'The hub is not ready.',
      ...(hint == null ? {} : { hint }),
    })
    void reply.code(503).type(PROBLEM_TYPE)
    return { ...problemOf(refused, api, request.url), ready, reason }
  })
  app.get('/metrics', async (request, reply) => {
    const text = await look(request, () => api.metricsText())
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(text)
  })
  app.post('/call', (request, reply) => call(kernel, request, reply))
  app.post('/batch', (request, reply) => batch(kernel, request, reply))
  app.get('/facades', (request) => look(request, () => ({ facades: describeFacades(listed(request)) })))
  app.get('/tools', (request) => look(request, () => ({ tools: describeTools(listed(request)) })))
  app.get('/openapi.json', async (request, reply) => {
    const document = () =>
      JSON.stringify(projectOpenApi(kernel.registry, version, Object.values(FIXED_ROUTES)))
    return json(reply, await look(request, () => (openapi ??= document())))
  })
  app.get('/asyncapi.json', async (request, reply) =>
    json(reply, await look(request, () => (asyncapi ??= JSON.stringify(describeWebSocket(version))))),
  )
  app.get('/events', (request, reply) => look(request, () => events(api, streams, request, reply)))
  app.post<{ Params: { client: string } }>('/hook/:client', { config: { rounds: true } }, (request) =>
    hook(kernel, api, request),
  )
  app.post('/activity', { config: { rounds: true } }, async ({ caller, body }, reply) => {
    const receipt = await api.reportActivity(caller, parsed(ActivityReport, body))
    return reply.code(receipt.dropped === undefined ? 200 : 202).send(receipt)
  })
  app.get('/team', (request) => look(request, () => team(kernel, api, request)))
  app.post('/session/end', async ({ caller, body }) => {
    parsed(Nothing, body)
    await api.endSession(caller)
    return {}
  })
  void app.register(async (scope) => {
    await scope.register(rateLimit, {
      max: ({ caller }) => renewalsMax(caller),
      keyGenerator: ({ caller }) => keyOf(caller),
      timeWindow: 60_000,
      store: requestWindows(api.clock),
      errorResponseBuilder: ({ caller }) =>
        new TurnbellError('rate_limited', {
          detail: `The ${caller.kind} ${caller.identity} sent more than ${renewalsMax(caller)} token requests in a minute.`,
          hint: 'Use a token until shortly before it expires; `expires_in` is its lifetime in seconds.',
        }),
    })
    scope.post('/auth/token', (request) => api.issueToken(request.caller, parsed(TokenRequest, request.body)))
  })
}

function events(
  api: HubApi,
  streams: Set<{ end(): void }>,
  request: FastifyRequest,
  reply: FastifyReply,
): unknown {
  const query = { ...(request.query as Record<string, unknown>) }
  const { since, agent_id, run_id, type, limit } = parsed(EventsQuery, query, 'query')
  const filter = {
    ...(agent_id === undefined ? {} : { agent_id }),
    ...(run_id === undefined ? {} : { run_id }),
    ...(type === undefined ? {} : { type }),
  }
  if (request.headers.accept?.includes('text/event-stream') !== true) {
    const from = position(since)
    const page = { ...filter, ...(from === undefined ? {} : { since: from }), limit }
    return readPage(api.events, request.caller, page)
  }
  const resume = request.headers['last-event-id']
  const from = position(typeof resume === 'string' ? resume : since)
  const leave = api.quotas.take(request.caller, 'event_stream')
  becomesStream(reply.raw)
  reply.hijack()
  const stream = streamEvents(reply.raw, request.caller, filter, from, api)
  streams.add(stream)
  whenClosed(reply.raw, () => {
    streams.delete(stream)
    leave()
  })
  return reply
}

function renewalsMax({ kind }: Caller): number {
  return kind === 'operator' ? LIMITS.token_requests_per_minute_max : LIMITS.caller_renewals_per_minute_max
}

async function hook(
  kernel: Kernel,
  api: HubApi,
  request: FastifyRequest<{ Params: { client: string } }>,
): Promise<object> {
  const { client } = request.params
  const { kind, identity } = request.caller
  if (kind !== 'agent' && kind !== 'operator') {
    throw new TurnbellError('kind_forbidden', {
      detail: `Only the client of an agent reports hooks; the caller is the ${kind} ${identity}.`,
      hint: "Call with the token of the persona's agent.",
    })
  }
  if (!CLIENT_FORM.test(client)) {
    throw new TurnbellError('request_invalid', {
      detail: `client: expected a name like claude-code, found ${JSON.stringify(client)}`,
    })
  }
  const body = request.body ?? {}
  if (typeof body !== 'object' || Array.isArray(body)) {
    throw new TurnbellError('request_invalid', { detail: 'body: expected an object' })
  }
  const data = hookFacts(client, body as Record<string, unknown>)
  api.events.append({ type: 'hook', agent_id: identity, data })
  api.reportHook(request.caller, client, body as Record<string, unknown>)
  return hookContext(kernel, request.caller, body as Record<string, unknown>)
}

/** Not an action, because its reads by each open session would fill the event log. */
function team(kernel: Kernel, api: HubApi, { caller, raw }: FastifyRequest): Promise<TeamView> {
  if (caller.kind !== 'agent') {
    throw new TurnbellError('kind_forbidden', {
      detail: `Only an agent has a team view; the caller is the ${caller.kind} ${caller.identity}.`,
      hint: 'Call `personas list`.',
    })
  }
  const { facade, action } = kernel.registry.resolve('personas', 'list')
  const asking = { caller, grants: kernel.grants() }
  permit({ ...asking, narrowing: boundsOf(narrowingInRequest(raw) ?? {}, asking) }, facade, action)
  return api.teamView(caller)
}

function answerError(
  api: HubApi,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const problem = problemOf(error, api, request.url)
  if (problem.status === 401) void reply.header('www-authenticate', 'Bearer')
  return reply.code(problem.status).type(PROBLEM_TYPE).send(problem)
}

function refuseWhileStopping(api: HubApi, request: IncomingMessage, response: ServerResponse): void {
  const refused = new TurnbellError('hub_stopping', { detail: 'The hub accepts no new requests.' })
  response.setHeader('connection', 'close')
  sendProblem(response, problemOf(refused, api, request.url ?? ''))
}

function isPath(url: string, path: string): boolean {
  return url === path || (url.startsWith(path) && (url[path.length] === '?' || url[path.length] === '/'))
}

const PAGE =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>turnbell</title>' +
  '<p>This is a turnbell hub. <a href="/health">Health</a>. Everything else needs a token.</p></html>\n'
