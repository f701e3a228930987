/**
 * The error catalogue, the one error class, and the one converter to what the outside sees
 * (RFC 9457 problem details, with a few members of our own).
 *
 * Refusals are thrown as `TurnbellError` and told apart by `code`. Anything else that is thrown is a
 * bug and becomes `internal`; its `instance` finds the log line, where the stack stays.
 */
import { z } from 'zod'

export const ErrorClass = z.enum(['caller', 'auth', 'conflict', 'capacity', 'dependency', 'config', 'bug'])
export type ErrorClass = z.infer<typeof ErrorClass>
export const Retry = z.enum(['never', 'after_delay', 'after_rebind'])
export type Retry = z.infer<typeof Retry>

interface ErrorSpec {
  title: string
  error_class: ErrorClass
  status: number
  retry: Retry
  /** For the reader who must act next; a thrower that knows more overrides it. */
  hint: string
}

export const ERRORS = {
  // The caller's words
  params_invalid: {
    title: 'The parameters do not fit the action',
    error_class: 'caller',
    status: 400,
    retry: 'never',
    hint: 'Correct the named field and call again.',
  },
  frame_invalid: {
    title: 'The frame could not be understood',
    error_class: 'caller',
    status: 400,
    retry: 'never',
    hint: 'Send one JSON object of a documented frame type.',
  },
  request_invalid: {
    title: 'The request could not be understood',
    error_class: 'caller',
    status: 400,
    retry: 'never',
    hint: 'Check the body against /openapi.json.',
  },
  body_too_large: {
    title: 'The body is larger than the hub takes',
    error_class: 'caller',
    status: 413,
    retry: 'never',
    hint: 'Keep bodies under 1 MiB.',
  },
  payload_too_large: {
    title: 'The payload is larger than a signal carries',
    error_class: 'caller',
    status: 413,
    retry: 'never',
    hint: 'Keep payloads under 64 KiB: write the content to a file or to shared memory and send where it is.',
  },
  facade_unknown: {
    title: 'There is no such facade',
    error_class: 'caller',
    status: 404,
    retry: 'never',
    hint: 'GET /facades lists them.',
  },
  action_unknown: {
    title: 'The facade has no such action',
    error_class: 'caller',
    status: 404,
    retry: 'never',
    hint: 'Use one of the actions that the detail names.',
  },
  route_unknown: {
    title: 'There is no such route',
    error_class: 'caller',
    status: 404,
    retry: 'never',
    hint: 'GET /openapi.json lists the routes.',
  },
  unknown_verb: {
    title: 'The socket has no such method',
    error_class: 'caller',
    status: 404,
    retry: 'never',
    hint: 'The control socket knows status, notify_surface, resume_surface and shutdown.',
  },
  signal_unknown: {
    title: 'There is no such signal',
    error_class: 'caller',
    status: 404,
    retry: 'never',
    hint: 'It may be older than the retention; `signals inbox` lists what is kept.',
  },
  line_too_long: {
    title: 'The line is longer than the socket takes',
    error_class: 'caller',
    status: 413,
    retry: 'never',
    hint: 'Keep lines under 64 KiB.',
  },
  usage_invalid: {
    title: 'The command was not understood',
    error_class: 'caller',
    status: 400,
    retry: 'never',
    hint: 'See --help.',
  },

  // Who calls
  token_missing: {
    title: 'No token was presented',
    error_class: 'auth',
    status: 401,
    retry: 'never',
    hint: 'Send `Authorization: Bearer TOKEN`; `turnbell token create` makes one.',
  },
  token_invalid: {
    title: 'The token is not valid',
    error_class: 'auth',
    status: 401,
    retry: 'never',
    hint: 'Ask the operator for a new one: `turnbell token create`.',
  },
  token_expired: {
    title: 'The token has expired',
    error_class: 'auth',
    status: 401,
    retry: 'after_rebind',
    hint: 'Get a new token and connect again.',
  },
  kind_forbidden: {
    title: 'This kind of caller may not do that',
    error_class: 'auth',
    status: 403,
    retry: 'never',
    hint: "Call as the persona's agent; a daemon only rings, an observer only looks.",
  },
  identity_mismatch: {
    title: "The request names another persona than the caller's",
    error_class: 'auth',
    status: 403,
    retry: 'never',
    hint: 'Use the socket or token of the persona you mean.',
  },
  origin_forbidden: {
    title: 'The request came from another origin',
    error_class: 'auth',
    status: 403,
    retry: 'never',
    hint: 'Call the hub under the host name it listens on.',
  },
  operator_required: {
    title: 'Only the operator may do that',
    error_class: 'auth',
    status: 403,
    retry: 'never',
    hint: 'Use the operator token of this home.',
  },
  facade_forbidden: {
    title: 'The facade lies outside what this caller was given',
    error_class: 'auth',
    status: 403,
    retry: 'never',
    hint: 'Use one of the facades that the detail names.',
  },
  subagent_forbidden: {
    title: "A subagent may not take the main agent's signals",
    error_class: 'auth',
    status: 403,
    retry: 'never',
    hint: 'Go on with your task; the main agent drains at its own turn.',
  },

  // State
  target_unknown: {
    title: 'There is no such persona',
    error_class: 'caller',
    status: 404,
    retry: 'never',
    hint: 'Check the name with `turnbell persona list`.',
  },
  target_wrapped: {
    title: 'The persona is wrapped or removed',
    error_class: 'conflict',
    status: 409,
    retry: 'never',
    hint: 'Choose another persona, or bring it back with `turnbell persona add`.',
  },
  target_stale: {
    title: 'The session is no longer there',
    error_class: 'conflict',
    status: 409,
    retry: 'after_rebind',
    hint: 'Send to the persona without to_session.',
  },
  target_not_routable: {
    title: 'Nobody could be rung for this persona now',
    error_class: 'conflict',
    status: 409,
    retry: 'after_delay',
    hint: 'Send without require_live: the signal will wait.',
  },
  binding_stale: {
    title: 'A newer holder has taken this registration',
    error_class: 'conflict',
    status: 409,
    retry: 'after_rebind',
    hint: 'Close, and join again only if you are the one that should run.',
  },
  persona_wrapped: {
    title: 'This persona is wrapped or removed',
    error_class: 'conflict',
    status: 409,
    retry: 'never',
    hint: 'Bring it back with `turnbell persona add`.',
  },
  signal_state_conflict: {
    title: 'The signal is not in a state that allows this',
    error_class: 'conflict',
    status: 409,
    retry: 'never',
    hint: 'Read the signal to see where it stands.',
  },
  already_running: {
    title: 'Another process already runs here',
    error_class: 'conflict',
    status: 409,
    retry: 'never',
    hint: 'Stop the process that the detail names, or use another home.',
  },

  // Bounds
  queue_full: {
    title: "The persona's queue is full",
    error_class: 'capacity',
    status: 429,
    retry: 'after_delay',
    hint: 'Wait until the persona has drained.',
  },
  rate_limited: {
    title: 'Too many requests',
    error_class: 'capacity',
    status: 429,
    retry: 'after_delay',
    hint: 'Slow down.',
  },
  limit_reached: {
    title: 'A bound of the hub is reached',
    error_class: 'capacity',
    status: 429,
    retry: 'after_delay',
    hint: 'The detail names the bound.',
  },

  // What we stand on
  store_unavailable: {
    title: 'The store takes no writes',
    error_class: 'dependency',
    status: 503,
    retry: 'after_delay',
    hint: 'Look at the hub log: the disk is full, read-only or failing. The hub must be restarted once it is mended.',
  },
  store_damaged: {
    title: 'The journal is damaged',
    error_class: 'dependency',
    status: 500,
    retry: 'never',
    hint: 'Keep a copy, then `turnbell hub --repair` sets the damaged line aside.',
  },
  store_fenced: {
    title: 'Another hub has taken this store',
    error_class: 'dependency',
    status: 503,
    retry: 'never',
    hint: 'Only one hub may own a home; this one stops.',
  },
  hub_stopping: {
    title: 'The hub is stopping',
    error_class: 'dependency',
    status: 503,
    retry: 'after_delay',
    hint: 'Connect again when it is back.',
  },
  hub_unreachable: {
    title: 'The hub could not be reached',
    error_class: 'dependency',
    status: 503,
    retry: 'after_delay',
    hint: 'Start it with `turnbell hub` or `turnbell up`.',
  },
  daemon_unreachable: {
    title: 'The daemon could not be reached',
    error_class: 'dependency',
    status: 503,
    retry: 'after_delay',
    hint: 'Start it with `turnbell daemon --persona NAME`.',
  },
  timed_out: {
    title: 'No answer came in time',
    error_class: 'dependency',
    status: 504,
    retry: 'after_delay',
    hint: 'Try again; look at the log of the one that did not answer.',
  },

  // Set-up
  config_invalid: {
    title: 'The configuration is not valid',
    error_class: 'config',
    status: 500,
    retry: 'never',
    hint: 'Correct the key that the detail names.',
  },
  home_not_permitted: {
    title: 'The home directory cannot be used safely',
    error_class: 'config',
    status: 500,
    retry: 'never',
    hint: 'It must belong to you and be closed to others: chmod 700.',
  },
  bind_failed: {
    title: 'The address could not be bound',
    error_class: 'config',
    status: 500,
    retry: 'never',
    hint: 'Choose another port, or 0 for any.',
  },
  client_missing: {
    title: 'The client program was not found',
    error_class: 'config',
    status: 500,
    retry: 'never',
    hint: 'Install it, or name its path in the configuration.',
  },

  internal: {
    title: 'Something broke inside turnbell',
    error_class: 'bug',
    status: 500,
    retry: 'never',
    hint: 'Find the instance in the log and report it.',
  },
} as const satisfies Record<string, ErrorSpec>

export type ErrorCode = keyof typeof ERRORS
export const ErrorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]])

/** One shape for every error, everywhere. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  instance: z.string(),
  code: z.string(),
  error_class: ErrorClass,
  retry: Retry,
  hint: z.string(),
})
export type Problem = z.infer<typeof Problem>

export interface ErrorOptions {
  detail: string
  hint?: string
  cause?: unknown
}

/** A refusal. `detail` says what was wrong this time; the catalogue says the rest. */
export class TurnbellError extends Error {
  readonly code: ErrorCode
  readonly detail: string
  readonly hint: string

  constructor(code: ErrorCode, options: ErrorOptions) {
    super(`${code}: ${options.detail}`, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'TurnbellError'
    this.code = code
    this.detail = options.detail
    this.hint = options.hint ?? ERRORS[code].hint
  }
}

/** The only converter. `instance` is the id under which the caller logs the error. */
export function toProblem(error: unknown, instance: string): Problem {
  const known = error instanceof TurnbellError
  const code: ErrorCode = known ? error.code : 'internal'
  const spec: ErrorSpec = ERRORS[code]
  return {
    type: `urn:turnbell:error:${code}`,
    title: spec.title,
    status: spec.status,
    detail: known ? error.detail : 'An unexpected error; the log has its stack.',
    instance: `urn:turnbell:instance:${instance}`,
    code,
    error_class: spec.error_class,
    retry: spec.retry,
    hint: known ? error.hint : spec.hint,
  }
}

/** Turns a problem that came over a wire back into the error it was. */
export function fromProblem(problem: Problem): TurnbellError {
  const code: ErrorCode = problem.code in ERRORS ? (problem.code as ErrorCode) : 'internal'
  return new TurnbellError(code, { detail: problem.detail, hint: problem.hint })
}

/** A zod failure as one sentence a caller can act on: `params.to: expected string, found undefined`. */
export function describeIssues(error: z.ZodError, root = ''): string {
  return error.issues
    .slice(0, 5)
    .map((issue) => {
      const path = [root, ...issue.path.map(String)].filter(Boolean).join('.') || 'value'
      return `${path}: ${issue.message}`
    })
    .join('; ')
}
