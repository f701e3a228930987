/**
 * One HTTP request, to an address on the leash. Secrets come from the environment by name and go into headers;
 * wherever an answer repeats one, it is taken out again.
 */
import * as z from 'zod'
import type { Reach } from '../reach.ts'
import { defineStep } from '../step-type.ts'
import { errorWithout, without, type Secrets } from './unsaid.ts'
import { TurnbellError } from '../../../contracts/errors.ts'
import { fitted } from '../../../contracts/fit.ts'
import { Json } from '../../../contracts/ids.ts'
import { exactJsonIn } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { RequestHeaders, RequestUrl } from '../../../contracts/step-secrets.ts'
import type { WebAnswer, WebRequest } from '../../../ports/web.ts'

const READS: readonly string[] = ['GET', 'HEAD']
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]
/** Sessions of others. */
const KEPT_BACK: readonly string[] = ['set-cookie']

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
      /** A text as it is; anything else as JSON. */
      body: Json.optional(),
      timeout_ms: z.number().int().min(100).max(LIMITS.web_answer_ms_max).default(LIMITS.web_answer_ms),
      /** Otherwise any 2xx. */
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
      ...{ url, method, timeout_ms },
      headers: {
        ...(body === undefined || typeof body === 'string' || typed
          ? {}
          : { 'content-type': 'application/json' }),
        ...secrets.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }
    const { answer, from } = await answered(request, reach).catch((error: unknown) => {
      throw errorWithout(secrets.values, error)
    })
    const { status } = answer
    const result = shown(answer, from, secrets.values)
    const expected = expect_status === undefined ? status >= 200 && status < 300 : status === expect_status
    if (expected) return { result }
    const wanted = expect_status ?? '2xx'
    const place = without(secrets.values, placeOf(from))
    const detail = `${method} ${place} was answered with ${status}, not ${wanted}.`
    return { result, failure: new TurnbellError('request_failed', { detail }) }
  },
})

type Request = Omit<WebRequest, 'answer_bytes_max'>

/** What only reads follows redirects, each judged like the first address. */
async function answered(first: Request, reach: Reach): Promise<{ answer: WebAnswer; from: URL }> {
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
      url: fitted(RequestUrl, next.href),
      // Who was trusted with these is another.
      headers: next.origin === from.origin ? request.headers : {},
    }
  }
}

/** The headers with their secrets, and the secrets by themselves. Throws `leash_forbidden` and `params_invalid`. */
function secretsIn(headers: z.output<typeof RequestHeaders>, reach: Reach) {
  const values = new Map<string, string>()
  const spoken = Object.entries(headers).map(([name, value]) => {
    if (typeof value === 'string') return [name, value] as const
    const secret = reach.secret(value.$env)
    values.set(value.$env, secret)
    return [name, (value.prefix ?? '') + secret] as const
  })
  return { headers: Object.fromEntries(spoken) as Record<string, string>, values }
}

function shown(answer: WebAnswer, from: URL, secrets: Secrets): Json {
  const { status, cut } = answer
  const headers = Object.entries(answer.headers).filter(([name]) => !KEPT_BACK.includes(name))
  const text = without(secrets, answer.body, cut)
  const json = /\bjson\b/i.test(answer.headers['content-type'] ?? '') && !cut ? exactJsonIn(text) : null
  return {
    status,
    url: without(secrets, placeOf(from)),
    headers: Object.fromEntries(headers.map(([name, value]) => [name, without(secrets, value)])),
    ...(json === null ? { body: text } : { json: jsonWithout(secrets, json as Json) }),
    cut,
  }
}

/** JSON can spell a text in more ways than can be listed; read, it has one. */
function jsonWithout(secrets: Secrets, value: Json): Json {
  if (typeof value === 'string') return without(secrets, value)
  if (Array.isArray(value)) return value.map((one) => jsonWithout(secrets, one))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, one]) => [
    without(secrets, name),
    jsonWithout(secrets, one),
  ])
  return Object.fromEntries(members) as Json
}

/** What a query says may be meant for the server alone. */
function placeOf({ origin, pathname }: URL): string {
  return origin + pathname
}
