/** Appends to files that other programs may also write. */
import fs from 'node:fs'
import { systemDisk } from '../journal/disk.ts'
import { openRefused } from '../journal/disk-errors.ts'
import { checkOpened } from '../../../system/files/inside.ts'
import { APPEND_PLAIN } from '../../../system/files/safe-read.ts'
import { plainFileAt } from './watched-file.ts'

/** Opens a file for appending; never follows a link or blocks on a pipe. */
export function openToAppend(file: string): number {
  plainFileAt(file)
  const fd = fs.openSync(file, APPEND_PLAIN, 0o666)
  const checked = checkOpened(fd, file)
  if ('stat' in checked) return fd
  fs.closeSync(fd)
  throw openRefused(file, checked)
}

export function endsWithNewline(fd: number, size: number): boolean {
  const last = Buffer.alloc(1)
  return size === 0 || (systemDisk.read(fd, last, size - 1) === 1 && last[0] === 0x0a)
}

/**
 * Appends all bytes at the current end of the file. After a partial write, for example on a full disk, truncates the file
 * again unless another program has appended in between.
 */
export function appendFully(fd: number, bytes: Buffer): void {
  const { size } = fs.fstatSync(fd)
  let written = 0
  try {
    while (written < bytes.length) {
      const more = fs.writeSync(fd, bytes, written)
      if (more === 0) throw Object.assign(new Error('the disk accepted no bytes'), { code: 'EIO' })
      written += more
    }
  } catch (error) {
    if (written > 0 && fs.fstatSync(fd).size === size + written) fs.ftruncateSync(fd, size)
    throw error
  }
}
