/** What of a request's `_meta` travels on to the hub. */
import { boundsMeant } from '../bound-names.ts'
import { CallerContext, Narrowing } from '../../contracts/http.ts'

type Meta = Record<string, unknown>

/** How much a request wants to see: without any of them, as much as the connection does. */
const VIEW = [...Object.keys(Narrowing.shape), 'detail']
const OWN: ReadonlySet<string> = new Set([...Object.keys(CallerContext.shape), ...VIEW])

/**
 * Only turnbell's own keys travel on: the client's are about its connection to this process. A bound that is
 * misspelt travels too, so that the hub refuses it.
 */
export function ownMeta(meta: Meta | undefined): Meta {
  const own: Meta = {}
  for (const key in meta)
    if (meta[key] !== undefined && (OWN.has(key) || boundsMeant(key) !== null)) own[key] = meta[key]
  return own
}

/** The same text for all requests that want to see the same. */
export function viewKey(meta: Meta | undefined): string {
  const misspelt = Object.keys(meta ?? {}).filter((key) => !OWN.has(key) && boundsMeant(key) !== null)
  return JSON.stringify([...VIEW.map((key) => meta?.[key] ?? null), ...misspelt])
}
