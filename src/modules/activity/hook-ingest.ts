/** Stores hook payloads of sessions that have no shim. A shim reports the same facts, so the hooks of its session are ignored. */
import { LIMITS } from '../../contracts/limits/limits.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import { hookEvents, type HookSession } from './hook-events.ts'
import { isOnlyImported } from './imported.ts'
import type { HubNumbered } from './hub-numbered.ts'
import type { Session } from './session-track.ts'
import type { HookReport, IngestResult } from './types.ts'

export interface HookIngestDeps {
  numbered: HubNumbered
  clock: Pick<Clock, 'now'>
}

export function createHookIngest({
  numbered,
  clock,
}: HookIngestDeps): (hook: HookReport) => Promise<IngestResult | null> {
  return async ({ identity, client, body, at = timestamp(clock) }) => {
    const session_id = body['session_id']
    if (typeof session_id !== 'string' || session_id === '') return null
    if (session_id.length > LIMITS.session_id_length_max) return null
    return numbered.add({ session_id, identity, client, source: 'hook', at }, (session) => {
      if (session === null) return hookEvents(body, NO_SESSION)
      if (isOnlyImported(session)) return hookEvents(body, hookSession(session))
      if (session.row.identity !== identity)
        throw new TurnbellError('identity_mismatch', {
          detail: `the session ${session_id} belongs to ${session.row.identity}, not to ${identity}`,
        })
      return session.track.numbered_by_hub ? hookEvents(body, hookSession(session)) : []
    })
  }
}

const NO_SESSION: HookSession = { request_id: null, waiting: [] }

function hookSession({ track: { state, request_id } }: Session): HookSession {
  const runs = state !== null && state.request !== null
  return { request_id: runs ? request_id : null, waiting: state?.waits.map(({ id }) => id) ?? [] }
}
