/** The bounds that a request sets itself, in the forms in which transports are told them. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { rightSpelling, SPELLINGS, boundsMeant, type Place } from './bound-names.ts'
import { narrower } from '../kernel/policy.ts'
import { Narrowing } from '../contracts/http.ts'
import { TurnbellError } from '../contracts/errors.ts'

const HINTS: Record<Place, string> = {
  header: 'Correct the header, or leave it out where nothing is to be held back.',
  query: 'Correct the query of the address, or leave it out where nothing is to be held back.',
  _meta: 'Correct `_meta` of the request, or leave it out where nothing is to be held back.',
}

/** Of the headers and of the address together. Throws `request_invalid`. */
export function narrowingInRequest({
  url,
  headers,
}: Pick<IncomingMessage, 'url' | 'headers'>): Narrowing | undefined {
  const told = narrowingInHeaders(headers)
  const query = queryOf(url)
  const asked = query === null ? undefined : narrowingInQuery(query)
  return told === undefined || asked === undefined ? (told ?? asked) : narrower(asked, told)
}

/** `X-Facets`, `X-Facades`, `X-Intent` (comma-separated) and `X-Read-Only`. Throws `request_invalid`. */
export function narrowingInHeaders(headers: IncomingHttpHeaders): Narrowing | undefined {
  for (const name in headers) refuseMisspelt(name, 'header')
  // Of a header that is told twice node makes one, with a comma.
  return narrowingInTexts('header', (name) => {
    const told = headers[name]
    return typeof told === 'string' ? [told] : (told ?? [])
  })
}

/**
 * `?facet=`, `?facade=`, `?intent=`, each several times or with commas, also as `?facets=` and so on, and
 * `?read_only=`. Throws `request_invalid`.
 */
export function narrowingInQuery(query: URLSearchParams): Narrowing | undefined {
  for (const name of query.keys()) refuseMisspelt(name, 'query')
  return narrowingInTexts('query', (name) => query.getAll(name))
}

/** `facets`, `facades`, `intents` and `read_only` of a request's `_meta`. Throws `request_invalid`. */
export function narrowingInMeta(meta: Record<string, unknown>): Narrowing | undefined {
  for (const key in meta) refuseMisspelt(key, '_meta')
  const { facets, facades, intents, read_only } = meta
  return narrowingOf({ facets, facades, intents, read_only }, '_meta')
}

/** For what has calls with bounds of their own. Throws `request_invalid` where a request sets any for all of them. */
export function refuseBounds({ url, headers }: Pick<IncomingMessage, 'url' | 'headers'>, hint: string): void {
  const names = [...Object.keys(headers), ...(queryOf(url)?.keys() ?? [])]
  const found = names.find((name) => boundsMeant(name) !== null)
  if (found === undefined) return
  throw new TurnbellError('request_invalid', { detail: `${found}: bounds are not taken here`, hint })
}

/** Null where the address has none. */
export function queryOf(url = ''): URLSearchParams | null {
  const at = url.indexOf('?')
  return at < 0 ? null : new URLSearchParams(url.slice(at))
}

/** A bound that is only spelled otherwise must not be none. */
function refuseMisspelt(key: string, place: Place): void {
  const right = rightSpelling(key, place)
  if (right === null) return
  const where = place === '_meta' ? '_meta.' : ''
  throw new TurnbellError('request_invalid', {
    detail: `${where}${key}: no bound is spelled so; expected ${right}`,
    hint: HINTS[place],
  })
}

function narrowingInTexts(
  place: 'header' | 'query',
  told: (name: string) => readonly string[],
): Narrowing | undefined {
  const { facets, facades, intents, read_only } = SPELLINGS[place]
  const list = (names: readonly string[]) => {
    const texts = names.flatMap(told)
    return texts.length === 0 ? undefined : texts.flatMap((text) => text.split(',').map((one) => one.trim()))
  }
  const bounds = {
    ...{ facets: list(facets), facades: list(facades), intents: list(intents) },
    read_only: flag(read_only.flatMap(told), place),
  }
  return narrowingOf(bounds, place)
}

/** What holds nothing back although it was meant to is worse than a refusal. */
function narrowingOf(told: Record<keyof Narrowing, unknown>, place: Place): Narrowing | undefined {
  const { facets, facades, intents, read_only } = told
  if (facets === undefined && facades === undefined && intents === undefined && read_only === undefined)
    return undefined
  const given = Object.entries(told).filter(([, value]) => value !== undefined)
  const parsed = Narrowing.safeParse(Object.fromEntries(given))
  if (parsed.success) return parsed.data
  const field = String(parsed.error.issues[0]?.path[0] ?? 'narrowing')
  const expected = field === 'read_only' ? 'true or false' : 'names of 1 to 128 characters, in a list'
  const detail = `${place === '_meta' ? '_meta.' : ''}${field}: expected ${expected}`
  throw new TurnbellError('request_invalid', { detail, hint: HINTS[place] })
}

/** Told twice, it is neither: whoever wrote the second meant something by it. */
function flag(texts: readonly string[], place: 'header' | 'query'): boolean | undefined {
  const [told, ...more] = texts
  if (told === undefined) return undefined
  if (more.length === 0 && (told === '1' || told === 'true')) return true
  if (more.length === 0 && (told === '0' || told === 'false')) return false
  const name = place === 'header' ? 'X-Read-Only' : 'read_only'
  throw new TurnbellError('request_invalid', {
    detail: `${name}: expected 1, true, 0 or false, once, found ${texts.map((text) => JSON.stringify(text)).join(' and ')}`,
    hint: HINTS[place],
  })
}
