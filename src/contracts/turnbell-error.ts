/** What a refusal is thrown as. Apart from `errors.ts`, which needs zod: a hook that is started thousands of times has no time for that. */
import { ERRORS, type ErrorCode } from './error-catalogue.ts'
import { nearest } from './names.ts'

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
