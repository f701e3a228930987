/**
 * Every code an error can have. One entry a code: how HTTP maps it, whose fault it is, whether trying
 * again helps, what happened, and what to do next.
 */
import { z } from 'zod'

export const ErrorClass = z.enum(['caller', 'auth', 'conflict', 'capacity', 'dependency', 'config', 'bug'])
export type ErrorClass = z.infer<typeof ErrorClass>
export const Retry = z.enum(['never', 'after_delay', 'after_rebind'])
export type Retry = z.infer<typeof Retry>

export interface ErrorSpec {
  title: string
  error_class: ErrorClass
  status: number
  retry: Retry
  /** For the reader who must act next; a thrower that knows more overrides it. */
  hint: string
}

// oxfmt-ignore
export const ERRORS = {
  // The caller's words
  params_invalid: { status: 400, error_class: 'caller', retry: 'never',
    title: 'The parameters do not fit the action',
    hint: 'Correct the named field and call again.' },
  frame_invalid: { status: 400, error_class: 'caller', retry: 'never',
    title: 'The frame could not be understood',
    hint: 'Send one JSON object of a documented frame type.' },
  request_invalid: { status: 400, error_class: 'caller', retry: 'never',
    title: 'The request could not be understood',
    hint: 'Check the body against /openapi.json.' },
  body_too_large: { status: 413, error_class: 'caller', retry: 'never',
    title: 'The body is larger than the hub takes',
    hint: 'Keep bodies under 1 MiB.' },
  payload_too_large: { status: 413, error_class: 'caller', retry: 'never',
    title: 'The payload is larger than a signal carries',
    hint: 'Keep payloads under 64 KiB: write the content to a file or to shared memory and send where it is.' },
  facade_unknown: { status: 404, error_class: 'caller', retry: 'never',
    title: 'There is no such facade',
    hint: 'GET /facades lists them.' },
  action_unknown: { status: 404, error_class: 'caller', retry: 'never',
    title: 'The facade has no such action',
    hint: 'Use one of the actions that the detail names.' },
  route_unknown: { status: 404, error_class: 'caller', retry: 'never',
    title: 'There is no such route',
    hint: 'GET /openapi.json lists the routes.' },
  unknown_verb: { status: 404, error_class: 'caller', retry: 'never',
    title: 'The socket has no such method',
    hint: 'The control socket knows status, notify_surface, resume_surface and shutdown.' },
  signal_unknown: { status: 404, error_class: 'caller', retry: 'never',
    title: 'There is no such signal',
    hint: 'It may be older than the retention; `signals inbox` lists what is kept.' },
  line_too_long: { status: 413, error_class: 'caller', retry: 'never',
    title: 'The line is longer than the socket takes',
    hint: 'Keep lines under 64 KiB.' },
  usage_invalid: { status: 400, error_class: 'caller', retry: 'never',
    title: 'The command was not understood',
    hint: 'See --help.' },

  // Who calls
  token_missing: { status: 401, error_class: 'auth', retry: 'never',
    title: 'No token was presented',
    hint: 'Send `Authorization: Bearer TOKEN`; `turnbell token create` makes one.' },
  token_invalid: { status: 401, error_class: 'auth', retry: 'never',
    title: 'The token is not valid',
    hint: 'Ask the operator for a new one: `turnbell token create`.' },
  token_expired: { status: 401, error_class: 'auth', retry: 'after_rebind',
    title: 'The token has expired',
    hint: 'Get a new token and connect again.' },
  kind_forbidden: { status: 403, error_class: 'auth', retry: 'never',
    title: 'This kind of caller may not do that',
    hint: 'Call as the persona\'s agent; a daemon only rings, an observer only looks.' },
  identity_mismatch: { status: 403, error_class: 'auth', retry: 'never',
    title: 'The request names another persona than the caller\'s',
    hint: 'Use the socket or token of the persona you mean.' },
  origin_forbidden: { status: 403, error_class: 'auth', retry: 'never',
    title: 'The request came from another origin',
    hint: 'Call the hub under the host name it listens on.' },
  operator_required: { status: 403, error_class: 'auth', retry: 'never',
    title: 'Only the operator may do that',
    hint: 'Use the operator token of this home.' },
  facade_forbidden: { status: 403, error_class: 'auth', retry: 'never',
    title: 'The facade lies outside what this caller was given',
    hint: 'Use one of the facades that the detail names.' },
  facet_forbidden: { status: 403, error_class: 'auth', retry: 'never',
    title: 'The facade belongs to a facet that is not exposed',
    hint: 'The operator exposes it: `mcp.expose` in the configuration, or TURNBELL_TOOLS.' },
  pro_required: { status: 403, error_class: 'auth', retry: 'never',
    title: 'Pro features are not switched on',
    hint: 'The operator switches them on: `mcp.pro` in the configuration, or TURNBELL_PRO=true.' },
  read_only: { status: 403, error_class: 'auth', retry: 'never',
    title: 'Only what changes nothing may be called here',
    hint: 'Look without changing, or call where writing is allowed.' },
  intent_unknown: { status: 404, error_class: 'caller', retry: 'never',
    title: 'There is no such intent',
    hint: 'Name one of those in `mcp.intents` of the configuration.' },
  subagent_forbidden: { status: 403, error_class: 'auth', retry: 'never',
    title: 'A subagent may not take the main agent\'s signals',
    hint: 'Go on with your task; the main agent drains at its own turn.' },

  // State
  target_unknown: { status: 404, error_class: 'caller', retry: 'never',
    title: 'There is no such persona',
    hint: 'Check the name with `turnbell persona list`.' },
  target_wrapped: { status: 409, error_class: 'conflict', retry: 'never',
    title: 'The persona is wrapped or removed',
    hint: 'Choose another persona, or bring it back with `turnbell persona add`.' },
  target_stale: { status: 409, error_class: 'conflict', retry: 'after_rebind',
    title: 'The session is no longer there',
    hint: 'Send to the persona without to_session.' },
  target_not_routable: { status: 409, error_class: 'conflict', retry: 'after_delay',
    title: 'Nobody could be rung for this persona now',
    hint: 'Send without require_live: the signal will wait.' },
  binding_stale: { status: 409, error_class: 'conflict', retry: 'after_rebind',
    title: 'A newer holder has taken this registration',
    hint: 'Close, and join again only if you are the one that should run.' },
  persona_wrapped: { status: 409, error_class: 'conflict', retry: 'never',
    title: 'This persona is wrapped or removed',
    hint: 'Bring it back with `turnbell persona add`.' },
  already_running: { status: 409, error_class: 'conflict', retry: 'never',
    title: 'Another process already runs here',
    hint: 'Stop the process that the detail names, or use another home.' },

  connection_taken: { status: 409, error_class: 'conflict', retry: 'never',
    title: 'Something else stands where turnbell would write',
    hint: 'Move it away, or disconnect what the detail names; then connect again.' },

  // Bounds
  queue_full: { status: 429, error_class: 'capacity', retry: 'after_delay',
    title: 'The persona\'s queue is full',
    hint: 'Wait until the persona has drained.' },
  rate_limited: { status: 429, error_class: 'capacity', retry: 'after_delay',
    title: 'Too many requests',
    hint: 'Slow down.' },
  limit_reached: { status: 429, error_class: 'capacity', retry: 'after_delay',
    title: 'A bound of the hub is reached',
    hint: 'The detail names the bound.' },

  // What we stand on
  store_unavailable: { status: 503, error_class: 'dependency', retry: 'after_delay',
    title: 'The store takes no writes',
    hint: 'Look at the hub log: the disk is full, read-only or failing. The hub must be restarted once it is mended.' },
  store_damaged: { status: 500, error_class: 'dependency', retry: 'never',
    title: 'The journal is damaged',
    hint: 'Keep a copy, then `turnbell hub --repair` sets the damaged line aside.' },
  store_fenced: { status: 503, error_class: 'dependency', retry: 'never',
    title: 'Another hub has taken this store',
    hint: 'Only one hub may own a home; this one stops.' },
  hub_not_ready: { status: 503, error_class: 'dependency', retry: 'after_delay',
    title: 'The hub is not ready',
    hint: 'Try again when GET /ready answers 200.' },
  hub_stopping: { status: 503, error_class: 'dependency', retry: 'after_delay',
    title: 'The hub is stopping',
    hint: 'Connect again when it is back.' },
  hub_unreachable: { status: 503, error_class: 'dependency', retry: 'after_delay',
    title: 'The hub could not be reached',
    hint: 'Start it with `turnbell hub` or `turnbell up`.' },
  daemon_unreachable: { status: 503, error_class: 'dependency', retry: 'after_delay',
    title: 'The daemon could not be reached',
    hint: 'Start it with `turnbell daemon --persona NAME`.' },
  timed_out: { status: 504, error_class: 'dependency', retry: 'after_delay',
    title: 'No answer came in time',
    hint: 'Try again; look at the log of the one that did not answer.' },

  // Set-up
  config_invalid: { status: 500, error_class: 'config', retry: 'never',
    title: 'The configuration is not valid',
    hint: 'Correct the key that the detail names.' },
  home_not_permitted: { status: 500, error_class: 'config', retry: 'never',
    title: 'The home directory cannot be used safely',
    hint: 'It must belong to you and be closed to others: chmod 700.' },
  bind_failed: { status: 500, error_class: 'config', retry: 'never',
    title: 'The address could not be bound',
    hint: 'Choose another port, or 0 for any.' },
  client_missing: { status: 500, error_class: 'config', retry: 'never',
    title: 'The client program was not found',
    hint: 'Install it, or name its path in the configuration.' },
  service_failed: { status: 500, error_class: 'config', retry: 'never',
    title: 'The service manager refused',
    hint: 'Do what its message says, then try again. Nothing was left behind.' },
  internal: { status: 500, error_class: 'bug', retry: 'never',
    title: 'Something broke inside turnbell',
    hint: 'Find the instance in the log and report it.' },
} as const satisfies Record<string, ErrorSpec>

export type ErrorCode = keyof typeof ERRORS
export const ErrorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]])
