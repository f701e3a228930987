/** One hub per home: who takes it, who makes room for it, and who is refused. */
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Log } from '../ports/log.ts'
import { pause } from '../ports/pause.ts'
import { askToYield, type YieldNeeds } from './yielding.ts'

/** For so long another hub may start, or end, before it says where it answers, or has let go. */
const SETTLES_MS = 10_000
const WAITS =
  'another hub has this home, and says nowhere that it answers; it is waited for, ten seconds at most'

/** `take` rejects with `already_running` where another holds the home. */
export interface HomeLockNeeds<Lock> extends YieldNeeds<Lock> {
  /** The one that says where it answers. */
  other: () => { pid: number; url: string; stands_in?: boolean | undefined } | null
  log: Log
  /** This one only fills a gap: it waits for nobody, and asks nobody to make room for it. */
  stands_in: boolean
}

/**
 * A hub that only stands in is asked to make room, and any other is named in the refusal. One that is just starting, or
 * ending, can be neither yet, and is waited for.
 *
 * @throws TurnbellError `already_running`, and what else `take` refuses. The reason of `leaving`, once it waits no longer.
 */
export async function lockHome<Lock>(needs: HomeLockNeeds<Lock>): Promise<Lock> {
  const { take, other: otherHub, clock, log, stands_in, leaving } = needs
  const until = clock.monotonic() + SETTLES_MS
  for (let looks = 1; ; looks += 1) {
    try {
      return await take()
    } catch (error) {
      // A disk that takes no lock says nothing of another hub.
      if (!(error instanceof TurnbellError) || error.code !== 'already_running') throw error
      const other = otherHub()
      if (other !== null) {
        if (other.stands_in !== true || stands_in) throw named(error, other)
        log.info({ pid: other.pid, url: other.url }, 'a hub that stands in is asked to make room')
        return askToYield(other, needs)
      }
      if (stands_in || clock.monotonic() > until) throw error
    }
    if (looks === 1) log.warn({}, WAITS)
    await pause(clock, LIMITS.yield_retry_ms, leaving)
    leaving?.throwIfAborted()
  }
}

function named(refusal: TurnbellError, { pid, url }: { pid: number; url: string }): TurnbellError {
  return new TurnbellError('already_running', {
    detail: `${refusal.detail}, and answers at ${url}`,
    hint: `Use that hub, or stop it first (kill ${pid}), or choose another home with --home.`,
    cause: refusal,
  })
}
