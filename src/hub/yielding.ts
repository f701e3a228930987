/**
 * How a hub that stands in makes room for one of its own: the newcomer asks, as the operator, and takes the
 * home once it is free. Clients notice a hub that is away for a moment, as with any restart.
 */
import type { Doors } from '../transports/doors.ts'
import { admit } from '../transports/http/guard.ts'
import { problemOf, sendProblem } from '../transports/http/problems.ts'
import type { RawRoute } from '../transports/http/server.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock } from '../ports/clock.ts'
import { pause } from '../ports/pause.ts'

const PATH = '/yield'

export function yieldRoute(doors: Doors, onAsked: () => void): RawRoute {
  return {
    path: PATH,
    handle(request, response) {
      try {
        const caller = admit(request, doors, { token_in_query: false })
        if (caller.kind !== 'operator') {
          throw new TurnbellError('operator_required', { detail: 'Only the operator may ask for the place.' })
        }
        if (request.method !== 'POST') {
          throw new TurnbellError('route_unknown', { detail: `There is no ${request.method ?? ''} ${PATH}.` })
        }
        // Told first: the answer is a part of what the stopping waits for.
        response.once('close', onAsked)
        response.writeHead(202).end()
      } catch (error) {
        sendProblem(response, problemOf(error, doors, PATH))
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
  /** Aborted when who asks is to end before it has the place. */
  leaving?: AbortSignal | undefined
}

/** Asks the one that stands in, and tries until the home is free. Throws what the last try threw, and why it is to leave. */
export async function askToYield<T>(other: { url: string }, needs: YieldNeeds<T>): Promise<T> {
  const { take, operatorToken, clock, leaving } = needs
  const until = clock.monotonic() + LIMITS.yield_patience_ms
  const late = AbortSignal.timeout(LIMITS.yield_patience_ms)
  // One that has just gone leaves the home free as well.
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
      await pause(clock, LIMITS.yield_retry_ms, leaving)
    }
  }
}
