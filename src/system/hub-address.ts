/** Where the hub of a home can be called. */
import fs from 'node:fs'
import * as z from 'zod'
import { Timestamp } from '../contracts/ids.ts'
import { HUB_PORT, HubUrl, type Config } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors.ts'
import type { Home } from './home.ts'
import { programAlive } from './program.ts'

/** What a hub writes into `hub/hub.pid` once it is ready; with port 0 it is the only way to know the port. */
export const HubPid = z.object({
  pid: z.number().int().positive(),
  url: z.url(),
  started_at: Timestamp,
  /** When its process started; after a reboot the pid may be another's. Null where there is no /proc; older hubs do not write it. */
  started: z.string().nullish(),
  /** A bridge's own, that makes room for any other. */
  stands_in: z.boolean().optional(),
})
export type HubPid = z.infer<typeof HubPid>

/** The running hub of this home; null where none runs, also when a killed one left its file behind. */
export function runningHub(home: Home): HubPid | null {
  let value: unknown
  try {
    value = JSON.parse(fs.readFileSync(home.hub_pid, 'utf8'))
  } catch {
    return null
  }
  const parsed = HubPid.safeParse(value)
  if (!parsed.success) return null
  const { pid, started = null } = parsed.data
  return programAlive(pid, started) ? parsed.data : null
}

/**
 * The address to call, without a slash at the end: the flag, else `hub.url` of the configuration, else
 * the hub that runs in this home. Null where there is none of them: what listens on the usual port then
 * is somebody else's, and must not be handed a token of this home. Ask again before every connect: a
 * restarted hub may have another port.
 */
export function findHub(home: Home, config: Config, flag?: string): string | null {
  const url = flag ?? config.hub.url ?? runningHub(home)?.url ?? null
  return url === null ? null : url.replace(/\/+$/, '')
}

/** @throws `hub_unreachable` where `findHub` finds none. */
export function requireHub(home: Home, config: Config, flag?: string): string {
  const url = findHub(home, config, flag)
  if (url === null) throw new TurnbellError('hub_unreachable', { detail: noHubIn(home) })
  return url
}

/** @throws `usage_invalid` where the flag gives no address: waiting for such a hub would never end. */
export function requireHubUrl(given: string, flag = '--hub'): void {
  if (HubUrl.safeParse(given).success) return
  throw new TurnbellError('usage_invalid', {
    detail: `${flag}: ${JSON.stringify(given)} is no http:// or https:// address`,
    hint: 'Give the address that `turnbell hub` prints, like http://127.0.0.1:4888.',
  })
}

export function noHubIn(home: Home): string {
  return `no hub runs in ${home.root}`
}

/** Where a hub of this configuration listens, for showing. */
export function usualAddress(config: Config): string {
  const { host, port = HUB_PORT, tls_cert } = config.hub
  // A wildcard address is for listening; on this machine the hub answers under the loopback one.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const authority = reachable.includes(':') ? `[${reachable}]` : reachable
  return `${tls_cert === undefined ? 'http' : 'https'}://${authority}:${port}`
}
