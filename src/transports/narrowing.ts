/** The bounds that a request sets itself, in the forms in which transports are told them. */
import type { IncomingHttpHeaders } from 'node:http'
import { Narrowing } from '../contracts/http.ts'
import { TurnbellError } from '../contracts/errors.ts'

type Part = keyof typeof HINTS
const HINTS = {
  header: 'Correct the header, or leave it out where nothing is to be held back.',
  query: 'Correct the query of the address, or leave it out where nothing is to be held back.',
  _meta: 'Correct `_meta` of the request, or leave it out where nothing is to be held back.',
}

/** `X-Facets`, `X-Facades`, `X-Intent` (comma-separated) and `X-Read-Only`. Throws `request_invalid`. */
export function narrowingInHeaders(headers: IncomingHttpHeaders): Narrowing | undefined {
  const list = (name: string) => {
    const told = headers[name]
    return typeof told === 'string' ? told.split(',').map((one) => one.trim()) : undefined
  }
  const told = {
    facets: list('x-facets'),
    facades: list('x-facades'),
    intents: list('x-intent'),
    read_only: flag('X-Read-Only', headers['x-read-only'], 'header'),
  }
  return narrowingOf(told, 'header')
}

/**
 * `?facet=`, `?facade=`, `?intent=`, each several times or with commas, also as `?facets=` and so on, and
 * `?read_only=`: a bound that is only spelled otherwise must not be none. Throws `request_invalid`.
 */
export function narrowingInQuery(query: URLSearchParams): Narrowing | undefined {
  const list = (name: string) => {
    const told = [...query.getAll(name), ...query.getAll(`${name}s`)]
    return told.length === 0 ? undefined : told.flatMap((text) => text.split(',')).map((one) => one.trim())
  }
  const told = {
    facets: list('facet'),
    facades: list('facade'),
    intents: list('intent'),
    read_only: flag('read_only', query.get('read_only') ?? undefined, 'query'),
  }
  return narrowingOf(told, 'query')
}

/** `facets`, `facades`, `intents` and `read_only` of a request's `_meta`. Throws `request_invalid`. */
export function narrowingInMeta(meta: Record<string, unknown>): Narrowing | undefined {
  const { facets, facades, intents, read_only } = meta
  return narrowingOf({ facets, facades, intents, read_only }, '_meta', '_meta.')
}

/** What holds nothing back although it was meant to is worse than a refusal. `place` begins the field's name. */
function narrowingOf(told: Record<keyof Narrowing, unknown>, part: Part, place = ''): Narrowing | undefined {
  const { facets, facades, intents, read_only } = told
  if (facets === undefined && facades === undefined && intents === undefined && read_only === undefined)
    return undefined
  const given = Object.entries(told).filter(([, value]) => value !== undefined)
  const parsed = Narrowing.safeParse(Object.fromEntries(given))
  if (parsed.success) return parsed.data
  const field = String(parsed.error.issues[0]?.path[0] ?? 'narrowing')
  const expected = field === 'read_only' ? 'true or false' : 'names of 1 to 128 characters, in a list'
  const detail = `${place}${field}: expected ${expected}`
  throw new TurnbellError('request_invalid', { detail, hint: HINTS[part] })
}

function flag(name: string, told: string | string[] | undefined, part: Part): boolean | undefined {
  if (told === undefined) return undefined
  if (told === '1' || told === 'true') return true
  if (told === '0' || told === 'false') return false
  throw new TurnbellError('request_invalid', {
    detail: `${name}: expected 1, true, 0 or false, found ${JSON.stringify(told)}`,
    hint: HINTS[part],
  })
}
