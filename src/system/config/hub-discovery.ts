/** Discovery of the hub of a home. */
import * as z from 'zod'
import { Timestamp } from '../../contracts/ids.ts'
import { HUB_PORT, HubUrl, type Config } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { parseJsonAs } from '../../contracts/validation/json.ts'
import type { Home } from './home.ts'
import { programAlive } from '../process/surface-command.ts'
import { readText } from '../files/watch-file.ts'

/** Content of `hub/hub.pid`, written when the hub is ready; with port 0 the only source of its port. */
export const HubPid = z.object({
  pid: z.number().int().positive(),
  url: z.url(),
  started_at: Timestamp,
  /**
   * Start time of its process, because the pid may be reused after a reboot. Null without /proc; older hubs do not
   * write it.
   */
  started: z.string().nullish(),
  /** True for an embedded hub of a bridge, which yields to any other. The file format keeps this older name. */
  stands_in: z.boolean().optional(),
})
export type HubPid = z.infer<typeof HubPid>

/** Returns the running hub of this home, or null, also if a killed hub left its file. */
export function runningHub(home: Home): HubPid | null {
  const pidFile = parseJsonAs(HubPid, readText(home.hub_pid))
  return pidFile !== null && programAlive(pidFile.pid, pidFile.started ?? null) ? pidFile : null
}

/**
 * Returns the URL of the hub, without a trailing slash: the flag, `hub.url` of the configuration, or the running hub of
 * this home; otherwise null. A process on the default port would then not be the hub, and must not get a token. Call it
 * before every connect, because a restarted hub may have another port.
 */
export function findHub(home: Home, config: Config, flag?: string): string | null {
  const url = flag ?? config.hub.url ?? runningHub(home)?.url ?? null
  return url === null ? null : url.replace(/\/+$/, '')
}

/**
 * @throws `hub_unreachable` if `findHub` returns null.
 */
export function requireHub(home: Home, config: Config, flag?: string): string {
  const url = findHub(home, config, flag)
  if (url === null) throw new TurnbellError('hub_unreachable', { detail: noHubIn(home) })
  return url
}

/**
 * @throws `usage_invalid` if the flag is not a URL: waiting for such a hub would never end.
 */
export function requireHubUrl(given: string, flag = '--hub'): void {
  if (HubUrl.safeParse(given).success) return
  throw new TurnbellError('usage_invalid', {
    detail: `${flag}: ${JSON.stringify(given)} is not an http:// or https:// address`,
    hint: 'Give the address that `turnbell hub` prints, like http://127.0.0.1:4888.',
  })
}

export function noHubIn(home: Home): string {
  return `no hub runs in ${home.root}`
}

/** Returns the configured address of the hub, for display. */
export function displayAddress(config: Config): string {
  const { host, port = HUB_PORT, tls_cert } = config.hub
  // Wildcard addresses are only for listening; locally the hub is reachable by loopback.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const authority = reachable.includes(':') ? `[${reachable}]` : reachable
  return `${tls_cert === undefined ? 'http' : 'https'}://${authority}:${port}`
}
