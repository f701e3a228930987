/**
 * How bounds are spelled. What is meant as a bound and spelled otherwise would hold nothing back, so it must be
 * known for one; by which keys it is told is decided here, for all places at once.
 */
import type { Narrowing } from '../contracts/http.ts'

type Bound = keyof Narrowing
export type Place = 'header' | 'query' | '_meta'

/** The first of each is the one that a refusal names. */
export const SPELLINGS: Record<Place, Record<Bound, readonly string[]>> = {
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

/** By what is left of a key without case, separators, brackets, a leading `x-` or `allowed_`, and a plural's s. */
const MEANT: ReadonlyMap<string, readonly Bound[]> = new Map([
  ['facet', ['facets']],
  ['facade', ['facades']],
  ['intent', ['intents']],
  ['readonly', ['read_only']],
  // As a frame has them: all in one.
  ['narrowing', ['facets', 'facades', 'intents', 'read_only']],
])
/** Every key of every request is asked about, and nearly all of them have nothing of a bound. */
const LIKELY = /fac[ae]|intent|only|narrow/i

/** The bounds that a key must mean, whoever wrote it; null for what is somebody else's, as `vendor/facade`. */
export function boundsMeant(key: string): readonly Bound[] | null {
  if (!LIKELY.test(key)) return null
  const plain = key
    .toLowerCase()
    .replace(/^x[-_]/, '')
    .replace(/\[\w*\]|[-_\s]/g, '')
    .replace(/^allowed/, '')
    .replace(/s$/, '')
  return MEANT.get(plain) ?? null
}

/** What a key that means a bound should have been; null where it is taken as it stands, and where it means none. */
export function rightSpelling(key: string, place: Place): string | null {
  const meant = boundsMeant(key)
  if (meant === null) return null
  const spellings = meant.map((bound) => SPELLINGS[place][bound])
  if (spellings.some((taken) => taken.includes(key))) return null
  return spellings.map(([first = '']) => (place === 'header' ? titled(first) : first)).join(', ')
}

/** `X-Read-Only`, as headers are written. */
function titled(header: string): string {
  return header.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
}
