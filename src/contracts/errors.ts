/**
 * The one error class, and the one converter to what the outside sees
 * (RFC 9457 problem details, with a few members of our own).
 *
 * Refusals are thrown as `TurnbellError` and told apart by `code`. Anything else that is thrown is a
 * bug and becomes `internal`; its `instance` finds the log line, where the stack stays.
 */
import * as z from 'zod'
import { ERROR_CLASSES, ERRORS, RETRIES, type ErrorCode, type ErrorSpec } from './error-catalogue.ts'
import { TurnbellError } from './turnbell-error.ts'

export type { ErrorCode } from './error-catalogue.ts'
export { TurnbellError } from './turnbell-error.ts'

export const ErrorClass = z.enum(ERROR_CLASSES)
export const Retry = z.enum(RETRIES)

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

/**
 * The only converter. The title is the one of the catalogue, except for `usage_invalid`: every such error is a
 * mistake of its own in a command line, so its detail is also its title. `instance` is the id under which the caller logs
 * the error.
 */
export function toProblem(error: unknown, instance: string): Problem {
  const known = error instanceof TurnbellError
  const code: ErrorCode = known ? error.code : 'internal'
  const spec: ErrorSpec = ERRORS[code]
  return {
    type: `urn:turnbell:error:${code}`,
    title: code === 'usage_invalid' && known ? asTitle(error.detail) : spec.title,
    status: spec.status,
    detail: known ? error.detail : 'An unexpected error; the log has its stack.',
    instance: `urn:turnbell:instance:${instance}`,
    code,
    error_class: spec.error_class,
    retry: spec.retry,
    hint: known ? error.hint : spec.hint,
  }
}

/** A sentence as a title: a capital letter first, no full stop. */
function asTitle(sentence: string): string {
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`.replace(/\.$/, '')
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
