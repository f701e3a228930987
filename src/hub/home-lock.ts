/** Lock of the home: one hub per home; an embedded hub yields to a hub process. */
import { TurnbellError } from '../contracts/errors/errors.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Log } from '../ports/log.ts'
import { pause } from '../ports/pause.ts'
import { requestYield, type YieldNeeds } from './embedded/handover.ts'

/** Maximum time that another hub may take to start (until it writes its address) or to end (until it releases the lock). */
const SETTLE_MS = 10_000

/** `take` rejects with `already_running` if another process holds the home. */
export interface HomeLockNeeds<Lock> extends YieldNeeds<Lock> {
  /** Returns the hub whose address file exists, in the format of that file. */
  other: () => { pid: number; url: string; stands_in?: boolean | undefined } | null
  log: Log
  /** An embedded hub: it neither waits for another hub nor asks one to yield. */
  embedded: boolean
}

/**
 * Takes the lock. An embedded hub that holds it is asked to yield; any other hub is named in the error. A hub without an
 * address file is starting or ending and is waited for.
 *
 * @throws TurnbellError `already_running`, and other errors of `take`. Throws the reason of `leaving` when that is aborted.
 */
export async function lockHome<Lock>(needs: HomeLockNeeds<Lock>): Promise<Lock> {
  const { take, other: otherHub, clock, log, embedded, leaving } = needs
  const until = clock.monotonic() + SETTLE_MS
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await take()
    } catch (error) {
      // Other errors, for example of a read-only disk, do not mean that another hub exists.
      if (!(error instanceof TurnbellError) || error.code !== 'already_running') throw error
      const other = otherHub()
      if (other !== null) {
        if (other.stands_in !== true || embedded) throw withAddress(error, other)
        log.info({ pid: other.pid, url: other.url }, 'asking the embedded hub to yield')
        return requestYield(other, needs)
      }
      if (embedded || clock.monotonic() > until) throw error
    }
    if (attempt === 1) log.warn({}, 'another hub holds this home and has no address file; waiting up to 10 s')
    await pause(clock, LIMITS.handover_retry_ms, leaving)
    leaving?.throwIfAborted()
  }
}

function withAddress(refusal: TurnbellError, { pid, url }: { pid: number; url: string }): TurnbellError {
  return new TurnbellError('already_running', {
    detail: `${refusal.detail}, and answers at ${url}`,
    hint: `Use that hub, or stop it first (kill ${pid}), or choose another home with --home.`,
    cause: refusal,
  })
}
