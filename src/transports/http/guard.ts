/**
 * Who is at the door, decided before anything is read of a request. `/ws` and `/mcp` ask here too.
 *
 * The hub listens on loopback, where any page in a browser can reach it under a name of its own (DNS
 * rebinding). So a request must name one of the hub's own hosts, and a browser must say that the page
 * came from there.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Doors } from '../doors.ts'

const BEARER = /^bearer +([^\s]+) *$/i

/** Host and Origin, then the token. Throws the refusal. `token_in_query` for clients that cannot send headers. */
export function admit(
  request: Pick<IncomingMessage, 'headers' | 'url'>,
  doors: Pick<Doors, 'ownHosts' | 'authenticate'>,
  { token_in_query }: { token_in_query: boolean },
): Caller {
  checkOrigin(request.headers, doors.ownHosts())
  return doors.authenticate(tokenOf(request.headers, token_in_query ? request.url : undefined))
}

/** Throws `origin_forbidden` unless Host, and Origin where there is one, are the hub's own. */
export function checkOrigin(headers: IncomingHttpHeaders, ownHosts: readonly string[]): void {
  const host = headers.host?.toLowerCase()
  if (host === undefined || !isOwn(host, ownHosts)) {
    throw new TurnbellError('origin_forbidden', {
      detail: `Host ${quoted(host)} is none of the hub's own: ${ownHosts.join(', ')}.`,
    })
  }
  const origin = headers.origin
  if (origin === undefined) return
  const from = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase()
  if (from === undefined || !isOwn(from, ownHosts)) {
    throw new TurnbellError('origin_forbidden', { detail: `Origin ${quoted(origin)} is not the hub's own.` })
  }
}

function isOwn(host: string, ownHosts: readonly string[]): boolean {
  // A browser leaves out the port that belongs to the scheme.
  return ownHosts.some((own) => host === own || `${host}:80` === own || `${host}:443` === own)
}

/** The bearer token; or, where a url is given, its `token` parameter. */
export function tokenOf(headers: IncomingHttpHeaders, url?: string): string | null {
  if (headers.authorization !== undefined) {
    const bearer = BEARER.exec(headers.authorization)?.[1]
    if (bearer === undefined) {
      throw new TurnbellError('token_invalid', { detail: 'The Authorization header is not `Bearer TOKEN`.' })
    }
    return bearer
  }
  const query = url?.indexOf('?') ?? -1
  if (url === undefined || query < 0) return null
  return new URLSearchParams(url.slice(query + 1)).get('token')
}

/** The url as a log may show it. */
export function redactUrl(url: string): string {
  return url.replace(/([?&]token=)[^&#]*/gi, '$1REDACTED')
}

function quoted(text: string | undefined): string {
  return text === undefined ? '(none)' : JSON.stringify(text.slice(0, 100))
}
