/**
 * Handover from an embedded hub to a hub process: the new hub sends `POST /yield` as the operator and takes the home once
 * it is free. To clients this is a short outage, as with any restart.
 */
import type { HubApi } from '../../transports/hub-api.ts'
import { admit } from '../../transports/http/guard.ts'
import { problemOf, sendProblem } from '../../transports/http/problems.ts'
import type { RawRoute } from '../../transports/http/server.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { pause } from '../../ports/pause.ts'

const PATH = '/yield'

export function yieldRoute(api: HubApi, onYield: () => void): RawRoute {
  return {
    path: PATH,
    handle(request, response) {
      try {
        const caller = admit(request, api, { token_in_query: false })
        if (caller.kind !== 'operator') {
          throw new TurnbellError('operator_required', {
            detail: 'Only the operator may request the handover.',
          })
        }
        if (request.method !== 'POST') {
          throw new TurnbellError('route_unknown', { detail: `There is no ${request.method ?? ''} ${PATH}.` })
        }
        // After the response, because the stop waits for open responses.
        response.once('close', onYield)
        response.writeHead(202).end()
      } catch (error) {
        sendProblem(response, problemOf(error, api, PATH))
      }
      return Promise.resolve()
    },
    stop: () => Promise.resolve(),
  }
}

export interface YieldNeeds<T> {
  take: () => Promise<T>
  operatorToken: () => string
  clock: Clock
  /** Aborts the wait, because the waiting process is to end. */
  leaving?: AbortSignal | undefined
}

/** Asks the embedded hub to yield, then retries until the home is free. Throws the last error, or the reason of `leaving`. */
export async function requestYield<T>(other: { url: string }, needs: YieldNeeds<T>): Promise<T> {
  const { take, operatorToken, clock, leaving } = needs
  const until = clock.monotonic() + LIMITS.handover_patience_ms
  const late = AbortSignal.timeout(LIMITS.handover_patience_ms)
  // If the hub has just ended, the request fails and the home is free as well.
  await fetch(`${other.url}${PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken()}` },
    signal: leaving === undefined ? late : AbortSignal.any([late, leaving]),
  }).catch(() => undefined)
  for (;;) {
    leaving?.throwIfAborted()
    try {
      return await take()
    } catch (error) {
      if (clock.monotonic() > until) throw error
      await pause(clock, LIMITS.handover_retry_ms, leaving)
    }
  }
}
