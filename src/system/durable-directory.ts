/** Directories whose names survive a crash of the machine: a sync of what is in them says nothing of their own. */
import fs from 'node:fs'
import path from 'node:path'

/** With all that is missing above it. One that is there already is left as it is. */
export function makeDurableDirectory(directory: string, mode: number): void {
  const made = fs.mkdirSync(directory, { recursive: true, mode })
  if (made === undefined) return
  for (const above of parentsOfMade(made, directory)) {
    try {
      syncDirectoryNow(above)
    } catch (error) {
      // One may be allowed to write in a directory that one may not read; then it keeps the name when it likes.
      if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }
}

/** Of each directory from `made` down to `directory` the one that holds its name. */
export function parentsOfMade(made: string, directory: string): string[] {
  const top = path.dirname(path.resolve(made))
  const parents: string[] = []
  for (let one = path.resolve(directory); one !== top && one !== path.dirname(one); one = path.dirname(one)) {
    parents.push(path.dirname(one))
  }
  return parents
}

export function syncDirectoryNow(directory: string): void {
  // Windows keeps names durable by itself and cannot open a directory.
  if (process.platform === 'win32') return
  const fd = fs.openSync(directory, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}
