/**
 * Exclusive ownership of a resource on this machine: a hub's home, a persona's daemon.
 *
 * proper-lockfile alone has two gaps: after `kill -9` of the holder the next process waits until the lock is stale, and
 * a holder that was suspended (a laptop, SIGSTOP) loses it. Therefore an owner file next to the lock names the holding
 * process: if it is dead, the lock is free at once; if it is alive, it keeps the lock however old it looks.
 */
import fs from 'node:fs'
import lockfile from 'proper-lockfile'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { parseJsonOrNull } from '../../contracts/validation/json.ts'
import { lockError, withShortLock } from './short-lock.ts'
import { processAlive, processStartTime } from '../process/process-info.ts'
import { maySignal } from '../process/surface-command.ts'
import { writeFileAtomic } from './atomic-write.ts'

export interface OwnerLock {
  /**
   * Releases the lock and removes the owner file; on a full disk the file may remain, and has no effect. Idempotent.
   */
  release(): Promise<void>
}

export interface OwnerLockOptions {
  /** Path of the lock, created as a directory; its parent must exist. */
  lock: string
  /** Subject of the error message: `a hub`, `the daemon of ada`. */
  what: string
  /** Another living process has the lock: stop. Called at most once. */
  onLost: (error: Error) => void
  /**
   * The lock was removed or could not be refreshed, and is held again: a cleaner removed it, or the file system was
   * read-only for a while. No other process had it in between.
   */
  onRetaken?: (reason: Error) => void
  /** Creates a missing parent directory before each attempt to retake the lock; may throw. */
  makeParent?: () => void
  /** Maximum time to wait for another process that is taking or releasing the lock. */
  patience_ms?: number
}

interface Owner {
  pid: number
  /** Start time of that process; null if unknown. */
  started: string | null
}

/** Long enough that a lock whose holder blocks for seconds does not look abandoned. */
const STALE_MS = 15_000
const RETAKE_MS = 2_000
const OWNER_CHECK_MS = 5_000
/** The guard is held for milliseconds; an older one was left by a crashed process. */
const GUARD_STALE_MS = 2_000
/** Longer than the time for which a guard with a misleading timestamp is watched. */
const GUARD_PATIENCE_MS = 3_000

/**
 * Takes the lock or throws `already_running` with the pid of the holder.
 *
 * Checking, taking and releasing are guarded by a second, short-lived lock. Without it two starting processes could
 * both find a dead owner, and the slower one would remove the lock that the faster one has just taken. The same holds
 * for a release, which removes the owner file before the lock.
 */
export async function takeOwnerLock(options: OwnerLockOptions): Promise<OwnerLock> {
  return underGuard(options, () => new Holder(options).take())
}

function underGuard<T>({ lock, what, patience_ms }: OwnerLockOptions, act: () => Promise<T>): Promise<T> {
  const guard = {
    // proper-lockfile registers locks by this path, so the guard needs a different one.
    lock: `${lock}.guard`,
    busy: `${what} is being started or stopped elsewhere`,
    patience_ms: patience_ms ?? GUARD_PATIENCE_MS,
    stale_ms: GUARD_STALE_MS,
  }
  return withShortLock(guard, act)
}

/** Returns the pid of the living holder, or null. For messages and `doctor`; only taking the lock is reliable. */
export function lockHolder(lock: string): number | null {
  const owner = readOwner(lock)
  return owner !== null && holds(lock, owner) ? owner.pid : null
}

/** Holders in this process by path, because an owner file identifies only the process. */
const holders = new Map<string, Holder>()

class Holder implements OwnerLock {
  private readonly options: OwnerLockOptions
  private releaseLock: (() => Promise<void>) | null = null
  private released: Promise<void> | null = null
  private retrying: NodeJS.Timeout | null = null
  private ownerCheck: NodeJS.Timeout | null = null
  /** Last attempt to retake the lock. */
  private retaking: Promise<void> | null = null

  constructor(options: OwnerLockOptions) {
    this.options = options
  }

  /** Must be called under the guard. */
  async take(): Promise<OwnerLock> {
    const { lock, what } = this.options
    const owner = readOwner(lock)
    if (owner !== null && holds(lock, owner) && !this.isOwn(owner)) {
      throw new TurnbellError('already_running', {
        detail: `${what} is already running: pid ${owner.pid} holds ${lock}`,
      })
    }
    // The lock belongs to a dead process, or belonged to this one. Without an owner file, its holder crashed between
    // the two writes.
    fs.rmSync(lock, { recursive: true, force: true })
    let release: () => Promise<void>
    try {
      release = await lockfile.lock(lock, {
        lockfilePath: lock,
        realpath: false,
        stale: STALE_MS,
        onCompromised: (error) => this.compromised(error),
      })
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ELOCKED') throw lockError(lock, cause)
      throw new TurnbellError('already_running', {
        detail: `${what} is already running and holds ${lock}`,
        cause,
      })
    }
    try {
      writeOwner(lock)
    } catch (error) {
      // Otherwise proper-lockfile would report this lock as lost when another process has taken it.
      await release().catch(() => undefined)
      throw error
    }
    this.releaseLock = release
    holders.set(lock, this)
    this.ownerCheck ??= setInterval(() => void this.keepOwner(), OWNER_CHECK_MS).unref()
    return this
  }

  /** Rewrites a removed or damaged owner file, because without it the lock counts as free. */
  private async keepOwner(): Promise<void> {
    const { lock } = this.options
    const isNamed = () => {
      const owner = readOwner(lock)
      return owner !== null && (this.isOwn(owner) || holds(lock, owner))
    }
    try {
      if (this.releaseLock === null || isNamed()) return
      await underGuard(this.options, async () => {
        if (this.releaseLock !== null && !isNamed()) writeOwner(lock)
      })
    } catch {
      // A directory is in its place, or the disk is not writable. Then no other process can take the lock either.
    }
  }

  release(): Promise<void> {
    this.released ??= this.end()
    return this.released
  }

  /** Also true for a former holder in this process that could not remove its owner file. */
  private isOwn({ pid }: Owner): boolean {
    return pid === process.pid && (holders.get(this.options.lock) ?? this) === this
  }

  private compromised(reason: Error): void {
    if (this.releaseLock === null) return
    this.releaseLock = null
    this.retaking = this.retake(reason)
  }

  private async retake(reason: Error): Promise<void> {
    const { makeParent, onRetaken, onLost } = this.options
    try {
      if (this.released !== null) return
      makeParent?.()
      await underGuard(this.options, () => this.take())
    } catch (refused) {
      if (this.released !== null) return
      if (this.isTakenOver()) {
        holders.delete(this.options.lock)
        return onLost(refused instanceof Error ? refused : reason)
      }
      // The file system may be read-only, or the directory missing; both may be temporary.
      this.retrying = setTimeout(() => (this.retaking = this.retake(reason)), RETAKE_MS)
      this.retrying.unref()
      return
    }
    if (this.released === null) onRetaken?.(reason)
  }

  /** Returns false if it cannot be determined now. */
  private isTakenOver(): boolean {
    const { lock } = this.options
    try {
      const owner = readOwner(lock)
      return owner !== null && !this.isOwn(owner) && holds(lock, owner)
    } catch {
      return false
    }
  }

  private async end(): Promise<void> {
    if (this.retrying !== null) clearTimeout(this.retrying)
    // Otherwise a running attempt would take the lock after its release.
    await this.retaking?.catch(() => undefined)
    if (this.ownerCheck !== null) clearInterval(this.ownerCheck)
    const { lock } = this.options
    if (this.releaseLock === null) {
      await underGuard(this.options, async () => this.removeLost()).catch(() => undefined)
      if (holders.get(lock) === this) holders.delete(lock)
      return
    }
    try {
      await underGuard(this.options, () => this.remove(true))
    } catch (error) {
      if (this.releaseLock === null) throw error
      // On a full disk the guard cannot be created. An owner file without a lock has no effect, and the next holder
      // replaces it.
      await this.remove(false)
    }
  }

  /**
   * Removes a lock that was lost and not retaken, because its owner file names a living process and would block all
   * others. On a read-only disk the file stays, and only this process can take the lock.
   */
  private removeLost(): void {
    const { lock } = this.options
    const owner = ownerOrNull(lock)
    if (owner === null || holders.get(lock) !== this || !this.isOwn(owner)) return
    fs.rmSync(ownerFile(lock), { force: true })
    fs.rmSync(lock, { recursive: true, force: true })
  }

  private async remove(with_owner: boolean): Promise<void> {
    // The lock may have been lost during the wait.
    const { releaseLock } = this
    if (releaseLock === null) return
    this.releaseLock = null
    const { lock } = this.options
    if (holders.get(lock) === this) holders.delete(lock)
    if (with_owner) fs.rmSync(ownerFile(lock), { force: true })
    await releaseLock().catch((error: unknown) => {
      // A file is in the place of the directory: the lock is gone.
      if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR') throw error
    })
  }
}

function ownerOrNull(lock: string): Owner | null {
  try {
    return readOwner(lock)
  } catch {
    return null
  }
}

/** Whether the process that wrote the owner file still holds the lock. */
function holds(lock: string, owner: Owner): boolean {
  const stat = fs.statSync(lock, { throwIfNoEntry: false })
  if (stat === undefined || !processAlive(owner.pid)) return false
  const started = processStartTime(owner.pid)
  if (owner.started !== null && started !== null) return started === owner.started
  // If the start time cannot be read now, for example for lack of file descriptors, the process counts as the same.
  if (owner.started !== null && maySignal(owner.pid)) return true
  // The pid may have been reused, for example by a hidden process of another user. Then the lock is not refreshed.
  return stat.mtimeMs > Date.now() - STALE_MS
}

function ownerFile(lock: string): string {
  return `${lock}.owner`
}

function writeOwner(lock: string): void {
  const owner: Owner = { pid: process.pid, started: processStartTime(process.pid) }
  writeFileAtomic(ownerFile(lock), `${JSON.stringify(owner)}\n`)
}

/** Returns null if it names no process. Throws if it cannot be read, because it may name a living one. */
function readOwner(lock: string): Owner | null {
  const { pid, started } = (parseJsonOrNull(readOwnerFile(lock)) ?? {}) as Partial<Owner>
  return typeof pid === 'number' ? { pid, started: typeof started === 'string' ? started : null } : null
}

function readOwnerFile(lock: string): string | null {
  try {
    return fs.readFileSync(ownerFile(lock), 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw lockError(lock, cause)
  }
}
