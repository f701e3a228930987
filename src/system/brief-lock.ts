/**
 * Work of a moment that only one process on this machine may do at a time.
 *
 * proper-lockfile alone lets two in where a holder has died: the slower of two that found the lock stale removes by its
 * name the one that the faster has just made. So what is stale is removed here, and proper-lockfile
 * finds nothing stale.
 */
import fs from 'node:fs'
import path from 'node:path'
import lockfile from 'proper-lockfile'
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock } from '../ports/clock.ts'
import { pause } from '../ports/pause.ts'
import { systemClock } from './clock.ts'
import { markOf } from './file-mark.ts'
import { isFullDisk, isSystemError } from './system-error.ts'

/** Its name is that of a lock, too, for whoever has to tell locks from other things. */
const BROOM_ENDING = '.stale.lock'

export interface BriefLockOptions {
  /** The lock's own path, made as a directory; its parent must exist. */
  lock: string
  /** For whoever waited in vain: what the other process is doing. */
  busy: string
  patience_ms?: number
  /** How often it is tried meanwhile. */
  try_ms?: number
  /** After so long without a sign of life its holder died in it. */
  stale_ms?: number
  /** Only tests bring one of their own. */
  clock?: Pick<Clock, 'now' | 'monotonic' | 'after'>
}

/**
 * Waits for others that are at it, but not for ever, and not where the lock cannot be made at all.
 *
 * Who stands still for longer than `stale_ms` (a suspended laptop) loses the lock without noticing. `stillMine`
 * tells, and must be asked right before what others would be harmed by.
 *
 * @throws TurnbellError `already_running`, `home_not_permitted`, `store_unavailable` where the disk takes no lock
 */
export async function underBriefLock<T>(
  options: BriefLockOptions,
  act: (stillMine: () => boolean) => Promise<T> | T,
): Promise<T> {
  const letGo = await takeIt(options)
  const made = await markOrLetGo(options.lock, letGo)
  /** Null where nobody can look. */
  const isLost = (): boolean | null => {
    try {
      return made === null || markOf(options.lock) !== made
    } catch {
      return null
    }
  }
  try {
    return await act(() => isLost() === false)
  } finally {
    // One that was lost meanwhile is another's to let go of.
    if (isLost() !== true) await letGo().catch(() => undefined)
  }
}

async function markOrLetGo(lock: string, letGo: () => Promise<void>): Promise<string | null> {
  try {
    return markOf(lock)
  } catch (cause) {
    await letGo().catch(() => undefined)
    throw lockRefused(lock, cause)
  }
}

async function takeIt(options: BriefLockOptions): Promise<() => Promise<void>> {
  const { lock, busy, patience_ms = LIMITS.brief_lock_patience_ms } = options
  const { stale_ms = LIMITS.brief_lock_stale_ms, try_ms = LIMITS.brief_lock_try_ms } = options
  const { clock = systemClock } = options
  const isStale = staleness(stale_ms, clock)
  const latest = clock.monotonic() + patience_ms
  for (;;) {
    try {
      return await lockfile.lock(lock, {
        lockfilePath: lock,
        realpath: false,
        stale: Infinity,
        update: stale_ms / 2,
        // Said from a timer, where a throw would end the process. It is lost only by who stood still in it.
        onCompromised: () => undefined,
      })
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code !== 'ELOCKED') throw lockRefused(lock, cause)
      if (swept(lock, isStale)) continue
      if (clock.monotonic() >= latest)
        throw new TurnbellError('already_running', {
          detail: `${busy}: another process holds ${lock}`,
          hint: 'Wait a moment and try again.',
          cause,
        })
      await pause(clock, try_ms)
    }
  }
}

/**
 * Removes a lock whose holder has died; false where there is none to remove, or another one is at it. From the look to
 * the removal nothing else in this process comes between, and nobody else who would remove it, unless this process stands
 * still just there, for as long as makes its own broom stale. Then `stillMine` is what is left.
 */
function swept(lock: string, isStale: (lock: string) => boolean): boolean {
  const broom = `${lock}${BROOM_ENDING}`
  try {
    // Watched from the first try on, as the lock is.
    isStale(broom)
    if (!isStale(lock)) return false
    if (!unlessCode('EEXIST', () => fs.mkdirSync(broom))) {
      // Left by one that died in the lines below. Whoever waits finds it gone at the next try.
      if (isStale(broom)) remove(broom)
      return false
    }
    try {
      return isStale(lock) && remove(lock)
    } finally {
      remove(broom)
    }
  } catch (cause) {
    throw lockRefused(lock, cause)
  }
}

/**
 * Tells whether a holder has died, for one who looks again and again. A living one touches its lock now and then, twice
 * within `stale_ms`: what has not changed for so long by the watcher's own clock is a dead one's. What looks old is so at
 * once; one from the future is not: the clock may have been set back since, or the holder's is ahead, as a file server's.
 */
function staleness(stale_ms: number, clock: Pick<Clock, 'now' | 'monotonic'>): (lock: string) => boolean {
  const seen = new Map<string, { mtime_ms: number; at: number }>()
  return (lock) => {
    const mtime_ms = fs.statSync(lock, { throwIfNoEntry: false })?.mtimeMs
    if (mtime_ms === undefined) return false
    const before = seen.get(lock)
    const first = before?.mtime_ms === mtime_ms ? before : { mtime_ms, at: clock.monotonic() }
    seen.set(lock, first)
    return clock.now() - mtime_ms > stale_ms || clock.monotonic() - first.at > stale_ms
  }
}

function remove(lock: string): boolean {
  return unlessCode('ENOENT', () => fs.rmdirSync(lock))
}

/** False where it failed so. */
function unlessCode(code: string, act: () => void): boolean {
  try {
    act()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return false
    throw error
  }
}

/** What to throw where no lock can be made: what the system says, in words for the one who must mend it. */
export function lockRefused(lock: string, cause: unknown): unknown {
  if (!isSystemError(cause)) return cause
  const { code } = cause
  if (['EACCES', 'EPERM', 'EROFS'].includes(code)) {
    return new TurnbellError('home_not_permitted', {
      detail: `nothing can be written in ${path.dirname(lock)} (${code})`,
      hint: 'Make the directory yours and writable, or use a home of your own: --home DIR or TURNBELL_HOME.',
      cause,
    })
  }
  const full = isFullDisk(code)
  return new TurnbellError('store_unavailable', {
    detail: `no lock can be made in ${path.dirname(lock)}: ${String(cause)}`,
    hint: `${full ? 'Make room on the disk' : 'Look at the disk, and at how many files are open'}, then try again.`,
    cause,
  })
}
