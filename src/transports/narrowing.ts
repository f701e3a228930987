/** Bounds that a request sets for itself: parsed from headers, from the query and from `_meta`. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { narrower } from '../kernel/policy.ts'
import { Narrowing } from '../contracts/http.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'

type Bound = keyof Narrowing
type Place = 'header' | 'query' | '_meta'

/** Accepted names of each bound. An error message shows the first one. */
const NAMES: Record<Place, Record<Bound, readonly string[]>> = {
  header: {
    facets: ['x-facets'],
    facades: ['x-facades'],
    intents: ['x-intent'],
    read_only: ['x-read-only'],
  },
  query: {
    facets: ['facet', 'facets'],
    facades: ['facade', 'facades'],
    intents: ['intent', 'intents'],
    read_only: ['read_only'],
  },
  _meta: { facets: ['facets'], facades: ['facades'], intents: ['intents'], read_only: ['read_only'] },
}

const BOUNDS: readonly Bound[] = ['facets', 'facades', 'intents', 'read_only']

/** Every name, in lower case, that callers use for a bound. Where it is not accepted it is refused. */
const ALIASES: ReadonlyMap<string, readonly Bound[]> = new Map([
  ...aliasesOf('facets', ['facet', 'facets']),
  ...aliasesOf('facades', ['facade', 'facades']),
  ...aliasesOf('intents', ['intent', 'intents']),
  ...aliasesOf('read_only', ['read_only', 'read-only', 'readonly']),
  // The field of a frame, which contains all of them.
  ['narrowing', BOUNDS],
])

function aliasesOf(bound: Bound, names: readonly string[]): [string, readonly Bound[]][] {
  const forms = (name: string) => [
    name,
    `x-${name}`,
    `x_${name}`,
    `allowed_${name}`,
    `allowed-${name}`,
    `allowed${name}`,
    `x-allowed-${name}`,
  ]
  return names.flatMap(forms).map((alias) => [alias, [bound]])
}

const HINTS: Record<Place, string> = {
  header: 'Correct the header, or remove it to set no bound.',
  query: 'Correct the query of the address, or remove the parameter to set no bound.',
  _meta: 'Correct `_meta` of the request, or remove the key to set no bound.',
}

/** Whether the key names a bound, in an accepted spelling or another one. */
export function isBoundName(key: string): boolean {
  return boundsNamed(key) !== undefined
}

/** An index is ignored, as in `facade[]` and `facade[0]`. */
function boundsNamed(key: string): readonly Bound[] | undefined {
  return ALIASES.get(key.toLowerCase().replace(/\[[^\]]*\]$/, ''))
}

/** Combines the bounds of the headers and of the address. Throws `request_invalid`. */
export function narrowingInRequest({
  url,
  headers,
}: Pick<IncomingMessage, 'url' | 'headers'>): Narrowing | undefined {
  const in_headers = narrowingInHeaders(headers)
  const query = queryOf(url)
  const in_query = query === null ? undefined : narrowingInQuery(query)
  return in_headers === undefined || in_query === undefined
    ? (in_headers ?? in_query)
    : narrower(in_query, in_headers)
}

/** `X-Facets`, `X-Facades`, `X-Intent` (comma-separated) and `X-Read-Only`. Throws `request_invalid`. */
export function narrowingInHeaders(headers: IncomingHttpHeaders): Narrowing | undefined {
  for (const name in headers) refuseMisspelt(name, 'header')
  // Node joins a repeated header with a comma.
  return narrowingInTexts('header', (name) => {
    const value = headers[name]
    return typeof value === 'string' ? [value] : (value ?? [])
  })
}

/**
 * `?facet=`, `?facade=`, `?intent=` (repeated or comma-separated, also in the plural) and `?read_only=`. Throws
 * `request_invalid`.
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

/** Throws `request_invalid` if the request sets any bound, because its calls have bounds of their own. */
export function refuseBounds({ url, headers }: Pick<IncomingMessage, 'url' | 'headers'>, hint: string): void {
  const names = [...Object.keys(headers), ...(queryOf(url)?.keys() ?? [])]
  const bound = names.find(isBoundName)
  if (bound === undefined) return
  throw new TurnbellError('request_invalid', { detail: `${bound}: bounds are not accepted here`, hint })
}

/** Null if the address has no query. */
export function queryOf(url = ''): URLSearchParams | null {
  const at = url.indexOf('?')
  return at < 0 ? null : new URLSearchParams(url.slice(at))
}

/** Throws `request_invalid`, because a bound with an unknown name would restrict nothing. */
function refuseMisspelt(key: string, place: Place): void {
  const bounds = boundsNamed(key)
  if (bounds === undefined) return
  const names = bounds.map((bound) => NAMES[place][bound])
  if (names.some((accepted) => accepted.includes(key))) return
  const right = names.map(([first = '']) => (place === 'header' ? titleCase(first) : first)).join(', ')
  throw new TurnbellError('request_invalid', {
    detail: `${place === '_meta' ? '_meta.' : ''}${key}: unknown bound; expected ${right}`,
    hint: HINTS[place],
  })
}

/** `X-Read-Only`, as headers are usually written. */
function titleCase(header: string): string {
  return header.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
}

function narrowingInTexts(
  place: 'header' | 'query',
  valuesOf: (name: string) => readonly string[],
): Narrowing | undefined {
  const { facets, facades, intents, read_only } = NAMES[place]
  const list = (names: readonly string[]) => {
    const texts = names.flatMap(valuesOf)
    return texts.length === 0 ? undefined : texts.flatMap((text) => text.split(',').map((one) => one.trim()))
  }
  const bounds = {
    facets: list(facets),
    facades: list(facades),
    intents: list(intents),
    read_only: flag(read_only.flatMap(valuesOf), place),
  }
  return narrowingOf(bounds, place)
}

/** Throws `request_invalid` for a malformed bound, because ignoring it would restrict nothing. */
function narrowingOf(bounds: Record<Bound, unknown>, place: Place): Narrowing | undefined {
  const { facets, facades, intents, read_only } = bounds
  if (facets === undefined && facades === undefined && intents === undefined && read_only === undefined)
    return undefined
  const given = Object.entries(bounds).filter(([, value]) => value !== undefined)
  const parsed = Narrowing.safeParse(Object.fromEntries(given))
  if (parsed.success) return parsed.data
  const field = String(parsed.error.issues[0]?.path[0] ?? 'narrowing')
  const expected = field === 'read_only' ? 'true or false' : 'names of 1 to 128 characters, in a list'
  const detail = `${place === '_meta' ? '_meta.' : ''}${field}: expected ${expected}`
  throw new TurnbellError('request_invalid', { detail, hint: HINTS[place] })
}

/** A repeated flag is refused, because it is ambiguous. */
function flag(texts: readonly string[], place: 'header' | 'query'): boolean | undefined {
  const [text, ...more] = texts
  if (text === undefined) return undefined
  if (more.length === 0 && (text === '1' || text === 'true')) return true
  if (more.length === 0 && (text === '0' || text === 'false')) return false
  const name = place === 'header' ? 'X-Read-Only' : 'read_only'
  throw new TurnbellError('request_invalid', {
    detail: `${name}: expected 1, true, 0 or false, once, found ${texts.map((one) => JSON.stringify(one)).join(' and ')}`,
    hint: HINTS[place],
  })
}
