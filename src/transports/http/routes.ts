/** The routes that are no action of a facade. One table: what is served is what OpenAPI says. */
import * as z from 'zod'
import { HookAnswer } from '../../contracts/hook.ts'
import type { FixedRoute } from '../../kernel/project-http.ts'
import {
  BatchAnswer,
  BatchRequest,
  CallAnswer,
  CallRequest,
  EventsPage,
  EventsQuery,
  Health,
  Readiness,
} from '../../contracts/http.ts'
import { TokenAnswer, TokenRequest } from '../../contracts/token.ts'

/** An object without fields: the token says it all. */
export const Nothing = z.strictObject({})

const Listing = (name: string) => z.object({ [name]: z.array(z.record(z.string(), z.unknown())) })

export const FIXED_ROUTES = {
  health: {
    method: 'get',
    path: '/health',
    summary: 'Whether the hub lives, and who is connected.',
    open: true,
    answer: Health,
    errors: ['origin_forbidden'],
  },
  ready: {
    method: 'get',
    path: '/ready',
    summary: '200 once recovery is complete and writes are taken, else 503.',
    open: true,
    answer: Readiness,
    errors: ['hub_not_ready', 'origin_forbidden'],
  },
  metrics: {
    method: 'get',
    path: '/metrics',
    summary: "Prometheus text: the hub's own metrics and every daemon's last set.",
    answer: 'text/plain',
    errors: [],
  },
  call: {
    method: 'post',
    path: '/call',
    summary: 'One action, by facade and action or by any old direct name.',
    body: CallRequest,
    answer: CallAnswer,
    errors: ['request_invalid', 'body_too_large', 'facade_unknown', 'action_unknown', 'params_invalid'],
  },
  batch: {
    method: 'post',
    path: '/batch',
    summary: 'Several actions in parallel, answered in order, each with its own error.',
    body: BatchRequest,
    answer: BatchAnswer,
    errors: ['request_invalid', 'body_too_large'],
  },
  facades: {
    method: 'get',
    path: '/facades',
    summary: 'Every facade with its actions.',
    answer: Listing('facades'),
    errors: [],
  },
  tools: {
    method: 'get',
    path: '/tools',
    summary: 'Every action with its schemas.',
    answer: Listing('tools'),
    errors: [],
  },
  openapi: {
    method: 'get',
    path: '/openapi.json',
    summary: 'This document.',
    answer: z.record(z.string(), z.unknown()),
    errors: [],
  },
  asyncapi: {
    method: 'get',
    path: '/asyncapi.json',
    summary: 'The WebSocket protocol of /ws as an AsyncAPI document.',
    answer: z.record(z.string(), z.unknown()),
    errors: [],
  },
  events: {
    method: 'get',
    path: '/events',
    summary:
      'The event stream, as far as the caller may hear it: a JSON page, or server-sent events with Accept: text/event-stream.',
    query: EventsQuery,
    answer: EventsPage,
    errors: ['request_invalid', 'limit_reached'],
  },
  hook: {
    method: 'post',
    path: '/hook/:client',
    summary: "A client's hook payload, for activity capture. SessionStart returns the primer for the model.",
    body: z.record(z.string(), z.unknown()),
    answer: HookAnswer,
    errors: ['request_invalid', 'body_too_large'],
  },
  token: {
    method: 'post',
    path: '/auth/token',
    summary: 'A signed token for a persona and kind: for the operator, or renewal of your own.',
    body: TokenRequest,
    answer: TokenAnswer,
    errors: ['request_invalid', 'operator_required', 'identity_mismatch', 'rate_limited'],
  },
  session_end: {
    method: 'post',
    path: '/session/end',
    summary:
      "The session of the caller's token is over: what it holds is free, what it drained and did not confirm goes back.",
    body: Nothing,
    answer: Nothing,
    errors: ['request_invalid', 'kind_forbidden', 'store_unavailable'],
  },
} as const satisfies Record<string, FixedRoute>
