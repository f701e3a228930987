/**
 * The one error class, and the one converter to what the outside sees
 * (RFC 9457 problem details, with a few members of our own).
 *
 * Refusals are thrown as `TurnbellError` and told apart by `code`. Anything else that is thrown is a
 * bug and becomes `internal`; its `instance` finds the log line, where the stack stays.
 */
import { z } from 'zod'
import { ERRORS, ErrorClass, type ErrorCode, type ErrorSpec, Retry } from './error-catalogue.ts'
import { nearest } from './names.ts'

export type { ErrorCode } from './error-catalogue.ts'

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

/** On every refusal, whichever copy of this file made it. */
const REFUSAL = Symbol.for('turnbell.refusal')

/** A refusal. `detail` says what was wrong this time; the catalogue says the rest. */
export class TurnbellError extends Error {
  readonly code: ErrorCode
  readonly detail: string
  readonly hint: string

  /** A plugin that imports `turnbell/plugin` has another copy of this class than the hub that it runs in. */
  static override [Symbol.hasInstance](value: unknown): value is TurnbellError {
    if (typeof value !== 'object' || value === null || !(REFUSAL in value)) return false
    return Object.hasOwn(ERRORS, (value as { code?: PropertyKey }).code ?? '')
  }

  /** Throws a `TypeError` for a code that is none: a plugin may be written without types. */
  constructor(code: ErrorCode, options: ErrorOptions) {
    if (!Object.hasOwn(ERRORS, code)) throw new TypeError(noCode(code))
    super(`${code}: ${options.detail}`, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'TurnbellError'
    Object.defineProperty(this, REFUSAL, { value: true })
    this.code = code
    this.detail = options.detail
    this.hint = options.hint ?? ERRORS[code].hint
  }
}

function noCode(code: string): string {
  const meant = nearest(code, Object.keys(ERRORS))
  const guess = meant === null ? '' : ` (did you mean ${meant}?)`
  return `a refusal has one of turnbell's error codes, and ${JSON.stringify(code)} is none${guess}; see docs/reference.md, Errors`
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
  const code: ErrorCode = Object.hasOwn(ERRORS, problem.code) ? (problem.code as ErrorCode) : 'internal'
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
