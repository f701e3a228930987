/**
 * Lock and pid file of a daemon in its run directory. A removed run directory is recreated; the lock is lost only to
 * another living daemon.
 */
import fs from 'node:fs'
import { takeOwnerLock, lockHolder } from '../files/owner-lock.ts'
import { ensurePrivateDirectory, ensureSocketDirectory, type PersonaPaths } from './home.ts'
import { replaceEntry } from '../files/atomic-write.ts'
import { readText } from '../files/watch-file.ts'
import type { Log } from '../../ports/log.ts'

export interface DaemonRunFiles {
  /** Recreates missing directories and a changed pid file. Throws `home_not_permitted`. */
  remake(): void
  /** Removes the pid file unless it belongs to another daemon, and releases the lock. */
  release(): Promise<void>
}

export interface DaemonRunFilesOptions {
  paths: PersonaPaths
  identity: string
  log: Log
  /** Another living daemon of the persona has the lock. */
  onLost: (detail: string) => void
}

const OWN_PID = `${process.pid}\n`

/**
 * @throws `already_running` if another daemon of the persona runs, `home_not_permitted`.
 */
export async function acquireDaemonRunFiles({
  paths,
  identity,
  log,
  onLost,
}: DaemonRunFilesOptions): Promise<DaemonRunFiles> {
  makeDirectories()
  const lock = await takeOwnerLock({
    lock: paths.daemon_lock,
    what: `the daemon of ${identity}`,
    makeParent: makeDirectories,
    onRetaken(reason) {
      log.warn({ detail: reason.message }, 'daemon lock was removed and taken again')
      try {
        remake()
      } catch (error) {
        // The daemon calls `remake` every few seconds.
        log.debug({ detail: String(error) }, 'run directory of the daemon could not be recreated')
      }
    },
    onLost: (error) => onLost(error.message),
  })
  try {
    writePid()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // A cleanup removed the directory while the lock was taken.
    remake()
  }

  function makeDirectories(): void {
    ensurePrivateDirectory(paths.run_dir)
    ensureSocketDirectory(paths)
  }

  function writePid(): void {
    replaceEntry(paths.daemon_pid, OWN_PID)
  }

  function remake(): void {
    makeDirectories()
    if (readText(paths.daemon_pid) === OWN_PID) return
    // Before the loss of the lock is noticed, the file may already belong to its new holder.
    const holder = lockHolder(paths.daemon_lock)
    if (holder === null || holder === process.pid) writePid()
  }

  return {
    remake,
    async release() {
      if (readText(paths.daemon_pid) === OWN_PID) fs.rmSync(paths.daemon_pid, { force: true })
      await lock.release()
    },
  }
}
