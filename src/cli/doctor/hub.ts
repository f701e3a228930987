/** The hub of this home: whether one runs, is ready, and is the one that is installed. */
import fs from 'node:fs'
import { lockHolder } from '../../system/directory-lock.ts'
import { findHub } from '../../system/hub-address.ts'
import { VERSION } from '../../system/version.ts'
import type { Invocation } from '../cli.ts'
import { broken, fine, refusedBy, warning, type Finding } from './finding.ts'
import { refusedStart } from './last-start.ts'

const START = 'Start it: `turnbell up`, `turnbell hub`, or for good `turnbell service install --hub`.'

export async function checkHub(invocation: Invocation): Promise<Finding[]> {
  const { home, cli } = invocation
  const url = findHub(home, invocation.config())
  if (url === null) return [notRunning(invocation)]
  const hub = invocation.hub()
  try {
    const { version } = await hub.health()
    if (!(await hub.ready())) {
      return [
        warning('hub', `${url} answers and is not ready`, `It recovers, or says why in ${home.hub_log}.`),
      ]
    }
    // Asked as the operator: a hub of another home would not know our token.
    await hub.call('personas', 'list')
    if (version === VERSION) return [fine('hub', `${url} is ready, version ${version}`)]
    return [
      warning(
        'hub',
        `${url} is version ${version}, installed is ${VERSION}`,
        'Stop it (Ctrl-C, or `turnbell service uninstall --hub` and install again) and start it anew.',
      ),
    ]
  } catch (error) {
    return [refusedBy('hub', error, cli.ids)]
  }
}

function notRunning({ home }: Invocation): Finding {
  const holder = lockHolder(home.hub_lock)
  if (holder !== null) {
    return broken(
      'hub',
      `process ${holder} holds ${home.hub_lock} but says no address`,
      `It starts just now, or hangs: look into ${home.hub_log}.`,
    )
  }
  const refused = refusedStart(home.hub_log)
  if (refused !== null) return broken('hub', `none runs; ${refused.detail}`, refused.hint)
  const left = fs.existsSync(home.hub_pid) ? ' (the last one was killed; nothing is lost)' : ''
  return warning('hub', `none runs${left}`, START)
}
