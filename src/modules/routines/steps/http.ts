/**
 * Makes one HTTP request to an address allowed by the sandbox policy. Headers may contain secrets from the environment,
 * which are redacted in the result.
 */
import * as z from 'zod'
import type { Reach } from '../sandbox.ts'
import { defineStep } from '../step-type.ts'
import { redact, redactError, type Secrets } from './redact.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { parseParams } from '../../../contracts/validation/parse-params.ts'
import { Json } from '../../../contracts/ids.ts'
import { parseExactJsonOrNull } from '../../../contracts/validation/json.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { RequestHeaders, RequestUrl } from '../../../contracts/runs/step-secrets.ts'
import type { WebResponse, WebRequest } from '../../../ports/web.ts'

const READS: readonly string[] = ['GET', 'HEAD']
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]
/** Not shown, because they may contain sessions. */
const HIDDEN_HEADERS: readonly string[] = ['set-cookie']

export const httpStep = defineStep({
  name: 'http',
  summary: 'Makes an HTTP request: status, headers and body (as `json` where it is JSON) are the result.',
  mutates: ({ method }) => !READS.includes(method),
  leash: 'network',
  input: z
    .strictObject({
      url: RequestUrl,
      method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
      /** A secret by its name: `{"authorization": {"$env": "API_TOKEN", "prefix": "Bearer "}}`. */
      headers: RequestHeaders.default({}),
      /** Text is sent unchanged, any other value as JSON. */
      body: Json.optional(),
      timeout_ms: z.number().int().min(100).max(LIMITS.web_answer_ms_max).default(LIMITS.web_answer_ms),
      /** Default: any 2xx. */
      expect_status: z.number().int().min(100).max(599).optional(),
    })
    .refine(({ method, body }) => body === undefined || !READS.includes(method), {
      path: ['body'],
      message: 'a method that takes a body',
    }),
  check({ url, headers }, { reach }) {
    reach.permitAddress(new URL(url))
    secretsIn(headers, reach)
  },
  async run(input, { reach }) {
    const { url, method, body, timeout_ms, expect_status } = input
    reach.permitAddress(new URL(url))
    const secrets = secretsIn(input.headers, reach)
    const typed = Object.keys(input.headers).some((name) => name.toLowerCase() === 'content-type')
    const request = {
      url,
      method,
      timeout_ms,
      headers: {
        ...(body === undefined || typeof body === 'string' || typed
          ? {}
          : { 'content-type': 'application/json' }),
        ...secrets.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }
    const { answer, from } = await answered(request, reach).catch((error: unknown) => {
      throw redactError(secrets.values, error)
    })
    const { status } = answer
    const result = shown(answer, from, secrets.values)
    const expected = expect_status === undefined ? status >= 200 && status < 300 : status === expect_status
    if (expected) return { result }
    const wanted = expect_status ?? '2xx'
    const place = redact(secrets.values, placeOf(from))
    const detail = `${method} ${place} returned status ${status}, not ${wanted}.`
    return { result, failure: new TurnbellError('request_failed', { detail }) }
  },
})

type Request = Omit<WebRequest, 'response_bytes_max'>

/** Follows redirects of reads; each address is checked as the first one. */
async function answered(first: Request, reach: Reach): Promise<{ answer: WebResponse; from: URL }> {
  let request = first
  for (let followed = 0; ; followed++) {
    const answer = await reach.request(request)
    const from = new URL(request.url)
    const location = answer.headers['location']
    const leads =
      REDIRECTS.includes(answer.status) && location !== undefined && READS.includes(request.method)
    if (!leads || followed === LIMITS.web_redirects_max) return { answer, from }
    const next = URL.canParse(location, from.href) ? new URL(location, from) : null
    if (next === null) return { answer, from }
    request = {
      ...request,
      url: parseParams(RequestUrl, next.href),
      // Headers may contain secrets for the first origin only.
      headers: next.origin === from.origin ? request.headers : {},
    }
  }
}

/** Returns the headers with their secrets, and the secrets. Throws `leash_forbidden` and `params_invalid`. */
function secretsIn(headers: z.output<typeof RequestHeaders>, reach: Reach) {
  const values = new Map<string, string>()
  const resolved = Object.entries(headers).map(([name, value]) => {
    if (typeof value === 'string') return [name, value] as const
    const secret = reach.secret(value.$env)
    values.set(value.$env, secret)
    return [name, (value.prefix ?? '') + secret] as const
  })
  return { headers: Object.fromEntries(resolved) as Record<string, string>, values }
}

function shown(answer: WebResponse, from: URL, secrets: Secrets): Json {
  const { status, truncated: cut } = answer
  const headers = Object.entries(answer.headers).filter(([name]) => !HIDDEN_HEADERS.includes(name))
  const text = redact(secrets, answer.body, cut)
  const json =
    /\bjson\b/i.test(answer.headers['content-type'] ?? '') && !cut ? parseExactJsonOrNull(text) : null
  return {
    status,
    url: redact(secrets, placeOf(from)),
    headers: Object.fromEntries(headers.map(([name, value]) => [name, redact(secrets, value)])),
    ...(json === null ? { body: text } : { json: redactJson(secrets, json as Json) }),
    cut,
  }
}

/** Redacts parsed JSON, because JSON has too many spellings of one text. */
function redactJson(secrets: Secrets, value: Json): Json {
  if (typeof value === 'string') return redact(secrets, value)
  if (Array.isArray(value)) return value.map((one) => redactJson(secrets, one))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, one]) => [
    redact(secrets, name),
    redactJson(secrets, one),
  ])
  return Object.fromEntries(members) as Json
}

/** Without the query, which may be confidential. */
function placeOf({ origin, pathname }: URL): string {
  return origin + pathname
}
