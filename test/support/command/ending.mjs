/** How a developer command ends: it removes all of its temporary files, also after Ctrl-C. */
import fs from 'node:fs'

/** The shell's exit codes for these signals. */
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }
/** Exit code for a write to a closed pipe. */
const UNREAD = 141
/** Exit code of a failure of the command itself: what it tests counts neither as kept nor as broken. */
const FAILED = 3

/** Another process that is also ending may still create a file there. */
const REMOVAL = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }

/**
 * `removes` returns the path that it receives and removes it when the process ends; `keeps` revokes that. Functions
 * passed to `onInterrupt` are called after SIGINT, SIGTERM or SIGHUP, and awaited before files are removed. The process
 * then exits with 128 plus the signal number; a second signal does not wait. A command whose stdout is closed exits
 * with 141, and one with an uncaught exception exits with 3. `unlessInterrupted` resolves like `work`, but never once
 * the command is ending, because Ctrl-C also reaches its child processes.
 */
export function createEnding() {
  const paths = new Set()
  const acts = []
  let interrupted = false

  async function end(code) {
    if (interrupted) process.exit(code)
    interrupted = true
    try {
      for (const act of acts) await act()
    } finally {
      process.exit(code)
    }
  }

  for (const [os_signal, code] of Object.entries(EXIT_CODES)) process.on(os_signal, () => end(code))
  process.stdout.on('error', (error) => interrupted || end(error.code === 'EPIPE' ? UNREAD : FAILED))
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error?.stack ?? error}\n`)
    void end(FAILED)
  })
  process.on('exit', () => {
    for (const path of paths) fs.rmSync(path, REMOVAL)
  })
  return {
    get interrupted() {
      return interrupted
    },
    removes(path) {
      paths.add(path)
      return path
    },
    keeps(path) {
      paths.delete(path)
    },
    onInterrupt(act) {
      acts.push(act)
    },
    async unlessInterrupted(work) {
      try {
        return await work
      } catch (error) {
        // The event loop reports ended child processes before the signal, which follows in the next full turn.
        for (const _ of [1, 2]) await new Promise((resolve) => setImmediate(resolve))
        throw error
      } finally {
        if (interrupted) await new Promise(() => undefined)
      }
    },
  }
}
