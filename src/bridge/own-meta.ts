/** Selects the keys of a request's `_meta` that are forwarded to the hub. */
import { isBoundName } from '../transports/narrowing.ts'
import { CallerContext, Narrowing } from '../contracts/http.ts'

type Meta = Record<string, unknown>

/** Keys that select what a request can see; without them it sees as much as the connection. */
const VIEW = [...Object.keys(Narrowing.shape), 'detail']
const OWN: ReadonlySet<string> = new Set([...Object.keys(CallerContext.shape), ...VIEW])

/**
 * Keeps only turnbell's keys, because the client's keys are about its connection to this process. Unaccepted
 * names of bounds are forwarded, so that the hub refuses them.
 */
export function ownMeta(meta: Meta | undefined): Meta {
  const own: Meta = {}
  for (const key in meta)
    if (meta[key] !== undefined && (OWN.has(key) || isBoundName(key))) own[key] = meta[key]
  return own
}

/** Returns the same text for all requests with the same view. */
export function viewKey(meta: Meta | undefined): string {
  const misspelt = Object.keys(meta ?? {}).filter((key) => !OWN.has(key) && isBoundName(key))
  return JSON.stringify([...VIEW.map((key) => meta?.[key] ?? null), ...misspelt])
}
