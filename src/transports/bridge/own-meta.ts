/** What of a request's `_meta` travels on to the hub. */
import { CallerContext, Narrowing } from '../../contracts/http.ts'

type Meta = Record<string, unknown>

/** How much a request wants to see: without any of them, as much as the connection does. */
const VIEW = [...Object.keys(Narrowing.shape), 'detail']
const OWN = [...Object.keys(CallerContext.shape), ...VIEW]

/** Only turnbell's own keys travel on: the client's are about its connection to this process. */
export function ownMeta(meta: Meta | undefined): Meta {
  const own: Meta = {}
  if (meta !== undefined) for (const key of OWN) if (meta[key] !== undefined) own[key] = meta[key]
  return own
}

/** The same text for all requests that want to see the same. */
export function viewKey(meta: Meta | undefined): string {
  return JSON.stringify(VIEW.map((key) => meta?.[key] ?? null))
}
