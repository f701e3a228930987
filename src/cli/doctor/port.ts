/** Checks that the port of the next hub is free, if no hub runs. */
import { HUB_PORT } from '../../contracts/config.ts'
import { findHub } from '../../system/config/hub-discovery.ts'
import { portHolder } from '../../system/ipc/port-holder.ts'
import type { Invocation } from '../cli.ts'
import { broken, fine, type Finding } from './finding.ts'

export function checkPort(invocation: Invocation): Finding[] {
  const { home, cli } = invocation
  const config = invocation.config()
  const { port } = config.hub
  if (port === 0 || config.hub.url !== undefined || findHub(home, config) !== null) return []
  const holder = portHolder(port ?? HUB_PORT, cli.platform)
  if (holder === null) return []
  const in_use = `${port ?? HUB_PORT} is used by ${holder}`
  if (port === undefined) return [fine('port', `${in_use}; the hub will use another port`)]
  return [
    broken(
      'port',
      `${in_use}, so no hub of this home can start`,
      'Stop that process, or change or remove `hub.port` in the configuration (TURNBELL_HUB_PORT).',
    ),
  ]
}
