/**
 * One owner for something on this machine: a hub's home, a persona's daemon.
 *
 * proper-lockfile alone has two gaps: a holder killed with -9 blocks the next one until the lock grows
 * stale, and a holder that was merely stopped for a while (a suspended laptop, SIGSTOP) loses it. So an
 * owner file beside the lock says which process holds it, and that process is asked for: one that is
 * dead has lost the lock at once, one that lives keeps it however old the lock looks.
 */
import fs from 'node:fs'
import lockfile from 'proper-lockfile'
import { TurnbellError } from '../contracts/errors.ts'
import { jsonIn } from '../contracts/json.ts'
import { lockRefused, underBriefLock } from './brief-lock.ts'
import { processAlive, processStartTime } from './processes.ts'
import { maySignal } from './program.ts'
import { replaceFile } from './replace-file.ts'

export interface DirectoryLock {
  /** Lets go and takes the owner file away; on a full disk that may stay, and says nothing. Calling it twice is fine. */
  release(): Promise<void>
}

export interface DirectoryLockOptions {
  /** The lock's own path, made as a directory; its parent must exist. */
  lock: string
  /** For the message of the second one: `a hub`, `the daemon of ada`. */
  what: string
  /** Somebody took the lock from a living holder (or removed it by hand): stop. */
  onLost: (error: Error) => void
  /** How long to wait for another one that is just taking the lock or letting go of it. */
  patience_ms?: number
}

interface Owner {
  pid: number
  /** What the system says of when that process started; null where it says nothing. */
  started: string | null
}

/** Long enough that a holder whose loop blocks for seconds is not taken for gone by a plain look at the lock. */
const STALE_MS = 15_000
/** The guard is held for a few milliseconds; one older than this belongs to a process that died holding it. */
const GUARD_STALE_MS = 2_000
/** Longer: for so long one is watched whose time proves nothing. */
const GUARD_PATIENCE_MS = 3_000

/**
 * Takes the lock or throws `already_running`, whose detail names the holder's pid.
 *
 * Everybody looks, decides and takes, or lets go, under a second, short-lived lock. Without it two
 * starters could both find a dead owner, and the slower one would remove the lock the faster one has just
 * taken; so would a holder that lets go, whose owner file is gone before its lock is.
 */
export async function lockDirectory(options: DirectoryLockOptions): Promise<DirectoryLock> {
  return guarded(options, () => take(options))
}

function guarded<T>({ lock, what, patience_ms }: DirectoryLockOptions, act: () => Promise<T>): Promise<T> {
  const guard = {
    // proper-lockfile knows its locks by this path: the guard must not share it with the lock.
    lock: `${lock}.guard`,
    busy: `${what} is being started or stopped elsewhere`,
    patience_ms: patience_ms ?? GUARD_PATIENCE_MS,
    stale_ms: GUARD_STALE_MS,
  }
  return underBriefLock(guard, act)
}

/** The pid of the living holder, or null. For messages and `doctor`; only taking the lock is proof. */
export function lockHolder(lock: string): number | null {
  const owner = readOwner(lock)
  return owner !== null && holds(lock, owner) ? owner.pid : null
}

async function take(options: DirectoryLockOptions): Promise<DirectoryLock> {
  const { lock, what, onLost } = options
  const owner = readOwner(lock)
  if (owner !== null && holds(lock, owner)) {
    throw new TurnbellError('already_running', {
      detail: `${what} runs already: pid ${owner.pid} holds ${lock}`,
    })
  }
  // What is left is a dead one's. No owner file beside a lock: its holder died between the two.
  fs.rmSync(lock, { recursive: true, force: true })
  let held = true
  let release: () => Promise<void>
  try {
    release = await lockfile.lock(lock, {
      lockfilePath: lock,
      realpath: false,
      stale: STALE_MS,
      onCompromised: (error) => {
        held = false
        onLost(error)
      },
    })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ELOCKED') throw lockRefused(lock, cause)
    throw new TurnbellError('already_running', { detail: `${what} runs already and holds ${lock}`, cause })
  }
  try {
    writeOwner(lock)
  } catch (error) {
    // A lock that nobody lets go of would be called lost once another has taken the place.
    held = false
    await release().catch(() => undefined)
    throw error
  }
  const letGo = async (with_owner: boolean) => {
    // It may have been lost while this waited.
    if (!held) return
    held = false
    if (with_owner) fs.rmSync(ownerFile(lock), { force: true })
    await release()
  }
  const letGoGuarded = async () => {
    if (!held) return
    try {
      await guarded(options, () => letGo(true))
    } catch (error) {
      if (!held) throw error
      // On a full disk no guard can be made. An owner without a lock holds nothing, and the next one takes its place.
      await letGo(false)
    }
  }
  let released: Promise<void> | null = null
  return { release: () => (released ??= letGoGuarded()) }
}

/** Whether the process that wrote the owner file still holds the lock. */
function holds(lock: string, owner: Owner): boolean {
  const stat = fs.statSync(lock, { throwIfNoEntry: false })
  if (stat === undefined || !processAlive(owner.pid)) return false
  const started = processStartTime(owner.pid)
  if (owner.started !== null && started !== null) return started === owner.started
  // Where the system does not tell it at this moment, as for want of room for more open files, it is the same one.
  if (owner.started !== null && maySignal(owner.pid)) return true
  // A pid may have been given to another process, as to one of another user, which may be hidden: then the lock is not
  // kept fresh.
  return stat.mtimeMs > Date.now() - STALE_MS
}

function ownerFile(lock: string): string {
  return `${lock}.owner`
}

function writeOwner(lock: string): void {
  const owner: Owner = { pid: process.pid, started: processStartTime(process.pid) }
  replaceFile(ownerFile(lock), `${JSON.stringify(owner)}\n`)
}

/** Null where none is named. Throws where that cannot be told: what cannot be read may name a living one. */
function readOwner(lock: string): Owner | null {
  const { pid, started } = (jsonIn(textOf(lock)) ?? {}) as Partial<Owner>
  return typeof pid === 'number' ? { pid, started: typeof started === 'string' ? started : null } : null
}

function textOf(lock: string): string | null {
  try {
    return fs.readFileSync(ownerFile(lock), 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw lockRefused(lock, cause)
  }
}
