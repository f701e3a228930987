/** The hub of this home: whether one runs, is ready, and is the one that is installed. */
import fs from 'node:fs'
import { lockHolder } from '../../system/directory-lock.ts'
import { findHub } from '../../system/hub-address.ts'
import { VERSION } from '../../system/version.ts'
import type { Invocation } from '../cli.ts'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { createHubClient } from '../hub-client.ts'
import { broken, fine, refusedBy, warning, type Finding } from './finding.ts'
import { refusedStart } from './last-start.ts'

const START = 'Start it: `turnbell up`, `turnbell hub`, or for good `turnbell service install --hub`.'

export async function checkHub(invocation: Invocation, daemons: readonly PersonaStatus[]): Promise<Finding> {
  const { home, cli } = invocation
  const url = findHub(home, invocation.config())
  if (url === null) return notRunning(invocation, daemons)
  try {
    const hub = createHubClient(cli.fetch, url, null)
    const { version } = await hub.health()
    if (!(await hub.ready()))
      return warning('hub', `${url} answers and is not ready`, `It recovers, or says why in ${home.hub_log}.`)
    // As the operator: a hub of another home would not know this token.
    await invocation.hub().call('personas', 'list')
    if (version === VERSION) return fine('hub', `${url} is ready, version ${version}`)
    return warning(
      'hub',
      `${url} is version ${version}, installed is ${VERSION}`,
      'Restart it: `turnbell down`, then `turnbell up`; a service starts it again by itself.',
    )
  } catch (error) {
    return failed(invocation, url, error)
  }
}

function failed({ home, cli }: Invocation, url: string, error: unknown): Finding {
  if (!(error instanceof TurnbellError)) throw error
  switch (error.code) {
    case 'home_not_permitted':
      return warning('hub', `${url} is ready; more cannot be asked: ${error.detail}`, error.hint)
    case 'token_invalid':
    case 'token_missing':
      return broken(
        'hub',
        `${url} does not accept the operator token of ${home.root}`,
        `It is the hub of another home, or ${home.operator_token} was changed while it ran: \`turnbell down\`, then \`turnbell up\`.`,
      )
    default:
      return refusedBy('hub', error, cli.ids)
  }
}

function notRunning({ home }: Invocation, daemons: readonly PersonaStatus[]): Finding {
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
  const waiting = daemons
    .filter((one) => one.running && !one.status.connected)
    .map(({ identity }) => identity)
  if (waiting.length === 0) return warning('hub', `none runs${left}`, START)
  return broken('hub', `none runs${left}, and ${waiting.join(', ')} wait for it`, START)
}
