/** Compares a directory with the directory of a project. */
import fs from 'node:fs'
import path from 'node:path'

/** Returns true if the directory is neither the project's nor below it. Follows links. */
export function isOutsideOf(project: string, directory: string): boolean {
  const below = path.relative(realPath(project), realPath(directory))
  return below === '..' || below.startsWith(`..${path.sep}`) || path.isAbsolute(below)
}

function realPath(directory: string): string {
  try {
    return fs.realpathSync(directory)
  } catch {
    // The directory is gone or not readable, so its path is compared as it is.
    return path.resolve(directory)
  }
}
