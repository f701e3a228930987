/**
 * Authentication of HTTP requests, before the body is read. Also used for `/ws` and `/mcp`.
 *
 * The hub listens on loopback, where any web page can reach it under a name of its own (DNS rebinding). So `Host` must be
 * one of the hub's own hosts, and so must `Origin`, which browsers send.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Caller } from '../../contracts/token.ts'
import type { HubApi } from '../hub-api.ts'

const BEARER = /^bearer +([^\s]+) *$/i

/** Checks Host and Origin, then the token. Throws. `token_in_query`: for clients that cannot send headers. */
export function admit(
  request: Pick<IncomingMessage, 'headers' | 'url'>,
  api: Pick<HubApi, 'ownHosts' | 'authenticate'>,
  { token_in_query }: { token_in_query: boolean },
): Caller {
  checkOrigin(request.headers, api.ownHosts())
  return api.authenticate(tokenOf(request.headers, token_in_query ? request.url : undefined))
}

/** Throws `origin_forbidden` unless Host, and Origin if present, are the hub's own. */
export function checkOrigin(headers: IncomingHttpHeaders, ownHosts: readonly string[]): void {
  const host = headers.host?.toLowerCase()
  if (host === undefined || !isOwn(host, ownHosts)) {
    throw new TurnbellError('origin_forbidden', {
      detail: `Host ${quoted(host)} is not one of the hub's own: ${ownHosts.join(', ')}.`,
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
  // Browsers omit the default port of the scheme.
  return ownHosts.some((own) => host === own || `${host}:80` === own || `${host}:443` === own)
}

/** Returns the bearer token, or the `token` parameter of the url. Throws `token_invalid`. */
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

/** Returns the url without its token, for logs. */
export function redactUrl(url: string): string {
  return url.replace(/([?&]token=)[^&#]*/gi, '$1REDACTED')
}

function quoted(text: string | undefined): string {
  return text === undefined ? '(none)' : JSON.stringify(text.slice(0, 100))
}
