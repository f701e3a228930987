/** A file that others may have put there: where it is a link, a pipe or a device, nothing is read. */
import fs from 'node:fs'

/**
 * Between the look and the read it may have become a link, or a pipe that nobody writes to. Windows knows neither flag.
 */
export const READ_PLAIN =
  fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0)

/** What it holds, or why that is not read; null where there is none. */
export function readPlainFile(file: string, bytes_max: number): Buffer | { reason: string } | null {
  try {
    // Even to open a device may do something.
    if (!fs.lstatSync(file).isFile()) return NOT_PLAIN
    const fd = fs.openSync(file, READ_PLAIN)
    try {
      const stat = fs.fstatSync(fd)
      if (!stat.isFile()) return NOT_PLAIN
      if (stat.size > bytes_max) return { reason: `it is larger than ${bytes_max} bytes` }
      return fs.readFileSync(fd)
    } finally {
      fs.closeSync(fd)
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    if (code === 'ELOOP') return NOT_PLAIN
    return { reason: code === 'EACCES' || code === 'EPERM' ? 'it may not be read' : message }
  }
}

const NOT_PLAIN = { reason: 'it is no plain file' }
