/** A file that is only ever written behind what it holds. */
import fs from 'node:fs'
import { systemDisk } from './disk.ts'
import { plainFileAt } from './watched-file.ts'

const APPEND =
  fs.constants.O_RDWR |
  fs.constants.O_CREAT |
  fs.constants.O_APPEND |
  (fs.constants.O_NOFOLLOW ?? 0) |
  (fs.constants.O_NONBLOCK ?? 0)

/** For writing behind what is there. Never through a link, never waiting for the other end of a pipe. */
export function openToAppend(file: string): number {
  plainFileAt(file)
  return fs.openSync(file, APPEND, 0o666)
}

export function endsInLine(fd: number, size: number): boolean {
  const last = Buffer.alloc(1)
  return size === 0 || (systemDisk.read(fd, last, size - 1) === 1 && last[0] === 0x0a)
}

/**
 * Wherever the file ends by now: others may have written since it was looked at. What a full disk took half of is
 * taken back, unless somebody else has written meanwhile.
 */
export function writeBehind(fd: number, bytes: Buffer): void {
  const { size } = fs.fstatSync(fd)
  let written = 0
  try {
    while (written < bytes.length) {
      const more = fs.writeSync(fd, bytes, written)
      if (more === 0) throw Object.assign(new Error('the disk took no bytes'), { code: 'EIO' })
      written += more
    }
  } catch (error) {
    if (written > 0 && fs.fstatSync(fd).size === size + written) fs.ftruncateSync(fd, size)
    throw error
  }
}
