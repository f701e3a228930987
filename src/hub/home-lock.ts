/** One hub per home: who takes it, who makes room for it, and who is refused. */
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { lockDirectory, type DirectoryLock } from '../system/directory-lock.ts'
import type { Home } from '../system/home.ts'
import { runningHub } from '../system/hub-address.ts'
import { ensureSecrets } from '../system/secrets.ts'
import { askToYield } from './yielding.ts'

/** For so long another hub may start, or end, before it says where it answers, or has let go. */
const SETTLES_MS = 10_000

export interface HomeLockNeeds {
  home: Home
  clock: Clock
  log: Log
  /** It only fills a gap: it makes room for others, and asks nobody to make room for it. */
  stands_in: boolean
  /** Somebody took the lock away: stop. */
  onLost: (error: Error) => void
}

/**
 * A hub that only stands in is asked to make room, and any other is named in the refusal. One that is just starting, or
 * ending, can be neither yet, and is waited for.
 *
 * @throws TurnbellError `already_running`, and `store_unavailable` where the disk takes no lock.
 */
export async function lockHome(needs: HomeLockNeeds): Promise<DirectoryLock> {
  const { home, clock, log, stands_in, onLost } = needs
  const take = () => lockDirectory({ lock: home.hub_lock, what: 'A hub', onLost })
  const until = clock.monotonic() + SETTLES_MS
  for (;;) {
    try {
      return await take()
    } catch (error) {
      // A disk that takes no lock says nothing of another hub.
      if (!(error instanceof TurnbellError) || error.code !== 'already_running') throw error
      const other = runningHub(home)
      if (other === null) {
        if (stands_in || clock.monotonic() > until) throw error
        await new Promise<void>((resolve) => clock.after(LIMITS.yield_retry_ms, resolve))
        continue
      }
      if (other.stands_in === true && !stands_in) {
        log.info({ pid: other.pid, url: other.url }, 'a hub that stands in is asked to make room')
        return askToYield(other, ensureSecrets(home).operator_token, take, clock)
      }
      throw new TurnbellError('already_running', {
        detail: `${error.detail}, and answers at ${other.url}`,
        hint: `Use that hub, or stop it first (kill ${other.pid}), or choose another home with --home.`,
        cause: error,
      })
    }
  }
}
