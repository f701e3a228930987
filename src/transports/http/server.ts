/**
 * The hub's HTTP door: fastify on a server that is handed in, so that `/ws` and `/mcp` share the port.
 *
 * Every request passes the guard first and every error leaves as a problem. What an action does is
 * the kernel's; nothing here knows one.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import rateLimit from '@fastify/rate-limit'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { whenClosed } from './answered.ts'
import { requestWindows } from './request-windows.ts'
import { action, batch, call } from './calls.ts'
import { position, readPage, streamEvents } from './events.ts'
import { admit, checkOrigin } from './guard.ts'
import { hookContext } from './hook-context.ts'
import { parsed } from './parsed.ts'
import { answerClientError, PROBLEM_TYPE, problemOf, sendProblem } from './problems.ts'
import { FIXED_ROUTES, Nothing } from './routes.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import { describeFacades, describeTools, projectHttp, projectOpenApi } from '../../kernel/project-http.ts'
import { CLIENT_FORM, hookFacts } from '../../contracts/hook.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { EventsQuery } from '../../contracts/http.ts'
import { isDeeper } from '../../contracts/json.ts'
import { inexactNumber, InexactNumberError } from '../../contracts/json-numbers.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { TokenRequest, type Caller } from '../../contracts/token.ts'
import type { Doors, TransportAdapter } from '../doors.ts'
import { narrowingInRequest } from '../narrowing.ts'
import { describeWebSocket } from '../ws/asyncapi.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; set by the guard on every route that needs a token. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** Answered without a token. */
    open?: boolean
    /** Nothing of the body is stored as it is, so a number may lose digits. */
    rounds?: boolean
  }
}

/** A handler of bare requests that shares the port; `/mcp` is one. */
export interface RawRoute {
  path: string
  /** Never rejects: it answers its own errors. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Ends what would stay open for good. Resolves once what runs is answered. */
  stop(): Promise<void>
}

export interface HttpOptions {
  kernel: Kernel
  doors: Doors
  version: string
  raw?: readonly RawRoute[]
}

/** `start` takes the server, listening or not, and answers its requests from then on. */
export function createHttpTransport(options: HttpOptions): TransportAdapter<Server> {
  const streams = new Set<{ end(): void }>()
  let app: FastifyInstance | null = null
  let stopping = false
  let underway = 0
  let idle: (() => void) | null = null

  const onRequest = (handler: (request: IncomingMessage, response: ServerResponse) => void) => {
    return (request: IncomingMessage, response: ServerResponse) => {
      underway++
      whenClosed(response, () => {
        underway--
        if (underway === 0) idle?.()
      })
      if (stopping) {
        refuseWhileStopping(options.doors, request, response)
        return
      }
      const raw = options.raw?.find(({ path }) => isPath(request.url ?? '', path))
      if (raw === undefined) handler(request, response)
      else void raw.handle(request, response)
    }
  }

  return {
    name: 'http',
    async start(server) {
      server.keepAliveTimeout = LIMITS.http_keep_alive_ms
      app = build(options, server, onRequest, streams)
      await app.ready()
    },
    async stop() {
      stopping = true
      for (const stream of streams) stream.end()
      await Promise.all((options.raw ?? []).map((raw) => raw.stop()))
      if (underway > 0) await new Promise<void>((resolve) => (idle = resolve))
      await app?.close()
    },
  }
}

function build(
  { kernel, doors, version }: HttpOptions,
  server: Server,
  onRequest: (
    handler: (request: IncomingMessage, response: ServerResponse) => void,
  ) => (request: IncomingMessage, response: ServerResponse) => void,
  streams: Set<{ end(): void }>,
): FastifyInstance {
  const app = fastify({
    bodyLimit: LIMITS.body_bytes_max,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    serverFactory: (handler) => server.on('request', onRequest(handler)),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, doors),
    frameworkErrors: (error, request, reply) => void answerError(doors, error, request, reply),
  })
  app.decorateRequest('caller', null as unknown as Caller)
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.open === true) checkOrigin(request.headers, doors.ownHosts())
    else request.caller = admit(request.raw, doors, { token_in_query: false })
  })
  app.setErrorHandler((error, request, reply) => answerError(doors, error, request, reply))
  app.setNotFoundHandler((request) => {
    throw unknownRoute(kernel, request)
  })
  acceptEmptyJson(app)
  addFixedRoutes(app, kernel, doors, version, streams)
  for (const route of projectHttp(kernel.registry)) {
    app.route({
      method: route.method,
      url: route.url,
      handler: (request, reply) => action(kernel, route, request, reply),
    })
  }
  return app
}

/** Where an action was meant, it is told as by every other way in which there is. */
function unknownRoute({ registry }: Kernel, { method, url }: FastifyRequest): TurnbellError {
  const path = url.split('?')[0] ?? ''
  const [, facade, action] = /^\/api\/(\w+)\/(\w+)$/.exec(path) ?? []
  const detail = `There is no ${method} ${path}.`
  if (facade === undefined || action === undefined) return new TurnbellError('route_unknown', { detail })
  const found = registry.resolve(facade, action)
  return new TurnbellError('route_unknown', {
    detail,
    hint: `There is POST /api/${found.facade.name}/${found.name}.`,
  })
}

/** An action without parameters may be called with an empty body, whatever its content type says. */
function acceptEmptyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    void parse(request, body as string, (error, value) => {
      if (error !== null) return done(error)
      const inexact = request.routeOptions.config.rounds === true ? null : inexactNumber(body as string)
      const why = isDeeper(value, LIMITS.wire_depth_max)
        ? `The body is nested more than ${LIMITS.wire_depth_max} deep.`
        : inexact && new InexactNumberError(inexact).message
      if (why === null) done(null, value)
      else done(new TurnbellError('params_invalid', { detail: why }))
    })
  })
}

function addFixedRoutes(
  app: FastifyInstance,
  kernel: Kernel,
  doors: Doors,
  version: string,
  streams: Set<{ end(): void }>,
): void {
  const open = { config: { open: true } }
  const listed = ({ caller, raw }: FastifyRequest) => kernel.permitted(caller, narrowingInRequest(raw))
  // Asked for by people who write a client, seldom enough not to be made at every start.
  let openapi: string | null = null
  let asyncapi: string | null = null
  const json = (reply: FastifyReply, text: string) => reply.type('application/json; charset=utf-8').send(text)

  app.get('/', open, (_, reply) => reply.type('text/html; charset=utf-8').send(PAGE))
  app.get('/health', open, () => ({ ...doors.health(), tool_count: kernel.registry.actions.length }))
  app.get('/ready', open, (request, reply) => {
    const { ready, reason } = doors.readiness()
    if (ready) return { ready, reason }
    const refused = new TurnbellError('hub_not_ready', { detail: reason ?? 'The hub is not ready.' })
    void reply.code(503).type(PROBLEM_TYPE)
    return { ...problemOf(refused, doors, request.url), ready, reason }
  })
  app.get('/metrics', async (_, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await doors.metricsText()),
  )
  app.post('/call', (request, reply) => call(kernel, request, reply))
  app.post('/batch', (request, reply) => batch(kernel, request, reply))
  app.get('/facades', (request) => ({ facades: describeFacades(listed(request)) }))
  app.get('/tools', (request) => ({ tools: describeTools(listed(request)) }))
  app.get('/openapi.json', (_, reply) => {
    openapi ??= JSON.stringify(projectOpenApi(kernel.registry, version, Object.values(FIXED_ROUTES)))
    return json(reply, openapi)
  })
  app.get('/asyncapi.json', (_, reply) =>
    json(reply, (asyncapi ??= JSON.stringify(describeWebSocket(version)))),
  )
  app.get('/events', (request, reply) => events(doors, streams, request, reply))
  app.post<{ Params: { client: string } }>('/hook/:client', { config: { rounds: true } }, (request) =>
    hook(kernel, doors, request),
  )
  app.post('/session/end', async ({ caller, body }) => {
    parsed(Nothing, body)
    await doors.endSession(caller)
    return {}
  })
  void app.register(async (scope) => {
    await scope.register(rateLimit, {
      max: LIMITS.token_requests_per_minute_max,
      timeWindow: 60_000,
      store: requestWindows(doors.clock),
      errorResponseBuilder: () =>
        new TurnbellError('rate_limited', {
          detail: `More than ${LIMITS.token_requests_per_minute_max} token requests a minute.`,
        }),
    })
    scope.post('/auth/token', (request) =>
      doors.issueToken(request.caller, parsed(TokenRequest, request.body)),
    )
  })
}

function events(
  doors: Doors,
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
    const query = { ...filter, ...(from === undefined ? {} : { since: from }), limit }
    return readPage(doors.events, request.caller, query)
  }
  if (streams.size >= LIMITS.event_streams_max) {
    throw new TurnbellError('limit_reached', {
      detail: `${LIMITS.event_streams_max} event streams are open.`,
    })
  }
  const resume = request.headers['last-event-id']
  const from = position(typeof resume === 'string' ? resume : since)
  reply.hijack()
  const stream = streamEvents(reply.raw, request.caller, filter, from, doors)
  streams.add(stream)
  whenClosed(reply.raw, () => streams.delete(stream))
  return reply
}

async function hook(
  kernel: Kernel,
  doors: Doors,
  request: FastifyRequest<{ Params: { client: string } }>,
): Promise<object> {
  const { client } = request.params
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
  doors.events.append({ type: 'hook', agent_id: request.caller.identity, data })
  return hookContext(kernel, request.caller, body as Record<string, unknown>)
}

function answerError(
  doors: Doors,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const problem = problemOf(error, doors, request.url)
  if (problem.status === 401) void reply.header('www-authenticate', 'Bearer')
  return reply.code(problem.status).type(PROBLEM_TYPE).send(problem)
}

function refuseWhileStopping(doors: Doors, request: IncomingMessage, response: ServerResponse): void {
  const refused = new TurnbellError('hub_stopping', { detail: 'The hub takes no new requests.' })
  response.setHeader('connection', 'close')
  sendProblem(response, problemOf(refused, doors, request.url ?? ''))
}

function isPath(url: string, path: string): boolean {
  return url === path || (url.startsWith(path) && (url[path.length] === '?' || url[path.length] === '/'))
}

const PAGE =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>turnbell</title>' +
  '<p>This is a turnbell hub. <a href="/health">Health</a>. Everything else needs a token.</p></html>\n'
