/**
 * A daemon's place in its run directory: the lock that makes it the only one of its persona, and its pid file. A run
 * directory that is removed under the daemon is made again; the place is only lost to another living daemon.
 */
import fs from 'node:fs'
import { lockDirectory, type DirectoryLock } from './directory-lock.ts'
import { ensurePrivateDirectory, ensureSocketDirectory, type PersonaPaths } from './home.ts'
import { readText } from './watch-text.ts'
import type { Log } from '../ports/log.ts'

export interface OwnPlace {
  /** Makes the directories and the pid file again where they are missing. Throws `home_not_permitted`. */
  remake(): void
  /** Removes the pid file unless it is another daemon's, and lets the lock go. */
  release(): Promise<void>
}

export interface OwnPlaceOptions {
  paths: PersonaPaths
  identity: string
  log: Log
  /** Another living daemon of the persona has the lock, or nobody can take it. */
  onLost: (detail: string) => void
}

const OWN_PID = `${process.pid}\n`

/** @throws `already_running` where another daemon of the persona lives, `home_not_permitted`. */
export async function takePlace({ paths, identity, log, onLost }: OwnPlaceOptions): Promise<OwnPlace> {
  let released = false
  let lock = await take()

  async function take(): Promise<DirectoryLock> {
    makeDirectories()
    const taken = await lockDirectory({
      lock: paths.daemon_lock,
      what: `the daemon of ${identity}`,
      onLost: (error) => void retake(error),
    })
    fs.writeFileSync(paths.daemon_pid, OWN_PID, { mode: 0o600 })
    return taken
  }

  function makeDirectories(): void {
    ensurePrivateDirectory(paths.run_dir)
    ensureSocketDirectory(paths)
  }

  async function retake(error: Error): Promise<void> {
    if (released) return
    try {
      const again = await take()
      if (released) return await again.release()
      lock = again
      log.warn({ detail: error.message }, 'daemon lock was removed and taken again')
    } catch (refused) {
      if (!released) onLost(refused instanceof Error ? refused.message : String(refused))
    }
  }

  return {
    remake() {
      makeDirectories()
      if (readText(paths.daemon_pid) === null) fs.writeFileSync(paths.daemon_pid, OWN_PID, { mode: 0o600 })
    },
    async release() {
      released = true
      if (readText(paths.daemon_pid) === OWN_PID) fs.rmSync(paths.daemon_pid, { force: true })
      await lock.release()
    },
  }
}
