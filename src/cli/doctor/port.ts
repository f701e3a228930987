/** The port that the next hub will ask for, where none runs. */
import { HUB_PORT } from '../../contracts/config.ts'
import { findHub } from '../../system/hub-address.ts'
import { portHolder } from '../../system/port-holder.ts'
import type { Invocation } from '../cli.ts'
import { broken, fine, type Finding } from './finding.ts'

export function checkPort(invocation: Invocation): Finding[] {
  const { home, cli } = invocation
  const config = invocation.config()
  const { port } = config.hub
  if (port === 0 || config.hub.url !== undefined || findHub(home, config) !== null) return []
  const holder = portHolder(port ?? HUB_PORT, cli.platform)
  if (holder === null) return []
  const taken = `${port ?? HUB_PORT} is taken by ${holder}`
  if (port === undefined) return [fine('port', `${taken}; the hub will take another`)]
  return [
    broken(
      'port',
      `${taken}, so no hub of this home can start`,
      'Stop that process, or change or remove `hub.port` in the configuration (TURNBELL_HUB_PORT).',
    ),
  ]
}
