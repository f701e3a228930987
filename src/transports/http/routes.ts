/** Routes that are not actions of a facade. The same table is used for serving and for OpenAPI. */
import * as z from 'zod'
import { ActivityReceipt, ActivityReport } from '../../contracts/activity/event.ts'
import { HookAnswer } from '../../contracts/spool/hook.ts'
import type { FixedRoute } from '../../kernel/projections/project-http.ts'
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
import { TeamView } from '../../contracts/team-view.ts'
import { TokenAnswer, TokenRequest } from '../../contracts/token.ts'

/** An object without fields, because the token contains everything. */
export const Nothing = z.strictObject({})

const Listing = (name: string) => z.object({ [name]: z.array(z.record(z.string(), z.unknown())) })

export const FIXED_ROUTES = {
  health: {
    method: 'get',
    path: '/health',
    summary: 'Liveness of the hub, and the number of connected clients.',
    open: true,
    answer: Health,
    errors: ['origin_forbidden'],
  },
  ready: {
    method: 'get',
    path: '/ready',
    summary: '200 once recovery is complete and the store is writable, else 503.',
    open: true,
    answer: Readiness,
    errors: ['hub_not_ready', 'origin_forbidden'],
  },
  metrics: {
    method: 'get',
    path: '/metrics',
    summary: 'Metrics of the hub and the last reported metrics of every daemon, as Prometheus text.',
    answer: 'text/plain',
    errors: [],
  },
  call: {
    method: 'post',
    path: '/call',
    summary: 'Call one action, by facade and action or by a former direct name.',
    body: CallRequest,
    answer: CallAnswer,
    errors: ['request_invalid', 'body_too_large', 'facade_unknown', 'action_unknown', 'params_invalid'],
  },
  batch: {
    method: 'post',
    path: '/batch',
    summary: 'Call several actions in parallel; answers are in order, each with its own error.',
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
      'Events that the caller may read: a JSON page, or server-sent events with Accept: text/event-stream.',
    query: EventsQuery,
    answer: EventsPage,
    errors: ['request_invalid', 'limit_reached'],
  },
  hook: {
    method: 'post',
    path: '/hook/:client',
    summary:
      "Report a client's hook payload, for activity capture. SessionStart returns the primer for the model.",
    body: z.record(z.string(), z.unknown()),
    answer: HookAnswer,
    errors: ['request_invalid', 'body_too_large', 'kind_forbidden'],
  },
  activity: {
    method: 'post',
    path: '/activity',
    summary:
      'Report what an agent does, numbered per session. Stores each number once. Never waits: 202 with `dropped` if it cannot be stored.',
    body: ActivityReport,
    answer: ActivityReceipt,
    errors: ['request_invalid', 'body_too_large', 'kind_forbidden', 'identity_mismatch'],
  },
  team: {
    method: 'get',
    path: '/team',
    summary:
      "What a client shows next to the session of the caller's agent: its queue, its team and the person's inbox, as names, counts and signal ids.",
    answer: TeamView,
    errors: ['kind_forbidden', 'facet_forbidden', 'facade_forbidden', 'store_unavailable'],
  },
  token: {
    method: 'post',
    path: '/auth/token',
    summary: 'Issue a signed token for a persona and kind: for the operator, or to renew the own token.',
    body: TokenRequest,
    answer: TokenAnswer,
    errors: ['request_invalid', 'operator_required', 'identity_mismatch', 'rate_limited'],
  },
  session_end: {
    method: 'post',
    path: '/session/end',
    summary: "End the session of the caller's token: its locks and its unconfirmed signals are released.",
    body: Nothing,
    answer: Nothing,
    errors: ['request_invalid', 'kind_forbidden', 'store_unavailable'],
  },
} as const satisfies Record<string, FixedRoute>
