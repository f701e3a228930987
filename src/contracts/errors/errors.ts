/**
 * The error class of turnbell, and its conversion to and from RFC 9457 problem details, extended with `code`, `error_class`, `retry` and `hint`.
 *
 * Expected errors are thrown as `TurnbellError` and identified by `code`. Any other error is a bug and becomes `internal`;
 * its `instance` is also in the log line that holds the stack.
 */
import * as z from 'zod'
import { ERROR_CLASSES, ERRORS, RETRIES, type ErrorCode, type ErrorSpec } from './error-catalogue.ts'
import { nearest } from '../text/names.ts'

export type { ErrorCode } from './error-catalogue.ts'

export interface ErrorOptions {
  detail: string
  hint?: string
  cause?: unknown
}

/** Marks every instance, also those of another copy of this class. */
const MARK = Symbol.for('turnbell.refusal')

/** An expected error. `detail` describes this occurrence; the catalogue has the title, status and default hint of the code. */
export class TurnbellError extends Error {
  readonly code: ErrorCode
  readonly detail: string
  readonly hint: string

  /** A plugin that imports `turnbell/plugin` has a different copy of this class than the hub. */
  static override [Symbol.hasInstance](value: unknown): value is TurnbellError {
    if (typeof value !== 'object' || value === null || !(MARK in value)) return false
    return Object.hasOwn(ERRORS, (value as { code?: PropertyKey }).code ?? '')
  }

  /** Throws a `TypeError` for an unknown code, because a plugin may be written in JavaScript. */
  constructor(code: ErrorCode, options: ErrorOptions) {
    if (!Object.hasOwn(ERRORS, code)) throw new TypeError(unknownCode(code))
    super(`${code}: ${options.detail}`, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'TurnbellError'
    Object.defineProperty(this, MARK, { value: true })
    this.code = code
    this.detail = options.detail
    this.hint = options.hint ?? ERRORS[code].hint
  }
}

function unknownCode(code: string): string {
  const similar = nearest(code, Object.keys(ERRORS))
  const suggestion = similar === null ? '' : ` (did you mean ${similar}?)`
  return `unknown error code ${JSON.stringify(code)}${suggestion}; see docs/reference/errors.md`
}

export const ErrorClass = z.enum(ERROR_CLASSES)
export const Retry = z.enum(RETRIES)

/** The error object of every transport. */
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

/**
 * Converts an error to a problem. `instance` is the id under which the caller logs the error. The title comes from the
 * catalogue, except for `usage_invalid`, whose detail is also its title.
 */
export function toProblem(error: unknown, instance: string): Problem {
  const expected = error instanceof TurnbellError
  const code: ErrorCode = expected ? error.code : 'internal'
  const spec: ErrorSpec = ERRORS[code]
  return {
    type: `urn:turnbell:error:${code}`,
    title: code === 'usage_invalid' && expected ? toTitle(error.detail) : spec.title,
    status: spec.status,
    detail: expected ? error.detail : 'An unexpected error occurred; the stack is in the log.',
    instance: `urn:turnbell:instance:${instance}`,
    code,
    error_class: spec.error_class,
    retry: spec.retry,
    hint: expected ? error.hint : spec.hint,
  }
}

/** Capitalizes a sentence and removes its full stop. */
function toTitle(sentence: string): string {
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`.replace(/\.$/, '')
}

/** Converts a received problem to an error. An unknown code becomes `internal`. */
export function fromProblem(problem: Problem): TurnbellError {
  const code: ErrorCode = Object.hasOwn(ERRORS, problem.code) ? (problem.code as ErrorCode) : 'internal'
  return new TurnbellError(code, { detail: problem.detail, hint: problem.hint })
}

/** Formats the first five zod issues as `params.to: expected string, found undefined; ...`. */
export function describeIssues(error: Pick<z.ZodError, 'issues'>, root = ''): string {
  return error.issues
    .slice(0, 5)
    .map((issue) => {
      const path = [root, ...issue.path.map(String)].filter(Boolean).join('.') || 'value'
      return `${path}: ${issue.message}`
    })
    .join('; ')
}
