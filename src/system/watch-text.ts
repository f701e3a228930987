/** Follows one small text file that other processes write. */
import fs from 'node:fs'
import path from 'node:path'

/** Some file systems tell of no changes; looking is cheap. */
const POLL_MS = 1_000

/**
 * Calls with the file's text, null where it is missing: now, and whenever it changed. A file that is
 * replaced by a rename is followed, as is one that appears later. The handle ends it.
 */
export function watchText(file: string, onText: (text: string | null) => void): { close(): void } {
  let last: string | null | undefined
  const look = () => {
    const text = readText(file)
    if (text === last) return
    last = text
    onText(text)
  }
  let watcher: fs.FSWatcher | null = null
  const watch = () => {
    if (watcher !== null) return
    try {
      // The directory, because a renamed file takes its watch away with it.
      watcher = fs.watch(path.dirname(file), (_event, name) => {
        if (name === null || name === path.basename(file)) look()
      })
      watcher.on('error', () => {
        watcher?.close()
        watcher = null
      })
    } catch {
      // The directory is not there yet; the next poll tries again.
    }
  }
  const timer = setInterval(() => {
    watch()
    look()
  }, POLL_MS)
  timer.unref()
  watch()
  look()
  return {
    close() {
      clearInterval(timer)
      watcher?.close()
    },
  }
}

/** Null where it cannot be read. */
export function readText(file: string): string | null {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
