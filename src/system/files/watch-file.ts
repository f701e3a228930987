/** Watches one small text file that other processes write. */
import fs from 'node:fs'
import path from 'node:path'

/** Fallback polling, because some file systems do not report changes. */
const POLL_MS = 1_000

/**
 * Calls with the file's text, or null if it is missing: now and after every change. Replaced and later created files
 * are followed. Closing the handle stops it.
 */
export function watchFile(file: string, onText: (text: string | null) => void): { close(): void } {
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
      // Watches the directory, because a watch of a replaced file is lost.
      watcher = fs.watch(path.dirname(file), (_event, name) => {
        if (name === null || name === path.basename(file)) look()
      })
      watcher.on('error', () => {
        watcher?.close()
        watcher = null
      })
    } catch {
      // The directory does not exist yet; the next poll retries.
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

/** Returns null if the file cannot be read. */
export function readText(file: string): string | null {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
