/**
 * Directories whose entries survive a crash of the machine. A sync of the content of a directory does not sync its own
 * name.
 */
import fs from 'node:fs'
import path from 'node:path'

/** Creates the directory and missing parents. An existing directory is not changed. */
export function makeDurableDirectory(directory: string, mode: number): void {
  const made = makeDirectories(directory, mode)
  if (made === undefined) return
  for (const above of parentsOfMade(made, directory)) {
    try {
      syncDirectoryNow(above)
    } catch (error) {
      // A directory may be writable but not readable; then its entries are synced at some later time.
      if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }
}

/** Returns the topmost created directory, or undefined if all existed. */
function makeDirectories(directory: string, mode: number): string | undefined {
  try {
    return fs.mkdirSync(directory, { recursive: true, mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // `recursive` hides the reason on a read-only file system, so the topmost missing directory is created separately.
    let missing = path.resolve(directory)
    while (!fs.existsSync(path.dirname(missing))) missing = path.dirname(missing)
    fs.mkdirSync(missing, { mode })
    fs.mkdirSync(directory, { recursive: true, mode })
    return missing
  }
}

/** Returns the parent of each directory from `made` down to `directory`. */
export function parentsOfMade(made: string, directory: string): string[] {
  const top = path.dirname(path.resolve(made))
  const parents: string[] = []
  for (let one = path.resolve(directory); one !== top && one !== path.dirname(one); one = path.dirname(one)) {
    parents.push(path.dirname(one))
  }
  return parents
}

export function syncDirectoryNow(directory: string): void {
  // Windows persists names by itself and cannot open a directory.
  if (process.platform === 'win32') return
  const fd = fs.openSync(directory, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}
