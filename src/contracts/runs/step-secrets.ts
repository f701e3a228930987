/** References to secrets in steps. Steps are stored, shown and shared, so they must not contain secrets. */
import * as z from 'zod'

/** Takes the value from the hub's environment, if the sandbox policy allows it. */
export const SecretReference = z.strictObject({
  $env: z.string().min(1).max(128),
  /** Prefix of the value, such as `Bearer `. */
  prefix: z
    .string()
    .regex(/^[A-Za-z]{1,20} $/, 'expected one word and a space, such as "Bearer "')
    .optional(),
})
export type SecretReference = z.infer<typeof SecretReference>

/** Headers that control routing and framing of a request cannot be set. */
const FORBIDDEN_HEADER =
  /^(host|connection|content-length|transfer-encoding|keep-alive|upgrade|te|trailer|expect|proxy-connection)$/i
const SECRET_HEADER =
  /^((proxy-)?authorization|cookie)$|(^|-)(token|secret|password|auth)($|-)|(api|access|private)-?key|credential/i
const SECRET_PARAMETER = /^(access_?token|token|api_?key|password|passwd|secret|client_secret)$/i

const BY_REFERENCE = 'a reference such as {"$env": "API_TOKEN", "prefix": "Bearer "}, never the value itself'

/** Marks an issue whose value must not be repeated in its description. */
export const REDACTED = { redacted: true } as const

export const RequestHeaders = z
  .record(
    z
      .string()
      .max(128)
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'a header name is one word'),
    z.union([z.string().max(8_192), SecretReference]),
  )
  .superRefine((headers, context) => {
    for (const [name, value] of Object.entries(headers)) {
      if (FORBIDDEN_HEADER.test(name)) {
        context.addIssue({ code: 'custom', path: [name], message: 'a header that is yours to set' })
      }
      if (isLiteralSecret(name, value)) {
        context.addIssue({ code: 'custom', path: [name], message: BY_REFERENCE, params: REDACTED })
      }
    }
  })

/** URL without credentials. */
export const RequestUrl = z
  .string()
  .max(8_192)
  .superRefine((text, context) => {
    const url = URL.canParse(text) ? new URL(text) : null
    if (url === null || !/^https?:$/.test(url.protocol)) {
      context.addIssue({ code: 'custom', message: 'an http:// or https:// address' })
    } else if (url.username !== '' || url.password !== '') {
      context.addIssue({ code: 'custom', message: 'an address without user and password', params: REDACTED })
    } else if ([...url.searchParams.keys()].some((name) => SECRET_PARAMETER.test(name))) {
      const message = 'an address without a secret; a header can refer to one: {"$env": "API_TOKEN"}'
      context.addIssue({ code: 'custom', message, params: REDACTED })
    }
  })

/** Returns the literal secrets in a step. */
export function literalSecrets(step: {
  step: string
  with?: Record<string, unknown> | undefined
}): { path: string[]; message: string }[] {
  const headers = step.step === 'http' ? step.with?.['headers'] : undefined
  if (typeof headers !== 'object' || headers === null) return []
  return Object.entries(headers)
    .filter(([name, value]) => isLiteralSecret(name, value))
    .map(([name]) => ({ path: ['with', 'headers', name], message: BY_REFERENCE }))
}

function isLiteralSecret(name: string, value: unknown): boolean {
  return typeof value === 'string' && SECRET_HEADER.test(name)
}
