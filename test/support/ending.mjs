/** How a command for developers ends: nothing that it made stays behind, not after Ctrl-C either. */
import fs from 'node:fs'

/** What a shell says of who was ended so. */
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }
/** The same of who writes where nobody reads any more. */
const UNREAD = 141
/** The command itself could not go on: what it tries is neither kept nor broken. */
const FAILED = 3

/** What is ending as well may still put a file there. */
const REMOVAL = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }

/**
 * `removes` answers the path that it is given, and removes what is there when the process ends; `keeps` takes that
 * back. What `onInterrupt` is given is called after SIGINT, SIGTERM or SIGHUP, and waited for, before anything is removed. The
 * process then ends with 128 and the number of the signal; a second one waits for nothing. So does a command whose stdout is
 * closed end, with 141, and one that throws what nobody catches, with 3. `unlessInterrupted` answers as `work` does, and
 * never once the command is ending: Ctrl-C reaches what it has started as well.
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
        // Of what went first we hear sooner than of the signal: that comes in the next whole turn of the loop.
        for (const _ of [1, 2]) await new Promise((resolve) => setImmediate(resolve))
        throw error
      } finally {
        if (interrupted) await new Promise(() => undefined)
      }
    },
  }
}
