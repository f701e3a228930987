import fs from 'node:fs'
import path from 'node:path'

/** Whether a directory is neither the project's nor below it. Links are followed. */
export function isOutsideOf(project: string, directory: string): boolean {
  const below = path.relative(realPath(project), realPath(directory))
  return below === '..' || below.startsWith(`..${path.sep}`) || path.isAbsolute(below)
}

function realPath(directory: string): string {
  try {
    return fs.realpathSync(directory)
  } catch {
    // It is gone, or may not be looked at: its name is all there is.
    return path.resolve(directory)
  }
}
