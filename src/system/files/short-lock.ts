/**
 * Lock for short work that only one process on this machine may do at a time.
 *
 * proper-lockfile alone admits two processes after a holder has crashed: of two that found the lock stale, the slower
 * one removes by its name the lock that the faster one has just made. Therefore stale locks are removed here, and
 * proper-lockfile never finds one stale.
 */
import fs from 'node:fs'
import path from 'node:path'
import lockfile from 'proper-lockfile'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { pause } from '../../ports/pause.ts'
import { systemClock } from '../clock.ts'
import { fileIdentity } from './file-identity.ts'
import { diskHint, isSystemError } from './system-error.ts'

/**
 * Suffix of the marker directory that is held while a stale lock is removed. It ends like a lock, so that it is
 * recognised as one.
 */
const MARKER_SUFFIX = '.stale.lock'

export interface ShortLockOptions {
  /** Path of the lock, created as a directory; its parent must exist. */
  lock: string
  /** Activity of the other process, for the error after a timeout. */
  busy: string
  patience_ms?: number
  /** Interval between attempts. */
  try_ms?: number
  /** Time without a heartbeat after which the holder counts as crashed. */
  stale_ms?: number
  /** For tests. */
  clock?: Pick<Clock, 'now' | 'monotonic' | 'after'>
}

/**
 * Runs `act` under the lock. Waits up to `patience_ms` for other holders, and fails at once if the lock cannot be
 * created.
 *
 * A process that is suspended for longer than `stale_ms` loses the lock without being notified. `stillMine` detects
 * that, and must be called directly before a step that would conflict with another holder.
 *
 * @throws TurnbellError `already_running`, `home_not_permitted`, `store_unavailable` if the disk does not accept a lock
 */
export async function withShortLock<T>(
  options: ShortLockOptions,
  act: (stillMine: () => boolean) => Promise<T> | T,
): Promise<T> {
  const release = await acquire(options)
  const identity = await identityOrRelease(options.lock, release)
  /** Null if it cannot be determined. */
  const isLost = (): boolean | null => {
    try {
      return identity === null || fileIdentity(options.lock) !== identity
    } catch {
      return null
    }
  }
  try {
    return await act(() => isLost() === false)
  } finally {
    // A lost lock must be released by its new holder.
    if (isLost() !== true) await release().catch(() => undefined)
  }
}

async function identityOrRelease(lock: string, letGo: () => Promise<void>): Promise<string | null> {
  try {
    return fileIdentity(lock)
  } catch (cause) {
    await letGo().catch(() => undefined)
    throw lockError(lock, cause)
  }
}

async function acquire(options: ShortLockOptions): Promise<() => Promise<void>> {
  const { lock, busy, patience_ms = LIMITS.short_lock_patience_ms } = options
  const { stale_ms = LIMITS.short_lock_stale_ms, try_ms = LIMITS.short_lock_retry_ms } = options
  const { clock = systemClock } = options
  const isStale = createStaleCheck(stale_ms, clock)
  const deadline = clock.monotonic() + patience_ms
  for (;;) {
    try {
      return await lockfile.lock(lock, {
        lockfilePath: lock,
        realpath: false,
        stale: Infinity,
        update: stale_ms / 2,
        // Called from a timer; throwing would crash the process. The lock is lost only if this process was suspended
        // past `stale_ms`.
        onCompromised: () => undefined,
      })
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code !== 'ELOCKED') throw lockError(lock, cause)
      if (removeIfStale(lock, isStale)) continue
      if (clock.monotonic() >= deadline)
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
 * Removes a stale lock. Returns false if it is not stale, or another process is removing it. Between the check and the
 * removal no other code of this process runs, and no other process removes it, unless this process is suspended just
 * there until its own marker is stale. Then `stillMine` still detects the loss.
 */
function removeIfStale(lock: string, isStale: (lock: string) => boolean): boolean {
  const marker = `${lock}${MARKER_SUFFIX}`
  try {
    // Observed from the first attempt, like the lock.
    isStale(marker)
    if (!isStale(lock)) return false
    if (!unlessCode('EEXIST', () => fs.mkdirSync(marker))) {
      // The marker was left by a process that crashed in the lines below; waiting processes retry.
      if (isStale(marker)) remove(marker)
      return false
    }
    try {
      return isStale(lock) && remove(lock)
    } finally {
      remove(marker)
    }
  } catch (cause) {
    throw lockError(lock, cause)
  }
}

/**
 * Returns a function that detects a crashed holder over repeated calls. A living holder touches its lock twice within
 * `stale_ms`, so a lock that did not change for that time on the caller's monotonic clock is stale. A lock with an old
 * timestamp is stale at once. A timestamp in the future proves nothing: the clock may have been set back, or belong to
 * a file server.
 */
function createStaleCheck(
  stale_ms: number,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): (lock: string) => boolean {
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

/** Returns false if it failed with this code. */
function unlessCode(code: string, act: () => void): boolean {
  try {
    act()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return false
    throw error
  }
}

/** Converts a file system error to an error with a hint. */
export function lockError(lock: string, cause: unknown): unknown {
  if (!isSystemError(cause)) return cause
  const { code } = cause
  if (['EACCES', 'EPERM', 'EROFS'].includes(code)) {
    return new TurnbellError('home_not_permitted', {
      detail: `${path.dirname(lock)} is not writable (${code})`,
      hint: `${diskHint(code)}.`,
      cause,
    })
  }
  return new TurnbellError('store_unavailable', {
    detail: `no lock can be created in ${path.dirname(lock)}: ${String(cause)}`,
    hint: `${diskHint(code)}, then try again.`,
    cause,
  })
}
