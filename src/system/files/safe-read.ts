/** Reads files that others may have created; links, pipes and devices are not read. */
import fs from 'node:fs'

/** Protects against a link or a pipe that replaced the file after the check. Windows has neither flag. */
export const READ_PLAIN =
  fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0)

/** For appending to an existing or new file. Readable, so that its end can be read. */
export const APPEND_PLAIN =
  fs.constants.O_RDWR |
  fs.constants.O_CREAT |
  fs.constants.O_APPEND |
  (fs.constants.O_NOFOLLOW ?? 0) |
  (fs.constants.O_NONBLOCK ?? 0)

/** Returns the content, the reason why it was not read, or null if there is no file. */
export function readPlainFile(file: string, bytes_max: number): Buffer | { reason: string } | null {
  try {
    // Opening a device can have side effects.
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

const NOT_PLAIN = { reason: 'it is not a regular file' }
